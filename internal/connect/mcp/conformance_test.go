package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// probeVariable makes the test binary a client for the conformance suite, which appends
// the server's address to its arguments.
const probeVariable = "TOOLSTREAM_CONFORMANCE_PROBE"

// given is what the suite tells its client for a scenario.
type given struct {
	ClientID  string               `json:"client_id"`
	Secret    string               `json:"client_secret"`
	ToolCalls []sdk.CallToolParams `json:"toolCalls"`
}

// probe lists a server as a source is listed, and calls its tools, as some scenarios want.
func probe(address string) error {
	var g given
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	defer all.Close()
	at := source.Place{URL: address, Client: all.Client(outbound.Options{Limit: 1 << 20}), Limits: limits()}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") { // otherwise a client that was registered before
		at.OAuth = &source.OAuth{ClientID: cmp.Or(g.ClientID, "client"), Secret: cmp.Or(g.Secret, "secret"), Client: at.Client}
	}
	s, err := Connector{Version: "test"}.Connect(ctx, at, func() {})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := s.List(ctx, true)
	if err != nil {
		return err
	}
	for _, call := range g.calls(l) {
		if _, err := s.(*session).session.CallTool(ctx, &call); err != nil {
			return fmt.Errorf("call %s: %w", call.Name, err)
		}
	}
	return nil
}

// calls are those that the suite asks for, else one of each tool that may be indexed.
func (g given) calls(l source.Listing) []sdk.CallToolParams {
	if len(g.ToolCalls) > 0 {
		return g.ToolCalls
	}
	var calls []sdk.CallToolParams
	schemas := map[string]json.RawMessage{}
	for _, d := range l.Documents {
		var t struct{ InputSchema json.RawMessage }
		if d.Problem != "" || json.Unmarshal(d.Raw, &t) != nil {
			continue
		}
		schemas[d.Name] = t.InputSchema
		calls = append(calls, sdk.CallToolParams{Name: d.Name, Arguments: argumentsFor(t.InputSchema)})
	}
	if focal, there := schemas["json_schema_2020_12_tool"]; there {
		return []sdk.CallToolParams{{Name: "json_schema_echo", Arguments: map[string]any{"schema": focal}}}
	}
	return calls
}

// argumentsFor returns a value for each parameter of a schema.
func argumentsFor(schema []byte) map[string]any {
	var s struct {
		Properties map[string]struct{ Type any }
	}
	_ = json.Unmarshal(schema, &s) // one without parameters
	values := map[string]any{"number": 1, "integer": 1, "boolean": true, "object": map[string]any{}, "array": []any{}}
	arguments := map[string]any{}
	for name, p := range s.Properties {
		arguments[name] = "x"
		if kind, ok := p.Type.(string); ok && values[kind] != nil {
			arguments[name] = values[kind]
		}
	}
	return arguments
}

// passed are the scenarios of the official suite for clients of 2026-07-28 that pass: all
// that are about what a source does. The others of it log in a user with a browser, or ask
// one for input, which a source does not.
var passed = []string{
	"auth/client-credentials-basic", "auth/iss-not-advertised", "auth/iss-supported", "auth/metadata-issuer-mismatch",
	"auth/pre-registration", "auth/resource-mismatch", "http-custom-headers", "http-invalid-tool-headers",
	"http-standard-headers", "json-schema-2020-12-preservation", "json-schema-ref-no-deref", "request-metadata", "tools_call",
}

var scenario = regexp.MustCompile(`(?m)^✓ (\S+): [1-9]`)

func TestConformance(t *testing.T) {
	if !servers.Provisioned(servers.MCPName) {
		t.Skip("the conformance suite is not there: `make provision` makes it")
	}
	home := check.Value(servers.Provision(t.Context(), servers.MCPName))(t)
	t.Setenv(probeVariable, "1")
	argv := servers.Node(home, "conformance", "client", "--command", os.Args[0], "--requirements", "2026-07-28", "--output-dir", t.TempDir())
	out, _ := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput() // it fails, as scenarios do that are not for sources
	var got []string
	for _, m := range scenario.FindAllStringSubmatch(string(out), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if !slices.Equal(got, passed) {
		t.Errorf("passed: %q, want %q\n%s", got, passed, out)
	}
}
