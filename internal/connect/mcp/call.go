package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// maxAnswerNodes bounds the JSON values of an answer: many calls are under way at once.
const maxAnswerNodes = jsondoc.DefaultNodes

// Open reaches a server to call its tools. The connection outlives ctx.
func (c Connector) Open(ctx context.Context, at source.Place) (source.Conn, error) {
	message := at.Limits.Page()
	message.Nodes = maxAnswerNodes
	return reach(ctx, at, message, func() {}, func(t sdk.Transport, w *wire) (source.Conn, error) {
		lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
		shared := true
		switch t := t.(type) {
		case *sdk.StreamableClientTransport:
			t.DisableStandaloneSSE, t.MaxEventSize, shared = true, int(at.Limits.Bytes), false
		case *sdk.SSEClientTransport:
			t.MaxEventSize = int(at.Limits.Bytes)
		}
		client := sdk.NewClient(&sdk.Implementation{Name: "toolstream", Version: c.Version}, &sdk.ClientOptions{
			Capabilities: &sdk.ClientCapabilities{}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		})
		session, err := dial(ctx, lasting, client, t)
		if err != nil {
			stop()
			return nil, w.explain("connect", err)
		}
		opened := &conn{session: session, stop: stop, message: message, local: w.next == nil, shared: shared}
		go func() {
			_ = session.Wait() // whatever the reason
			opened.lost.Store(true)
		}()
		return opened, nil
	})
}

// conn implements source.Conn.
type conn struct {
	session *sdk.ClientSession
	stop    context.CancelFunc
	message jsondoc.Limits // the bounds of an answer
	local   bool           // to a command
	shared  bool           // the answers of all calls come in one stream, one after the other
	lost    atomic.Bool
}

// Lost implements source.Conn.
func (c *conn) Lost() bool { return c.lost.Load() }

// Close implements source.Conn.
func (c *conn) Close() {
	hangUp(c.session)
	c.stop()
}

// relayed are the inputs that a server may request from a caller. Only stateless servers can:
// their answer contains the requests. Callers get only requests that their client supports: our
// own MCP server knows its declared capabilities.
var relayed = map[string]any{
	"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}, "sampling": map[string]any{}, "roots": map[string]any{},
}

// Call implements source.Conn.
func (c *conn) Call(ctx context.Context, call source.Call) (source.Answer, error) {
	params := &sdk.CallToolParams{Name: call.Tool, Arguments: call.Arguments, RequestState: call.RequestState}
	if len(call.InputResponses) > 0 {
		if err := json.Unmarshal(call.InputResponses, &params.InputResponses); err != nil {
			return source.Answer{}, &source.CallError{Unsent: true, Refused: true, Err: fmt.Errorf("input_responses: %w", err)}
		}
	}
	if stateless(c.session) {
		params.Meta = sdk.Meta{sdk.MetaKeyClientCapabilities: relayed}
	}
	seen := &sight{}
	_, err := c.session.CallTool(seen.watch(ctx), params)
	if refusal := (*jsonrpc.Error)(nil); errors.As(err, &refusal) && refusal.Code == sdk.CodeHeaderMismatch {
		// The SDK learns from the list of tools which arguments are sent in headers, too.
		var listErr error
		for _, listErr = range c.session.Tools(ctx, nil) {
			if listErr != nil {
				break
			}
		}
		if listErr == nil {
			seen = &sight{}
			_, err = c.session.CallTool(seen.watch(ctx), params)
		}
	}
	if err != nil {
		return source.Answer{}, c.failed(ctx, seen, err)
	}
	answer, err := answerOf(seen.result)
	cost := (len(answer.Content) + len(answer.Other)) * inflight.PerValue
	if c.shared {
		cost += len(seen.result) * inflight.PerByte
	}
	if full := inflight.From(ctx).Grow(ctx, int64(cost)); full != nil {
		return source.Answer{}, &source.CallError{Err: full}
	}
	return answer, err
}

// unsaid is the code of the SDK's own error of a request that HTTP did not deliver.
const unsaid = -32005

// failed returns the error of a call.
func (c *conn) failed(ctx context.Context, seen *sight, err error) error {
	var said *jsonrpc.Error
	var at *url.Error
	out, status := &source.CallError{Err: err}, int(seen.status.Load())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case seen.large.Load():
		c.lost.Store(true) // the SDK gives up the connection
		out.Refused = true
		out.Err = fmt.Errorf("the answer is too large: more than %d bytes, %d JSON values, %d levels or %d events", c.message.Bytes, c.message.Nodes, c.message.Depth, maxEvents)
	case errors.As(err, &said) && said.Code != unsaid:
		out.Refused = true
		out.Err = fmt.Errorf("the server answers with error %d: %s", said.Code, said.Message)
	case errors.Is(err, sdk.ErrSessionMissing): // the SDK reports this before it looks at the call
		c.lost.Store(true)
		out.Unsent = true
	case errors.Is(err, outbound.ErrRedirect):
		out.Refused = true
	case status >= http.StatusMultipleChoices:
		out.Refused = status < http.StatusInternalServerError
		out.Err = source.Refusal(status, 0, fmt.Errorf("the server answers %d %s", status, http.StatusText(status)))
	case errors.Is(err, sdk.ErrConnectionClosed):
		c.lost.Store(true)
		out.Unsent = !c.local && !seen.sent.Load()
	case errors.Is(err, outbound.ErrAddress), errors.Is(err, outbound.ErrToken):
		out.Unsent = true
	default:
		out.Unsent = !c.local && !seen.sent.Load()
	}
	if errors.As(out.Err, &at) {
		out.Err = at.Err // the address is not for every caller
	}
	return out
}

// sight records the progress of a request, and keeps its result as the server wrote it. The SDK,
// which would change it, reads something else.
type sight struct {
	sent   atomic.Bool
	status atomic.Int32 // of the last answer
	large  atomic.Bool  // the answer is beyond its bounds

	instead func(result []byte) []byte // what the SDK reads; nil: an empty object

	id     jsonrpc.ID
	result json.RawMessage // nil before the SDK has returned
}

type sightKey struct{}

// watch returns a context whose requests are recorded.
func (s *sight) watch(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, sightKey{}, s)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { s.sent.Store(true) }})
}

// take keeps a result, and returns what the SDK reads.
func (s *sight) take(result []byte) []byte {
	s.result = result
	if s.instead == nil {
		return []byte(`{}`)
	}
	return s.instead(result)
}

// takeFrom is take of the message that answers the request. Other messages stay as they are.
func (s *sight) takeFrom(message []byte) []byte {
	var version, id, result []byte
	for name, value := range jsondoc.Members(message) {
		switch name {
		case "jsonrpc":
			version = value
		case "id":
			id = value
		case "result":
			result = value
		}
	}
	var raw any
	if s.result != nil || result == nil || version == nil || json.Unmarshal(id, &raw) != nil {
		return message // the SDK has returned with the first result
	}
	if of, err := jsonrpc.MakeID(raw); err != nil || of != s.id {
		return message
	}
	return fmt.Appendf(nil, `{"jsonrpc":%s,"id":%s,"result":%s}`, version, id, s.take(result))
}

// answerOf returns the answer in a result. The members share its memory.
func answerOf(result []byte) (source.Answer, error) {
	a, err := readAnswer(result)
	if err != nil {
		return source.Answer{}, &source.CallError{Refused: true, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return a, nil
}

func readAnswer(result []byte) (a source.Answer, err error) {
	if err := jsondoc.Validate(result); err != nil {
		return a, err
	}
	if result[0] != '{' {
		return a, errors.New("it is not an object")
	}
	for name, value := range jsondoc.Members(result) {
		switch name {
		case "content":
			a.Content, err = blocks(value)
		case "structuredContent":
			a.Structured = value
		case "isError":
			err = json.Unmarshal(value, &a.IsError)
		case "inputRequests":
			a.InputRequests = value
		case "requestState":
			err = json.Unmarshal(value, &a.RequestState)
		case "resultType":
			a.NeedsInput = string(value) == `"input_required"`
		default:
			if a.Other == nil {
				a.Other = map[string]json.RawMessage{}
			}
			a.Other[name] = value
		}
		if err != nil {
			return a, fmt.Errorf("%s: %w", text.Truncate(name, maxName), err)
		}
	}
	if a.NeedsInput && a.InputRequests == nil {
		a.InputRequests = json.RawMessage(`{}`) // the server is busy
	}
	return a, onTheWeb(a.InputRequests)
}

// blocks returns the content blocks of a list.
func blocks(list []byte) (out []json.RawMessage, err error) {
	for block := range jsondoc.Elements(list) {
		if block[0] != '{' {
			return nil, errors.New("a content block is not an object")
		}
		out = append(out, block)
	}
	return out, nil
}

// onTheWeb returns an error if a server asks people to open an address that is not a web address:
// the request goes on to the caller's client, where such an address may run a script.
func onTheWeb(asked []byte) error {
	for id, question := range jsondoc.Members(asked) {
		var address string
		raw := jsondoc.Member(jsondoc.Member(question, "params"), "url")
		if raw == nil || json.Unmarshal(raw, &address) == nil && address == "" {
			continue
		}
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("the server names an address in %q that is not an http or https address", text.Truncate(id, maxName))
		}
	}
	return nil
}

// maxName bounds a server's name in an error, in bytes.
const maxName = 100
