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
)

// Open reaches a server to call its tools. The connection outlives ctx.
func (c Connector) Open(ctx context.Context, at source.Place) (source.Line, error) {
	return reach(ctx, at, func() {}, func(t sdk.Transport, w *wire) (source.Line, error) {
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
		l := &line{session: session, stop: stop, local: w.next == nil}
		go func() {
			_ = session.Wait() // whatever the reason
			l.lost.Store(true)
		}()
		return l, nil
	})
}

// line implements source.Line.
type line struct {
	session *sdk.ClientSession
	stop    context.CancelFunc
	local   bool // to a command
	lost    atomic.Bool
}

// Lost implements source.Line.
func (l *line) Lost() bool { return l.lost.Load() }

// Close implements source.Line.
func (l *line) Close() {
	hangUp(l.session)
	l.stop()
}

// relayed is what a server may ask a caller for. Only one that has no sessions can: it
// answers with what it asks for, and does not ask in between.
var relayed = &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
	Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
}}

// Call implements source.Line.
func (l *line) Call(ctx context.Context, c source.Call) (source.Answer, error) {
	params := &sdk.CallToolParams{Name: c.Tool, Arguments: c.Arguments, RequestState: c.RequestState}
	if len(c.InputResponses) > 0 {
		if err := json.Unmarshal(c.InputResponses, &params.InputResponses); err != nil {
			return source.Answer{}, &source.CallError{Unsent: true, Refused: true, Err: fmt.Errorf("input_responses: %w", err)}
		}
	}
	if stateless(l.session) {
		params.Meta = sdk.Meta{sdk.MetaKeyClientCapabilities: relayed}
	}
	seen := &sight{}
	result, err := l.session.CallTool(seen.watch(ctx), params)
	if said := (*jsonrpc.Error)(nil); errors.As(err, &said) && said.Code == sdk.CodeHeaderMismatch && l.list(ctx) {
		result, err = l.session.CallTool(seen.watch(ctx), params) // the server has refused it for a header that stands in its list
	}
	if err != nil {
		return source.Answer{}, l.failed(ctx, seen, err)
	}
	return answerOf(result)
}

// list has the SDK learn which arguments go into headers, too.
func (l *line) list(ctx context.Context) bool {
	for _, err := range l.session.Tools(ctx, nil) {
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
func (l *line) failed(ctx context.Context, seen *sight, err error) error {
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
		l.lost.Store(true)
		out.Unsent = true
	case status >= http.StatusMultipleChoices:
		out.Refused = status < http.StatusInternalServerError
		out.Err = source.Refusal(status, 0, fmt.Errorf("the server answers %d %s", status, http.StatusText(status)))
	case errors.Is(err, sdk.ErrConnectionClosed):
		l.lost.Store(true)
		out.Unsent = !l.local && !seen.sent.Load()
	case errors.Is(err, outbound.ErrAddress), errors.Is(err, outbound.ErrToken):
		out.Unsent = true
	default:
		out.Unsent = !l.local && !seen.sent.Load()
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

// answerOf returns a result as the protocol has it.
func answerOf(r *sdk.CallToolResult) (source.Answer, error) {
	a := source.Answer{IsError: r.IsError, NeedsInput: r.NeedsInput(), RequestState: r.RequestState}
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
