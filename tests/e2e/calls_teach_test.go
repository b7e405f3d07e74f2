package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// An agent that searches and calls, and reports nothing, teaches what it calls: the next
// search has first what it used.
func TestCallsTeachWithoutFeedback(t *testing.T) {
	t.Parallel()
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"rent_boat", "hire_boat"} {
		shop.AddTool(&mcp.Tool{Name: name, Description: "Gives you a boat for a day.", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p := process.Up(t, binary(), "TOOLSTREAM_TRAINER_PUBLISH=100ms").Front()
	if err := p.Client.Put(t.Context(), "/v1/sources/shop", source.Spec{Kind: source.MCP, URL: server.URL}, &sources.Source{}); err != nil {
		t.Fatal(err)
	}
	comeTo(t, p, "shop/hire_boat", "shop/rent_boat")
	first := func() schema.SearchResponse {
		var found schema.SearchResponse
		if err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "a boat for a day"}, &found); err != nil {
			t.Fatal(err)
		}
		if len(found.Results) != 2 {
			t.Fatalf("found %+v", found.Results)
		}
		return found
	}
	before := first()
	used := before.Results[1].ID // the second best
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rounds := 0
	err := process.Until(ctx, func() (bool, error) {
		found := first()
		if found.Results[0].ID == used {
			return true, nil
		}
		rounds++
		r, err := callTool(t, p, used, `{}`)
		if err == nil && r.SearchID != found.SearchID {
			t.Errorf("the call is of the search %q, not of %q", r.SearchID, found.SearchID)
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("%v after %d calls of %s\n%s", err, rounds, used, p.Log())
	}
	t.Logf("%s stands first after %d calls", used, rounds)
}
