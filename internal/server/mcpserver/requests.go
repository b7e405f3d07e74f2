package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Defaults of a search.
const (
	defaultLimit  = 5
	defaultBudget = 1500 // tokens
)

// found is the answer of a search for a model.
type found struct {
	SearchID    string                `json:"search_id"`
	NothingFits bool                  `json:"nothing_fits,omitempty"`
	Reason      schema.Reason         `json:"reason,omitempty"`
	Tools       []hit                 `json:"tools"`
	Withheld    []schema.Withheld     `json:"withheld,omitempty"`
	WithheldBy  map[schema.Reason]int `json:"withheld_by,omitempty"`
}

// hit is a tool that a search found.
type hit struct {
	Name              string          `json:"name"`
	Description       string          `json:"description,omitempty"`
	Signature         string          `json:"signature,omitempty"`
	InputSchema       json.RawMessage `json:"input_schema,omitempty"`
	MissingParameters []string        `json:"missing_parameters,omitempty"`
	Connected         *bool           `json:"connected,omitempty"`
	Why               string          `json:"why,omitempty"`
	Destructive       bool            `json:"destructive,omitempty"`
	Flags             []string        `json:"flags,omitempty"`
}

func (s *Server) search(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct {
		Query       string            `json:"query"`
		Limit       int               `json:"limit"`
		Providers   []string          `json:"providers"`
		Tags        []string          `json:"tags"`
		Arguments   map[string]string `json:"arguments"`
		Connected   bool              `json:"connected"`
		TokenBudget *int              `json:"token_budget"`
	}
	if err := readFor(ctx, searchTool, r.Params.Arguments, &in); err != nil {
		return mistake("%v", err), nil
	}
	budget := defaultBudget
	if in.TokenBudget != nil {
		budget = *in.TokenBudget
	}
	answer, err := s.api.Search(apart(ctx), schema.SearchRequest{
		Query: in.Query, K: cmp.Or(in.Limit, defaultLimit), Arguments: in.Arguments, Connected: in.Connected,
		Filters: schema.Filters{Providers: in.Providers, Tags: in.Tags}, Wanted: schema.Wanted{TokenBudget: &budget},
	})
	if err != nil {
		return refusal(err)
	}
	out := found{
		SearchID: answer.SearchID, NothingFits: answer.NothingFits, Reason: answer.Reason, Tools: []hit{},
		Withheld: answer.Withheld, WithheldBy: answer.WithheldBy,
	}
	for _, h := range answer.Results {
		out.Tools = append(out.Tools, hit{
			Name: h.CallableName, Description: h.Description, Signature: h.Signature, InputSchema: h.Schema,
			MissingParameters: h.MissingParameters, Connected: h.Connected, Why: h.Why, Destructive: h.Destructive, Flags: h.Flags,
		})
	}
	return asText(out)
}

func (s *Server) describe(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct {
		Tools []string `json:"tools"`
	}
	if err := readFor(ctx, describeTool, r.Params.Arguments, &in); err != nil {
		return mistake("%v", err), nil
	}
	answer, err := s.described(ctx, in.Tools)
	if err != nil {
		return refusal(err)
	}
	return asText(answer)
}

// call calls a tool by the API, which authorizes the name in the path of the request: this is
// the tool that runs.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	c, err := readCall(r.Params.Arguments)
	if err != nil {
		return mistake("%v", err), nil
	}
	request := schema.CallRequest{Arguments: c.arguments, SearchID: c.searchID, RequestState: r.Params.RequestState}
	if len(request.Arguments) == 0 {
		request.Arguments = json.RawMessage(`{}`)
	}
	if len(r.Params.InputResponses) > 0 {
		raw, err := json.Marshal(r.Params.InputResponses)
		if err != nil {
			return nil, fmt.Errorf("answers for %s: %w", c.tool, err)
		}
		request.InputResponses = raw
	}
	raw, err := s.send(apart(ctx), c.tool, request)
	if err != nil {
		var p *client.Problem
		if errors.As(err, &p) && p.Status == http.StatusNotFound {
			return mistake("%s: %s finds tools and says their names", p.Text(), searchName), nil
		}
		return refusal(err)
	}
	asked := jsondoc.Member(raw, "input_requests")
	if asked == nil {
		if to, ok := ctx.Value(writtenKey{}).(*written); ok {
			to.result = resultOf(raw)
		}
		return &sdk.CallToolResult{}, nil
	}
	var questions map[string]question
	if err := json.Unmarshal(asked, &questions); err != nil {
		return nil, fmt.Errorf("what %s asks for: %w", c.tool, err)
	}
	if method := unanswerable(r.ClientCapabilities(), questions); method != "" {
		return mistake("%s asks something back before it runs (%s), which your client cannot answer", c.tool, method), nil
	}
	wire, err := json.Marshal(map[string]any{"inputRequests": questions, "requestState": json.RawMessage(cmp.Or(string(jsondoc.Member(raw, "request_state")), `""`))})
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", c.tool, err)
	}
	out := &sdk.CallToolResult{}
	if err := json.Unmarshal(wire, out); err != nil {
		return nil, fmt.Errorf("result of %s: %w", c.tool, err)
	}
	return out, nil
}

// send calls a tool, and returns the answer of the API: a schema.CallResult.
func (s *Server) send(ctx context.Context, tool string, request schema.CallRequest) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, _, err := s.api.Send(ctx, http.MethodPost, client.Path("/v1/tools", tool)+":call", nil, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var out bytes.Buffer
	_, err = io.Copy(&out, answer)
	return out.Bytes(), err
}

// notWhole is the block after a result that was cut.
const notWhole = `{"type":"text","text":"[The result is not whole: it was larger than this server returns.]"}`

// resultOf returns the result of a call in the form of MCP. Clients refuse a structured result that is
// not an object: it is put into one.
func resultOf(answer []byte) []byte {
	out := append(make([]byte, 0, len(answer)+len(notWhole)+1<<10), `{"content":`...)
	members := map[string][]byte{"content": []byte("[]"), "is_error": []byte("false")}
	for name, value := range jsondoc.Members(answer) {
		members[name] = value
	}
	out = append(out, members["content"]...)
	if string(members["truncated"]) == "true" {
		out = bytes.TrimSuffix(out, []byte("]"))
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, notWhole+"]"...)
	}
	out = append(append(out, `,"isError":`...), members["is_error"]...)
	switch structured := members["structured"]; {
	case structured == nil, string(structured) == "null":
	case structured[0] == '{':
		out = append(append(out, `,"structuredContent":`...), structured...)
	default:
		out = append(append(append(out, `,"structuredContent":{"result":`...), structured...), '}')
	}
	if other := members["other"]; len(other) > len("{}") {
		return append(append(out, ','), other[1:]...)
	}
	return append(out, '}')
}

// byCallTool returns the call of a pinned tool, which clients call by its name, as a call of
// call_tool.
func byCallTool(r *sdk.CallToolRequest) *sdk.CallToolRequest {
	in := map[string]any{"tool_name": r.Params.Name}
	if len(r.Params.Arguments) > 0 {
		in["arguments"] = r.Params.Arguments
	}
	out, params := *r, *r.Params
	params.Name = callName
	params.Arguments, _ = json.Marshal(in) // came from JSON
	out.Params = &params
	return &out
}

// question is a question of a tool to the client.
type question struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// unanswerable returns the method of a question that the client does not support, "" if it
// supports all. The protocol forbids to send such a question.
func unanswerable(client *sdk.ClientCapabilities, questions map[string]question) string {
	if client == nil {
		client = &sdk.ClientCapabilities{}
	}
	//lint:ignore SA1019 tools may ask for all of these as long as the protocol has them
	answers := map[string]bool{"elicitation/create": client.Elicitation != nil, "sampling/createMessage": client.Sampling != nil, "roots/list": client.RootsV2 != nil}
	for _, q := range questions {
		if !answers[q.Method] {
			return q.Method
		}
	}
	return ""
}

// toolCall has the arguments of call_tool.
type toolCall struct {
	tool      string
	arguments json.RawMessage
	searchID  string
}

var errNoName = errors.New(`call_tool takes {"tool_name": "name as search_tools gives it", "arguments": {}}: tool_name is missing`)

// readCall reads the arguments of call_tool in all forms that models send: the name of the tool may
// be inside the arguments, and both may have the names that other servers use. A name inside the
// arguments counts only without a name outside, and is removed from them.
func readCall(raw json.RawMessage) (toolCall, error) {
	var in map[string]json.RawMessage
	if err := read(raw, &in); err != nil {
		return toolCall{}, fmt.Errorf("%w (%w)", errNoName, err)
	}
	c := toolCall{tool: text(in, nameWords), arguments: first(in, argumentWords), searchID: text(in, []string{"search_id"})}
	var within map[string]json.RawMessage
	if read(c.arguments, &within) == nil && c.tool == "" && len(within) > 0 {
		c.tool = text(within, nameWords[:1])
		delete(within, nameWords[0])
		c.arguments = first(within, argumentWords)
		if c.arguments == nil {
			c.arguments, _ = json.Marshal(within) // came from JSON
		}
	}
	if c.tool == "" {
		return toolCall{}, errNoName
	}
	return c, nil
}

// Keys of the name of a tool and of its arguments, as models and other servers use them.
var (
	nameWords     = []string{"tool_name", "tool", "name", "id"}
	argumentWords = []string{"arguments", "parameters", "args", "input"}
)

func first(in map[string]json.RawMessage, words []string) json.RawMessage {
	for _, word := range words {
		if raw := in[word]; len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			return raw
		}
	}
	return nil
}

func text(in map[string]json.RawMessage, words []string) (out string) {
	for _, word := range words {
		if json.Unmarshal(in[word], &out) == nil && out != "" {
			return out
		}
	}
	return ""
}

// read decodes JSON, also if a model has put it into a string.
func read(raw json.RawMessage, to any) error {
	if len(raw) == 0 {
		raw = json.RawMessage(`{}`)
	}
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		raw = json.RawMessage(quoted)
	}
	return jsondoc.Unmarshal(raw, ofMessage, to)
}

// readFor reads the arguments of a tool, which have to match its schema.
func readFor(ctx context.Context, tool *sdk.Tool, arguments json.RawMessage, to any) error {
	object, err := toolschema.Check(ctx, tool.InputSchema.(json.RawMessage), arguments)
	if err != nil {
		return err
	}
	return json.Unmarshal(object, to)
}

// asText returns a value as JSON text: clients show models the text of a result.
func asText(v any) (*sdk.CallToolResult, error) {
	out, err := jsondoc.Plain(v)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}}, nil
}

// mistake is the result of a call that a model can mend.
func mistake(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// refusal returns a problem of the API as a result, which the model reads. Any other error becomes
// a protocol error.
func refusal(err error) (*sdk.CallToolResult, error) {
	var p *client.Problem
	if !errors.As(err, &p) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	for i := range p.Errors { // a model knows the arguments that it has sent, and no request
		p.Errors[i].Location = strings.TrimPrefix(p.Errors[i].Location, "/body/arguments")
	}
	return mistake("%s", p.Text()), nil
}
