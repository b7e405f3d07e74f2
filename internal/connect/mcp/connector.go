// Package mcp lists the tools of MCP servers with the official SDK: over streamable HTTP, the
// older HTTP with server-sent events, and the standard streams of a command. It supports servers
// of the stateless protocol (2026-07-28) and of earlier versions, which have sessions. It also
// lists the servers of registries (registry.go).
package mcp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Connector reaches MCP servers.
type Connector struct {
	Version string // of this program, sent to servers
}

const (
	pingEvery = 30 * time.Second // to servers with sessions: a dead connection is silent
	retries   = 2                // of a stream that broke, before the session counts as lost

	closeWithin = 10 * time.Second
	agreeWithin = 2 * time.Second // for a stateless server to acknowledge a subscription
)

// Connect implements source.Connector.
func (c Connector) Connect(ctx context.Context, at source.Place, changed func()) (source.Session, error) {
	return reach(ctx, at, at.Limits.Page(), changed, func(t sdk.Transport, w *wire) (source.Session, error) {
		s, err := c.open(ctx, at, t, w, changed)
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}

// reach opens a connection by the transport that a server has. Message bounds each message.
func reach[T any](ctx context.Context, at source.Place, message jsondoc.Limits, changed func(), open func(sdk.Transport, *wire) (T, error)) (T, error) {
	if len(at.Command) > 0 {
		w := &wire{bounds: message}
		t := newCommand(at.Command, at.Env, w)
		s, err := open(t, w)
		if err != nil {
			return s, t.explain(err)
		}
		return s, nil
	}
	w := &wire{next: at.Client.Transport, bounds: message, changed: changed, authorizes: at.OAuth != nil}
	client := &http.Client{Transport: w, CheckRedirect: at.Client.CheckRedirect}
	oauth, err := authorizer(at.OAuth, at.URL)
	if err != nil {
		var none T
		return none, err
	}
	s, err := open(&sdk.StreamableClientTransport{
		Endpoint: at.URL, HTTPClient: client, MaxRetries: retries, MaxEventSize: source.MaxPage, OAuthHandler: oauth,
	}, w)
	if err == nil || !w.older() || ctx.Err() != nil {
		return s, err
	}
	// A server of before 2025-03-26 has another transport, which answers a GET alone.
	events := &wire{next: w.next, bounds: message, changed: func() {}}
	client = &http.Client{Transport: events, CheckRedirect: at.Client.CheckRedirect}
	old, oldErr := open(&sdk.SSEClientTransport{Endpoint: at.URL, HTTPClient: client, MaxEventSize: source.MaxPage}, events)
	if oldErr != nil {
		return s, err
	}
	return old, nil
}

// open negotiates with a server. The connection outlives ctx. The SDK's own negotiation may
// outlast ctx, too: it is then abandoned, and ends by its own limits.
func (c Connector) open(ctx context.Context, at source.Place, t sdk.Transport, w *wire, changed func()) (source.Session, error) {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	agreed := make(chan struct{})
	s := &session{wire: w, limits: at.Limits, changed: changed, stop: stop, acknowledged: sync.OnceFunc(func() { close(agreed) })}
	client := sdk.NewClient(&sdk.Implementation{Name: "toolstream", Version: c.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, KeepAlive: pingEvery,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	client.AddReceivingMiddleware(s.receiving)
	session, err := dial(ctx, lasting, client, t)
	if err != nil {
		stop()
		return nil, w.explain("connect", err)
	}
	s.session = session
	go func() {
		_ = session.Wait() // whatever the reason, the next list meets it
		s.mu.Lock()
		s.ended = true
		closed := s.closed
		s.mu.Unlock()
		if !closed {
			s.changed()
		}
	}()
	if stateless(s.session) && s.tells() {
		select {
		case <-agreed:
		case <-time.After(agreeWithin): // then it is looked at from time to time
		case <-ctx.Done():
		}
	}
	return s, nil
}

// dial negotiates with a server until ctx ends, for a connection that lasts as long as lasting. A
// negotiation that outlasts ctx ends by itself.
func dial(ctx, lasting context.Context, client *sdk.Client, t sdk.Transport) (*sdk.ClientSession, error) {
	type outcome struct {
		session *sdk.ClientSession
		err     error
	}
	if _, streamable := t.(*sdk.StreamableClientTransport); !streamable {
		t = withRelay{t} // the SDK would not know a streamable connection inside
	}
	done := make(chan outcome, 1)
	go func() {
		session, err := client.Connect(lasting, t, nil)
		done <- outcome{session, err}
	}()
	select {
	case o := <-done:
		return o.session, o.err
	case <-ctx.Done():
	}
	go func() {
		if o := <-done; o.err == nil {
			_ = o.session.Close()
		}
	}()
	return nil, context.Cause(ctx)
}

// session is the connection to one server.
type session struct {
	wire    *wire
	limits  source.Limits
	changed func()
	stop    context.CancelFunc
	session *sdk.ClientSession

	acknowledged func() // reports to open that the server has answered a subscription

	mu     sync.Mutex // guards what follows
	closed bool
	ended  bool // the connection is lost
	heard  bool // the server has agreed to report changes of its tools
}

// Live implements source.Session. A server with sessions declares its notifications, and needs a
// stream for them; a server without sessions agrees to each subscription.
func (s *session) Live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && s.tells() && (!stateless(s.session) || s.heard) && (s.wire.next == nil || s.wire.listens())
}

// tells reports whether the server declares that it notifies of changed tools. Some stateless
// servers declare nothing.
func (s *session) tells() bool {
	r := s.session.InitializeResult()
	return r != nil && r.Capabilities != nil && r.Capabilities.Tools != nil && r.Capabilities.Tools.ListChanged
}

// stateless reports whether the server speaks the protocol without sessions.
func stateless(session *sdk.ClientSession) bool {
	r := session.InitializeResult()
	return r != nil && r.ProtocolVersion >= "2026-07-28"
}

// Close implements source.Session.
func (s *session) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wire.mu.Lock()
	s.wire.closed = true
	s.wire.mu.Unlock()
	hangUp(s.session)
	s.stop()
}

// hangUp closes a session, but waits for the server no longer than closeWithin.
func hangUp(session *sdk.ClientSession) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = session.Close() // the server may be gone
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

var errPages = errors.New("the list does not end")
