package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// greeting is what the tool of a test answers to.
type greeting struct {
	Name string `json:"name"`
}

// greeter is an MCP server with one tool, which says who it is.
func greeter(as string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: as, Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets a person by name.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
			if in.Name == "nobody" {
				return nil, nil, fmt.Errorf("there is nobody to greet")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: as + " greets " + in.Name}}}, nil, nil
		})
	return s
}

// greets is the argument with which the binary of the tests is a greeter on its standard
// streams.
const greets = "greet"

func greeterCommand() string { return os.Args[0] + " " + greets }

func greetOnStdio() int {
	if err := greeter("the command").Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// serveMCP serves an MCP server until the test ends, and returns its address.
func serveMCP(t *testing.T, s *mcp.Server) string {
	t.Helper()
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// addSource adds a source, which may be on this machine.
func addSource(t *testing.T, p *process.Process, name string, spec source.Spec) {
	t.Helper()
	spec.AllowPrivate = spec.URL != ""
	if err := p.Client.Put(t.Context(), "/v1/sources/"+name, spec, &sources.Source{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// callTool calls a tool through a process.
func callTool(t *testing.T, p *process.Process, id, arguments string) (schema.CallResult, error) {
	t.Helper()
	return p.Client.Call(t.Context(), id, schema.CallRequest{Arguments: json.RawMessage(arguments)})
}

// texts are those of a result's content.
func texts(t *testing.T, r schema.CallResult) string {
	t.Helper()
	var out []string
	for _, raw := range r.Content {
		var block struct{ Text string }
		check.OK(t, json.Unmarshal(raw, &block))
		out = append(out, block.Text)
	}
	return strings.Join(out, "\n")
}

// A tool that a search has found is called through the same address, over whatever its
// source speaks.
func TestToolsAreCalledThrough(t *testing.T) {
	t.Parallel()
	everywhere(t, calledThrough, crawlsLoopback, "TOOLSTREAM_CRAWL_COMMANDS="+greeterCommand())
}

// crawlsLoopback lets a deployment look at sources on this machine.
const crawlsLoopback = "TOOLSTREAM_CRAWL_PRIVATE=127.0.0.0/8"

func calledThrough(t *testing.T, d process.Deployment) {
	overHTTP := serveMCP(t, greeter("the server"))
	api := httptest.NewServer(petAPI())
	t.Cleanup(api.Close)
	p := d.Front()
	addSource(t, p, "http", source.Spec{Kind: source.MCP, URL: overHTTP})
	addSource(t, p, "stdio", source.Spec{Kind: source.MCP, Command: strings.Fields(greeterCommand())})
	addSource(t, p, "pets", source.Spec{Kind: source.OpenAPI, URL: api.URL + "/openapi.json"})
	comeTo(t, p, "http/greet", "pets/GET /pets/{name}", "stdio/greet")
	for id, want := range map[string]string{"http/greet": "the server greets Ada", "stdio/greet": "the command greets Ada", "pets/GET /pets/{name}": `{"name":"Ada"}`} {
		r, err := callTool(t, p, id, `{"name":"Ada"}`)
		if err != nil || r.Outcome != schema.CallOK || texts(t, r) != want {
			t.Errorf("%s: %+v %q, %v", id, r, texts(t, r), err)
		}
		if _, err = callTool(t, p, id, `{"name":[1]}`); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%s with the wrong arguments: %v", id, err)
		}
	}
	var found schema.SearchResponse
	check.OK(t, p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "greet a person"}, &found))
	r, err := callTool(t, p, "http/greet", `{"name":"nobody"}`)
	if err != nil || r.Outcome != schema.CallToolError || r.SearchID != found.SearchID {
		t.Errorf("a failed call: %+v, %v", r, err)
	}
}

// petAPI serves an HTTP API with its document.
func petAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"http://%s/v1"}],"paths":{"/pets/{name}":{"get":{
			"summary":"Show a pet by its name","parameters":[{"name":"name","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"the pet"}}}}}}`, r.Host)
	})
	mux.HandleFunc("GET /v1/pets/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":%q}`, r.PathValue("name"))
	})
	return mux
}
