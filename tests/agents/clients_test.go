package agents

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// The command line of MCP's Inspector lists the tools and calls them, by HTTP and through
// `toolstream mcp` on the standard streams.
func TestTheInspectorListsAndCalls(t *testing.T) {
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
