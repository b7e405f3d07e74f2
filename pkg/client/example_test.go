package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// An agent's program finds a tool, calls it and reports what became of it.
func Example() {
	server := httptest.NewServer(weather())
	defer server.Close()
	ctx := context.Background()

	c := &client.Client{Server: server.URL, Token: "secret"}
	found, err := c.Search(ctx, schema.SearchRequest{Query: "is it raining in Lisbon?", K: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	tool := found.Results[0]
	result, err := c.Call(ctx, tool.ID, schema.CallRequest{Arguments: json.RawMessage(`{"city":"Lisbon"}`), SearchID: found.SearchID})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool.ID, result.Outcome, string(result.Content[0]))
	if err := c.ReportFeedback(ctx, schema.Feedback{SearchID: found.SearchID, ToolID: tool.ID, Event: schema.Succeeded}); err != nil {
		fmt.Println(err)
	}
	// Output: weather/now ok {"type":"text","text":"It rains."}
}

// A language model is given the tools for a question, each as the functions of its API.
func ExampleClient_ToolsFor() {
	server := httptest.NewServer(weather())
	defer server.Close()

	c := &client.Client{Server: server.URL}
	tools, err := c.ToolsFor(context.Background(), "is it raining in Lisbon?", schema.FormOpenAI)
	fmt.Println(len(tools), string(tools[0]), err)
	// Output: 1 {"type":"function","name":"weather_now"} <nil>
}

// weather stands in for a server.
func weather() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]string{
		"/v1/search":                   `{"search_id":"s","results":[{"id":"weather/now"}],"tools":[{"type":"function","name":"weather_now"}]}`,
		"/v1/tools/weather%2Fnow:call": `{"outcome":"ok","content":[{"type":"text","text":"It rains."}]}`,
		"/v1/feedback":                 `{"state":"accepted"}`,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	}
	return mux
}
