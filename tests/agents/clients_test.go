package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// The command line of MCP's Inspector lists the tools and calls them, by HTTP and through
// `toolstream mcp` on the standard streams.
func TestTheInspectorListsAndCalls(t *testing.T) {
	t.Parallel()
	agents, mcp := provisioned(t)
	bin := process.Build(t)
	x, env := everything(t, bin, mcp)
	token := strings.TrimPrefix(env[1], "TOOLSTREAM_TOKEN=")
	for transport, target := range map[string][]string{
		"http":  {x.Client.Server + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token},
		"stdio": {"-e", env[0], "-e", env[1], bin, "mcp"},
	} {
		t.Run(transport, func(t *testing.T) {
			ask := func(method string, args ...string) string {
				return run(t, nil, servers.Node(agents, "mcp-inspector", append(append([]string{"--cli"}, target...), append([]string{"--method", method}, args...)...)...)...)
			}
			list := ask("tools/list")
			for _, tool := range []string{"search_tools", "describe_tools", "call_tool"} {
				if !strings.Contains(list, `"`+tool+`"`) {
					t.Errorf("%s is not listed: %s", tool, list)
				}
			}
			if got := ask("tools/call", "--tool-name", "search_tools", "--tool-arg", "query="+question); !strings.Contains(got, sumTool) {
				t.Errorf("a search: %s", got)
			}
			if got := ask("tools/call", "--tool-name", "describe_tools", "--tool-arg", `tools=["`+sumTool+`"]`); !strings.Contains(got, "First number") {
				t.Errorf("a description: %s", got)
			}
			if got := ask("tools/call", "--tool-name", "call_tool", "--tool-arg", "tool_name="+sumTool, "--tool-arg", `arguments={"a":17,"b":25}`); !strings.Contains(got, sum) {
				t.Errorf("a call: %s", got)
			}
		})
	}
}

// Clients of both eras of the protocol use one address.
func TestBothErasAreServed(t *testing.T) {
	t.Parallel()
	agents, mcp := provisioned(t)
	x := toolstream{process.Up(t, process.Build(t)).Front()}
	env := []string{"SERVER=" + x.Client.Server + "/mcp"}
	const newer = `
import asyncio, os
from mcp import Client

async def main():
    async with Client(os.environ["SERVER"]) as client:
        print(client.protocol_version, len((await client.list_tools()).tools))

asyncio.run(main())`
	const older = `
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.SERVER)));
console.log(client.getNegotiatedProtocolVersion(), (await client.listTools()).tools.length);
await client.close();`
	if got := run(t, env, servers.Python(mcp, "")[0], "-c", newer); got != "2026-07-28 3\n" {
		t.Errorf("Python has %s", got)
	}
	script := filepath.Join(newExamples(t, agents, mcp).folder, "older.mjs")
	check.OK(t, os.WriteFile(script, []byte(older), 0o600))
	if got := run(t, env, filepath.Join(agents, "node_modules", ".bin", "node"), script); got != "2025-11-25 3\n" {
		t.Errorf("TypeScript has %s", got)
	}
}
