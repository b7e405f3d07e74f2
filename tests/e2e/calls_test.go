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

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/source"
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
		if err := json.Unmarshal(raw, &block); err != nil {
			t.Fatal(err)
		}
		out = append(out, block.Text)
	}
	return strings.Join(out, "\n")
}

// A tool that a search has found is called through the same address, over whatever its
// source speaks.
func TestToolsAreCalledThrough(t *testing.T) {
	t.Parallel()
	const private = "TOOLSTREAM_CRAWL_PRIVATE=127.0.0.0/8"
	t.Run("embedded", func(t *testing.T) { calledThrough(t, process.Up(t, binary(), private)) })
	t.Run("distributed", func(t *testing.T) {
		calledThrough(t, process.ServeIn(t, &cluster, binary(), []string{private, "TOOLSTREAM_CRAWL_COMMANDS=" + greeterCommand()}, config.VectorsReplica))
	})
}

func calledThrough(t *testing.T, d process.Deployment) {
	server := greeter("the server")
	overHTTP := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { overHTTP.CloseClientConnections(); overHTTP.Close() })
	api := httptest.NewServer(petAPI())
	t.Cleanup(api.Close)
	p := d.Front()
	for name, spec := range map[string]source.Spec{
		"http":  {Kind: source.MCP, URL: overHTTP.URL, AllowPrivate: true},
		"stdio": {Kind: source.MCP, Command: strings.Fields(greeterCommand())},
		"pets":  {Kind: source.OpenAPI, URL: api.URL + "/openapi.json", AllowPrivate: true},
	} {
		if err := p.Client.Put(t.Context(), "/v1/sources/"+name, spec, &sources.Source{}); err != nil {
			t.Fatal(err)
		}
	}
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
	if err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "greet a person"}, &found); err != nil {
		t.Fatal(err)
	}
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
