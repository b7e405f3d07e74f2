package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/internal/tracing/tracingtest"
	"github.com/toolstream/toolstream/pkg/schema"
)

func echo(_ context.Context, tenant string, request []byte) ([]byte, error) {
	return []byte(tenant + ": " + string(request)), nil
}

func awaitConnected(t *testing.T, nc *nats.Conn) {
	t.Helper()
	_, stop, err := whileConnected(patient(t), nc)
	must(t, err)
	stop()
}

// awaitService waits until the service test can be asked by way of nc.
func awaitService(t *testing.T, nc *nats.Conn) { awaitNamed(t, nc, "test") }

func awaitNamed(t *testing.T, nc *nats.Conn, name string) {
	t.Helper()
	ctx := patient(t)
	for {
		info, err := nc.RequestWithContext(ctx, "$SRV.INFO."+name, nil)
		if !errors.Is(err, nats.ErrNoResponders) {
			must(t, err)
			// The service can be found before it has its endpoint.
			if bytes.Contains(info.Data, []byte(`"subject"`)) {
				return
			}
		}
	}
}

func newClient(t *testing.T, nc *nats.Conn) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{Subject: "toolstream.test", Timeout: patience}, nc)
	must(t, err)
	return c
}

func TestNoResponderIsKnownAtOnce(t *testing.T) {
	c := newClient(t, connect(t))
	if _, err := c.Request(t.Context(), "", nil); !errors.Is(err, ErrNoResponders) || !strings.Contains(err.Error(), "toolstream.test") {
		t.Errorf("%v, want ErrNoResponders and the subject", err)
	}
}

func TestRequestsWithoutAConnectionFailAtOnce(t *testing.T) {
	s := startServer(t, server.Options{})
	g := newGate(t, s.Addr().String())
	nc := dial(t, ConnectConfig{URL: g.url()})
	c := newClient(t, nc)
	serve(t, dial(t, ConnectConfig{URL: s.ClientURL()}), echo)
	g.cut(t, nc)
	if _, err := c.Request(t.Context(), "", nil); !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), g.url()) {
		t.Errorf("%v, want ErrDisconnected and the server", err)
	}
	g.mend(t, nc)
	if answer, err := c.Request(t.Context(), "acme", []byte("x")); err != nil || string(answer) != "acme: x" {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestASubscriptionIsIntactAfterAReconnect(t *testing.T) {
	s := startServer(t, server.Options{})
	g := newGate(t, s.Addr().String())
	far, near := dial(t, ConnectConfig{URL: g.url()}), dial(t, ConnectConfig{URL: s.ClientURL()})
	serve(t, far, echo)
	c := newClient(t, near)
	for range 3 {
		g.cut(t, far)
		g.mend(t, far)
		awaitService(t, near)
		if answer, err := c.Request(t.Context(), "", []byte("x")); err != nil || string(answer) != "default: x" {
			t.Fatalf("%q, %v", answer, err)
		}
	}
}

func TestTheDeadlineGoesWithTheRequest(t *testing.T) {
	nc := connect(t)
	left := make(chan time.Duration, 1)
	ended := make(chan error, 1)
	serve(t, nc, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := newClient(t, nc).Request(ctx, "", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want DeadlineExceeded", err)
	}
	if d := receive(t, left); d > 50*time.Millisecond {
		t.Errorf("the handler has %v, its caller waits 50 ms", d)
	}
	if err := receive(t, ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the handler's context ended with %v", err)
	}
	<-ctx.Done()
	if _, err := newClient(t, nc).Request(ctx, "", nil); !errors.Is(err, context.DeadlineExceeded) || len(left) > 0 {
		t.Errorf("a request that is over already: %v, %d begun", err, len(left))
	}
}

func TestARequestWhoseCallerGaveUpIsNotBegun(t *testing.T) {
	nc := connect(t)
	begun := make(chan string, 10)
	release := make(chan struct{})
	cfg := Config{Name: "test", Subject: "toolstream.test", Parallel: 1}
	serveWith(t, cfg, nc, func(_ context.Context, _ string, request []byte) ([]byte, error) {
		begun <- string(request)
		<-release
		return nil, nil
	})
	first := make(chan error, 1)
	c := newClient(t, nc)
	go func() { _, err := c.Request(t.Context(), "", []byte("first")); first <- err }()
	receive(t, begun)
	msg := nats.NewMsg("toolstream.test")
	msg.Header.Set(HeaderTimeout, "1")
	reply, err := nc.RequestMsg(msg, patience)
	must(t, err)
	if r := refusalOf("s", reply); r == nil || !errors.Is(r, context.DeadlineExceeded) || r.Status != http.StatusGatewayTimeout {
		t.Errorf("refusal %v", r)
	}
	close(release)
	must(t, receive(t, first))
	if len(begun) > 0 {
		t.Errorf("the handler was given %q", <-begun)
	}
}

func TestTheTraceGoesWithTheRequest(t *testing.T) {
	nc := connect(t)
	seen := make(chan trace.SpanContext, 1)
	serve(t, nc, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		seen <- trace.SpanContextFromContext(ctx)
		return nil, nil
	})
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled})
	_, err := newClient(t, nc).Request(trace.ContextWithSpanContext(t.Context(), span), "", nil)
	must(t, err)
	if got := receive(t, seen); got.TraceID() != span.TraceID() || got.SpanID() != span.SpanID() || !got.IsRemote() {
		t.Errorf("trace %v, want %v", got, span)
	}
	msg := nats.NewMsg("toolstream.test")
	msg.Header["Traceparent"] = []string{"00-01020000000000000000000000000000-0300000000000000-01"}
	_, err = nc.RequestMsg(msg, patience)
	must(t, err)
	if got := receive(t, seen); got.TraceID() != span.TraceID() {
		t.Errorf("with a capital letter: trace %v", got)
	}
}

func TestARequestIsASpanOnBothSides(t *testing.T) {
	nc, spans := connect(t), tracingtest.Record(t)
	serveWith(t, Config{Name: "test", Subject: "toolstream.test", Traces: spans.Provider}, nc, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		_, span := tracing.Begin(ctx, "work")
		span.End()
		return nil, errors.New("a secret")
	})
	ctx, root := spans.Root(t.Context())
	if _, err := newClient(t, nc).Request(ctx, "", nil); err == nil {
		t.Error("no error")
	}
	root.End()
	if got := spans.Within(root.SpanContext()); got != "request toolstream.test [answer toolstream.test [work]]" {
		t.Errorf("got %s", got)
	}
	if text := spans.Text(); strings.Contains(text, "secret") {
		t.Errorf("the spans say:\n%s", text)
	}
}

func TestMoreRequestsThanMayWaitAreRefused(t *testing.T) {
	nc := connect(t)
	release := make(chan struct{})
	begun := make(chan struct{}, 100)
	cfg := Config{Name: "test", Subject: "toolstream.test", Parallel: 1, Pending: 2}
	serveWith(t, cfg, nc, func(context.Context, string, []byte) ([]byte, error) {
		begun <- struct{}{}
		<-release
		return nil, nil
	})
	c := newClient(t, nc)
	outcomes := make(chan error, 10)
	for range 10 {
		go func() { _, err := c.Request(t.Context(), "", nil); outcomes <- err }()
	}
	for range 7 {
		var r *Refusal
		if err := receive(t, outcomes); !errors.As(err, &r) || r.Status != http.StatusServiceUnavailable || !strings.Contains(r.Detail, "overloaded") {
			t.Errorf("%v, want a refusal", err)
		}
	}
	stats, err := nc.Request("$SRV.STATS.test", nil, patience)
	must(t, err)
	if !bytes.Contains(stats.Data, []byte(`{"refused":7,"present":3}`)) {
		t.Errorf("statistics %s", stats.Data)
	}
	close(release)
	for range 3 {
		if err := receive(t, outcomes); err != nil {
			t.Error(err)
		}
	}
}

// Every request is answered, or finds that nobody is there: none is received
// and forgotten.
func TestDrainingLosesNoRequest(t *testing.T) {
	s := startServer(t, server.Options{})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	for range 20 {
		clients := dial(t, ConnectConfig{URL: s.ClientURL()})
		drainUnderLoad(t, dial(t, ConnectConfig{URL: s.ClientURL()}), newClient(t, clients), nc)
		must(t, Drain(patient(t), clients))
	}
}

func drainUnderLoad(t *testing.T, serving *nats.Conn, c *Client, ping *nats.Conn) {
	t.Helper()
	var handled, answered atomic.Int64
	service, err := NewService(Config{Name: "test", Subject: "toolstream.test", Pending: 10_000, Timeout: patience}, serving,
		func(context.Context, string, []byte) ([]byte, error) {
			handled.Add(1)
			return nil, nil
		})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	awaitService(t, ping)
	enough := make(chan struct{})
	var once sync.Once
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for {
				_, err := c.Request(t.Context(), "", nil)
				if errors.Is(err, ErrNoResponders) {
					return
				}
				if err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
				if answered.Add(1) == 100 {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	receive(t, enough)
	stop()
	must(t, receive(t, done))
	must(t, Drain(patient(t), serving))
	callers.Wait()
	if handled.Load() != answered.Load() {
		t.Errorf("%d requests handled, %d answered", handled.Load(), answered.Load())
	}
}

func TestAnOversizedAnswerIsARefusal(t *testing.T) {
	s := startServer(t, server.Options{MaxPayload: 1 << 20})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	serve(t, nc, func(context.Context, string, []byte) ([]byte, error) { return make([]byte, 1<<20+1), nil })
	var r *Refusal
	_, err := newClient(t, nc).Request(t.Context(), "", nil)
	if !errors.As(err, &r) || r.Status != http.StatusRequestEntityTooLarge || !strings.Contains(r.Detail, "1048577 bytes") {
		t.Errorf("%v, want a refusal that names the size", err)
	}
	if _, err := newClient(t, nc).Request(t.Context(), "", make([]byte, 1<<20+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an oversized request: %v, want ErrTooLarge", err)
	}
}

func TestHostileRequestsAreAnswered(t *testing.T) {
	s := startServer(t, server.Options{MaxPayload: 16 << 20})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	serve(t, nc, func(_ context.Context, tenant string, request []byte) ([]byte, error) {
		if string(request) == "panic" {
			panic("on purpose")
		}
		return []byte(tenant), nil
	})
	header := func(pairs ...string) nats.Header {
		h := nats.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
		}
		return h
	}
	tests := []struct {
		name   string
		header nats.Header
		data   []byte
		status int // 0 for an answer
	}{
		{"10 MB", nil, make([]byte, 10<<20), 413},
		{"a panic", nil, []byte("panic"), 500},
		{"a tenant that is none", header(HeaderTenant, "../x"), nil, 422},
		{"a tenant with a line break", header(HeaderTenant, "a\x00b"), nil, 422},
		{"a long tenant", header(HeaderTenant, strings.Repeat("a", 10_000)), nil, 422},
		{"two tenants", header(HeaderTenant, "a", HeaderTenant, "b"), nil, 422},
		{"two tenants, one in capitals", header(HeaderTenant, "a", "Toolstream-Tenant", "b"), nil, 422},
		{"a time that is none", header(HeaderTimeout, "soon"), nil, 422},
		{"no time", header(HeaderTimeout, "-5"), nil, 504},
		{"all the time", header(HeaderTimeout, "9223372036854775807"), nil, 0},
		{"a trace that is none", header("traceparent", "00-zz"), nil, 0},
		{"a tenant in capitals", header("Toolstream-Tenant", "acme"), nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := nc.RequestMsg(&nats.Msg{Subject: "toolstream.test", Header: tt.header, Data: tt.data}, patience)
			must(t, err)
			status := 0
			if r := refusalOf("s", reply); r != nil {
				status = r.Status
			}
			if status != tt.status || status == 0 && len(reply.Data) == 0 {
				t.Errorf("status %d, %q; want %d", status, reply.Data, tt.status)
			}
		})
	}
	if err := nc.Publish("toolstream.test", []byte("nobody wants an answer")); err != nil {
		t.Error(err)
	}
	if answer, err := newClient(t, nc).Request(t.Context(), "acme", nil); err != nil || string(answer) != "acme" {
		t.Errorf("after all that: %q, %v", answer, err)
	}
}

func TestSearchGoesThereAndBack(t *testing.T) {
	nc := connect(t)
	cfg := Config{Name: "test", Subject: SearchSubject}
	serveWith(t, cfg, nc, func(_ context.Context, tenant string, request []byte) ([]byte, error) {
		if !bytes.Contains(request, []byte(`"query":"weather"`)) {
			return nil, &schema.Invalid{Path: "/query", Reason: "must be weather"}
		}
		return fmt.Appendf(nil, `{"search_id":"s","degraded":[],"results":[{"id":%q}]}`, tenant), nil
	})
	s, err := NewSearcher(SearcherConfig{}, nc)
	must(t, err)
	resp, err := s.Search(t.Context(), "acme", schema.SearchRequest{Query: "weather"})
	if err != nil || resp.SearchID != "s" || len(resp.Results) != 1 || resp.Results[0].ID != "acme" {
		t.Errorf("%+v, %v", resp, err)
	}
	var r *Refusal
	if _, err = s.Search(t.Context(), "", schema.SearchRequest{}); !errors.As(err, &r) || r.Status != 422 {
		t.Errorf("%v, want a 422", err)
	}
}

func TestNewClientsNameWhatIsWrong(t *testing.T) {
	nc := connect(t)
	if _, err := NewClient(ClientConfig{}, nc); err == nil {
		t.Error("a client without a subject was made")
	}
	if _, err := NewSearcher(SearcherConfig{}, nil); err == nil {
		t.Error("a searcher without a connection was made")
	}
	if _, err := NewEmbedder(EmbedderConfig{Dimensions: -1}, nc); err == nil {
		t.Error("an embedder with negative dimensions was made")
	}
}
