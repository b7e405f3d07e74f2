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

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/text"
)

// Open reaches a server to call its tools. The connection outlives ctx.
func (c Connector) Open(ctx context.Context, at source.Place) (source.Conn, error) {
	return reach(ctx, at, func() {}, func(t sdk.Transport, w *wire) (source.Conn, error) {
		lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
		switch t := t.(type) {
		case *sdk.StreamableClientTransport:
			t.DisableStandaloneSSE, t.MaxEventSize = true, int(at.Limits.Bytes)
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
		opened := &conn{session: session, stop: stop, local: w.next == nil}
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
	local   bool // to a command
	lost    atomic.Bool
}

// Lost implements source.Conn.
func (c *conn) Lost() bool { return c.lost.Load() }

// Close implements source.Conn.
func (c *conn) Close() {
	hangUp(c.session)
	c.stop()
}

// relayed is what a server may ask a caller for. Only one that has no sessions can: it
// answers with what it asks for, and does not ask in between. What a caller's client does not
// do it is not asked for: the MCP server knows what that has declared.
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
	result, err := c.session.CallTool(seen.watch(ctx), params)
	if said := (*jsonrpc.Error)(nil); errors.As(err, &said) && said.Code == sdk.CodeHeaderMismatch && c.list(ctx) {
		result, err = c.session.CallTool(seen.watch(ctx), params) // the server has refused it for a header that stands in its list
	}
	if err != nil {
		return source.Answer{}, c.failed(ctx, seen, err)
	}
	return answerOf(result)
}

// list has the SDK learn which arguments go into headers, too.
func (c *conn) list(ctx context.Context) bool {
	for _, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return false
		}
	}
	return true
}

// unsaid is the code of the error that the SDK itself makes of a request which HTTP has not
// carried.
const unsaid = -32005

// failed returns the error of a call.
func (c *conn) failed(ctx context.Context, seen *sight, err error) error {
	var said *jsonrpc.Error
	var at *url.Error
	out, status := &source.CallError{Err: err}, int(seen.status.Load())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &said) && said.Code != unsaid:
		out.Refused = true
		out.Err = fmt.Errorf("the server answers with error %d: %s", said.Code, said.Message)
	case errors.Is(err, sdk.ErrSessionMissing): // which it says before it looks at the call
		c.lost.Store(true)
		out.Unsent = true
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

// sight is what is seen of the request of a call.
type sight struct {
	sent   atomic.Bool
	status atomic.Int32 // of the last answer
}

type sightKey struct{}

// watch returns a context whose requests are seen.
func (s *sight) watch(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, sightKey{}, s)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { s.sent.Store(true) }})
}

// onTheWeb says which address that a server has people open is none of the web, or nil: what a
// server asks for goes on to the caller's client, and another address may run a script there.
func onTheWeb(asked sdk.InputRequestMap) error {
	for id, of := range asked {
		question, ok := of.(*sdk.ElicitParams)
		if !ok {
			continue
		}
		if u, err := url.Parse(question.URL); question.URL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http") {
			return fmt.Errorf("the server names an address in %q that is not one of the web", text.Truncate(id, maxName))
		}
	}
	return nil
}

// maxName bounds what is told of a name that a server gives, in bytes.
const maxName = 100

// answerOf returns a result as the protocol has it.
func answerOf(r *sdk.CallToolResult) (source.Answer, error) {
	a := source.Answer{IsError: r.IsError, NeedsInput: r.NeedsInput(), RequestState: r.RequestState}
	if err := onTheWeb(r.InputRequests); err != nil {
		return a, &source.CallError{Refused: true, Err: err}
	}
	for _, block := range r.Content {
		raw, err := json.Marshal(block)
		if err != nil {
			return a, &source.CallError{Err: fmt.Errorf("the answer cannot be read: %w", err)}
		}
		a.Content = append(a.Content, raw)
	}
	var err error
	if r.StructuredContent != nil {
		a.Structured, err = json.Marshal(r.StructuredContent)
	}
	if err == nil && a.NeedsInput {
		a.InputRequests, err = json.Marshal(r.InputRequests)
	}
	if err != nil {
		return a, &source.CallError{Err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return a, nil
}
