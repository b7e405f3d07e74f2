package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
)

// What a caller may not use is neither found nor described nor called by the MCP server.
func TestAgentsUseWhatGrantsAllow(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	warehouse := mcp.NewServer(&mcp.Implementation{Name: "warehouse", Version: "1"}, nil)
	destroys := true
	for name, hints := range map[string]*mcp.ToolAnnotations{"count": {ReadOnlyHint: true}, "empty": {DestructiveHint: &destroys}} {
		mcp.AddTool(warehouse, &mcp.Tool{Name: name, Description: "Will " + name + " the shelves of the warehouse.", Annotations: hints},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				ran.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			})
	}
	url := serveMCP(t, warehouse)

	file := filepath.Join(t.TempDir(), "tokens.yaml")
	token := func(subject string, role identity.Role) string {
		return tokentest.Add(t, file, identity.Caller{Tenant: "acme", Subject: subject, Role: role}, time.Time{})
	}
	owner := token("owner", identity.Admin)
	p := process.Up(t, process.Binary(), "TOOLSTREAM_AUTH_TOKENS_FILE="+file, crawlsLoopback).Front()
	p.Client.Token = owner
	for _, name := range []string{"open", "vault"} {
		addSource(t, p, name, source.Spec{Kind: source.MCP, URL: url})
	}
	comeTo(t, p, "open/count", "open/empty", "vault/count", "vault/empty")
	fillOne(t, &p.Client, "/v1/pins", map[string]any{"version": "0", "tools": []string{"open/count", "vault/count"}})
	fillOne(t, &p.Client, "/v1/grants", policy.Policy{Version: "0", Grants: []policy.Grant{
		{Effect: policy.Allow, Action: policy.Destroy, On: "*", To: "role:admin"},
		{Effect: policy.Allow, Action: policy.Find, On: "provider:open", To: "subject:finder"},
		{Effect: policy.Allow, Action: policy.Call, On: "provider:open", To: "subject:caller"},
		{Effect: policy.Allow, Action: policy.Destroy, On: "provider:open", To: "subject:destroyer"},
	}})
	for _, tc := range []struct {
		subject string
		found   string
		calls   string
	}{
		{"finder", "open_count open_empty", ""},
		{"caller", "open_count open_empty", "open_count"},
		{"destroyer", "open_count open_empty", "open_count open_empty"},
		{"stranger", "", ""},
	} {
		session := agentOf(t, p, token(tc.subject, identity.Calling))
		list := check.Value(session.ListTools(t.Context(), nil))(t)
		if pinned := slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "open_count" }); pinned != (tc.found != "") {
			t.Errorf("%s: the pinned tool is listed: %v", tc.subject, pinned)
		}
		if raw, _ := json.Marshal(list.Tools); strings.Contains(string(raw), "vault") {
			t.Errorf("%s: the list tells of what is hidden: %s", tc.subject, raw)
		}
		var answer struct{ Tools []struct{ Name string } }
		use(t, session, "search_tools", map[string]any{"query": "the shelves of the warehouse", "limit": 10}, &answer)
		var names, called []string
		for _, tool := range answer.Tools {
			names = append(names, tool.Name)
		}
		if slices.Sort(names); strings.Join(names, " ") != tc.found {
			t.Errorf("%s finds %q, want %q", tc.subject, names, tc.found)
		}
		all := []string{"open_count", "open_empty", "vault_count", "vault_empty"}
		var described struct{ Unknown []string }
		use(t, session, "describe_tools", map[string]any{"tools": all}, &described)
		if want := len(all) - len(strings.Fields(tc.found)); len(described.Unknown) != want {
			t.Errorf("%s: %q are unknown, want %d", tc.subject, described.Unknown, want)
		}
		for _, name := range all {
			before := ran.Load()
			result := check.Value(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool_name": name}}))(t)
			if !result.IsError {
				called = append(called, name)
			}
			if (ran.Load() > before) == result.IsError {
				t.Errorf("%s calls %s: an error is %v, and it ran %d times", tc.subject, name, result.IsError, ran.Load()-before)
			}
		}
		if strings.Join(called, " ") != tc.calls {
			t.Errorf("%s calls %q, want %q", tc.subject, called, tc.calls)
		}
	}
}

// agentOf returns a client of the MCP server of a process, with a token.
func agentOf(t *testing.T, p *process.Process, token string) *mcp.ClientSession {
	t.Helper()
	client := &http.Client{Transport: bearer(token)}
	session := check.Value(mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.Client.Server + "/mcp", HTTPClient: client}, nil))(t)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// bearer sends a token with every request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// use calls a tool that answers in JSON.
func use(t *testing.T, session *mcp.ClientSession, tool string, arguments, to any) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || len(result.Content) != 1 {
		t.Fatalf("%s: %+v, %v", tool, result, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%s: %s: %v", tool, text, err)
	}
}
