package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	mcpadapter "github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// shopTool adds a tool to an MCP server.
func shopTool(s *mcp.Server, name, does string) {
	s.AddTool(&mcp.Tool{Name: name, Description: does, InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
}

// comeTo waits until a process shows tools of these ids, and no others.
func comeTo(t *testing.T, p *process.Process, ids ...string) {
	t.Helper()
	var have []string
	start := time.Now()
	err := until(t, func() (bool, error) {
		have = have[:0]
		for id := range revisions(t, p, "") {
			have = append(have, id)
		}
		slices.Sort(have)
		return slices.Equal(have, ids), nil
	})
	if err != nil {
		t.Fatalf("there are %q, want %q", have, ids)
	}
	t.Logf("%v until there were %d tools", time.Since(start).Round(time.Millisecond), len(ids))
}

// The index follows a server through its changes, its restart and those of the
// deployment, and does as its source is told.
func TestASourceIsFollowed(t *testing.T) {
	t.Parallel()
	everywhere(t, followed, crawlsLoopback)
}

func followed(t *testing.T, d process.Deployment) {
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	shopTool(shop, "rent_boat", "Rents a boat for a day.")
	shopTool(shop, "sell_rope", "Sells rope by the metre.")
	serve := func() http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop }, nil)
	}
	handler := serve()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })

	addSource(t, d.Front(), "shop", source.Spec{Kind: source.MCP, URL: server.URL})
	comeTo(t, d.Front(), "shop/rent_boat", "shop/sell_rope")
	shopTool(shop, "mend_net", "Mends a fishing net.")
	comeTo(t, d.Front(), "shop/mend_net", "shop/rent_boat", "shop/sell_rope")
	shop.RemoveTools("sell_rope")
	comeTo(t, d.Front(), "shop/mend_net", "shop/rent_boat")

	handler = serve() // it knows no session of before
	server.CloseClientConnections()
	shopTool(shop, "paint_hull", "Paints the hull of a boat.")
	comeTo(t, d.Front(), "shop/mend_net", "shop/paint_hull", "shop/rent_boat")

	d.Crash(t, "ingest")
	shopTool(shop, "tow_boat", "Tows a boat to the harbour.")
	comeTo(t, d.Front(), "shop/mend_net", "shop/paint_hull", "shop/rent_boat", "shop/tow_boat")
	if ids := found(t, d.Front(), "my boat cannot move, bring it to the port", 1); len(ids) == 0 || !strings.HasPrefix(ids[0], "shop/tow") {
		t.Errorf("found %q", ids)
	}

	check.OK(t, d.Front().Client.Delete(t.Context(), "/v1/sources/shop", &sources.Source{}))
	comeTo(t, d.Front())
}

// A registry's servers are followed, and served as those of a registry, wherever services
// run.
func TestARegistryIsFollowedAndServed(t *testing.T) {
	t.Parallel()
	everywhere(t, registered, crawlsLoopback)
}

func registered(t *testing.T, d process.Deployment) {
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	shopTool(shop, "rent_boat", "Rents a boat for a day.")
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop }, nil))
	mux.HandleFunc("/v0.1/servers", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"servers":[{"server":{"name":"example.harbour/shop","description":"Boats.","version":"1","remotes":[{"type":"streamable-http","url":"%s/mcp"}]}}],"metadata":{"count":1}}`, server.URL)
	})

	front := d.Front()
	addSource(t, front, "r", source.Spec{Kind: source.MCPRegistry, URL: server.URL})
	comeTo(t, front, "r/example.harbour/shop/rent_boat")

	var entry mcpadapter.ServerEntry
	if err := until(t, func() (bool, error) {
		err := front.Client.Get(t.Context(), "/v0.1/servers/example.harbour%2Fshop/versions/latest", nil, &entry)
		return err == nil && entry.Server.Description == "Boats.", nil
	}); err != nil {
		t.Fatalf("%+v: %v", entry, err)
	}
	var list mcpadapter.ServerList
	if err := front.Client.Get(t.Context(), "/v0.1/servers", nil, &list); err != nil || len(list.Servers) != 1 || list.Servers[0].Server.Remotes[0].URL != server.URL+"/mcp" {
		t.Errorf("%+v, %v", list, err)
	}
	check.OK(t, front.Client.Delete(t.Context(), "/v1/sources/r", &sources.Source{}))
	comeTo(t, front)
}
