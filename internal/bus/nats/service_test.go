package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const subject = "toolstream.test"

// asked is where the tests ask, as the caller "default".
const asked = subject + ".default"

func echo(_ context.Context, caller identity.Caller, request []byte) ([]byte, error) {
	return []byte(caller.String() + ": " + string(request)), nil
}

// connect starts a server in process and returns a connection to it.
func connect(t *testing.T) *nats.Conn {
	t.Helper()
	return dial(t, ConnectConfig{URL: startServer(t, server.Options{MaxPayload: 16 << 20}).ClientURL()})
}

// serve runs a service until the test ends.
func serve(t *testing.T, nc *nats.Conn, h Handler) {
	t.Helper()
	serveWith(t, Config{}, nc, h)
}

func serveWith(t *testing.T, cfg Config, nc *nats.Conn, h Handler) {
	t.Helper()
	run(t, cfg, nc, h)
	awaitService(t, nc)
}

func run(t *testing.T, cfg Config, nc *nats.Conn, h Handler) (stop func()) {
	cfg.Name, cfg.Subject, cfg.Logger = "test", subject, slog.New(slog.NewTextHandler(io.Discard, nil))
	return check.Run(t, NewService(cfg, nc, h).Run)
}

// awaitService waits until the service can be asked by way of nc.
func awaitService(t *testing.T, nc *nats.Conn) {
	t.Helper()
	ctx := patient(t)
	for {
		info, err := nc.RequestWithContext(ctx, "$SRV.INFO.test", nil)
		if !errors.Is(err, nats.ErrNoResponders) {
			check.OK(t, err)
			// The service can be found before it has its endpoint.
			if bytes.Contains(info.Data, []byte(`"subject"`)) {
				return
			}
		}
	}
}

func awaitConnected(t *testing.T, nc *nats.Conn) {
	t.Helper()
	_, stop, err := whileConnected(patient(t), nc)
	check.OK(t, err)
	stop()
}

// ask sends a request with headers, as pairs of names and values, and returns the
// answer, or the status and the detail of a refusal.
func ask(t *testing.T, nc *nats.Conn, body []byte, header ...string) (answer string, status int, detail string) {
	t.Helper()
	msg := &nats.Msg{Subject: asked, Header: nats.Header{}, Data: body}
	for i := 0; i < len(header); i += 2 {
		msg.Header[header[i]] = append(msg.Header[header[i]], header[i+1])
	}
	reply := check.Value(nc.RequestMsg(msg, patience))(t)
	status, detail = refusal(t, reply)
	return string(reply.Data), status, detail
}

// refusal returns the status and the detail of a refusal, 0 of an answer.
func refusal(t *testing.T, reply *nats.Msg) (status int, detail string) {
	t.Helper()
	code := reply.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return 0, ""
	}
	var p problem
	if err := json.Unmarshal(reply.Data, &p); err != nil || p.Detail == "" || strconv.Itoa(p.Status) != code || reply.Header.Get(micro.ErrorHeader) == "" {
		t.Errorf("refusal %v %s, %v", reply.Header, reply.Data, err)
	}
	return p.Status, p.Detail
}

func TestErrorsCarryAStatus(t *testing.T) {
	nc := connect(t)
	var fail error
	serve(t, nc, func(context.Context, identity.Caller, []byte) ([]byte, error) { return nil, fail })
	for want, err := range map[int]error{422: &schema.Invalid{Path: "/k", Reason: "is negative"}, 504: context.DeadlineExceeded, 503: errors.New("the index is gone")} {
		fail = err
		if _, status, _ := ask(t, nc, nil); status != want {
			t.Errorf("%v: status %d, want %d", err, status, want)
		}
	}
	other := connect(t)
	serveWith(t, Config{Status: func(error) int { return 413 }}, other, func(context.Context, identity.Caller, []byte) ([]byte, error) { return nil, errors.New("too much") })
	if _, status, _ := ask(t, other, nil); status != 413 {
		t.Errorf("a status of the service: %d", status)
	}
}

func TestAskReturnsWhyItWasRefused(t *testing.T) {
	nc := connect(t)
	serve(t, nc, func(ctx context.Context, caller identity.Caller, request []byte) ([]byte, error) {
		if len(request) == 0 {
			return nil, errors.New("nothing to echo")
		}
		return echo(ctx, caller, request)
	})
	if answer, err := Ask(t.Context(), nc, asked, []byte("x")); err != nil || string(answer) != "default: x" {
		t.Errorf("%s, %v", answer, err)
	}
	if answer, err := Ask(t.Context(), nc, asked, nil); err == nil || !strings.Contains(err.Error(), "nothing to echo") {
		t.Errorf("refused: %s, %v", answer, err)
	}
	if _, err := Ask(t.Context(), nc, "toolstream.nobody", nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestAServiceIsIntactAfterAReconnect(t *testing.T) {
	s := startServer(t, server.Options{})
	g := newGate(t, s.Addr().String())
	far, near := dial(t, ConnectConfig{URL: g.url()}), dial(t, ConnectConfig{URL: s.ClientURL()})
	serve(t, far, echo)
	for range 3 {
		g.cut(t, far)
		g.mend(t, far)
		awaitService(t, near)
		if answer, _, _ := ask(t, near, []byte("x")); answer != "default: x" {
			t.Fatal(answer)
		}
	}
}

func TestTheDeadlineGoesWithTheRequest(t *testing.T) {
	nc := connect(t)
	left := make(chan time.Duration, 1)
	serve(t, nc, func(ctx context.Context, _ identity.Caller, _ []byte) ([]byte, error) {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, status, _ := ask(t, nc, nil, HeaderTimeout, "50"); status != http.StatusGatewayTimeout {
		t.Errorf("status %d", status)
	}
	if d := receive(t, left); d > 50*time.Millisecond {
		t.Errorf("the handler has %v, its caller waits 50 ms", d)
	}
}

// Requests beyond those that may wait are refused at once. A request whose caller has
// given up meanwhile is not begun.
func TestMoreRequestsThanMayWaitAreRefused(t *testing.T) {
	nc := connect(t)
	release, begun := make(chan struct{}), make(chan string, 1000)
	serve(t, nc, func(_ context.Context, _ identity.Caller, request []byte) ([]byte, error) {
		begun <- string(request)
		<-release
		return nil, nil
	})
	answers := check.Value(nc.SubscribeSync("answers"))(t)
	check.OK(t, answers.SetPendingLimits(-1, -1))
	for range parallel {
		check.OK(t, nc.PublishRequest(asked, "answers", nil))
	}
	for range parallel {
		receive(t, begun)
	}
	if _, status, _ := ask(t, nc, []byte("given up"), HeaderTimeout, "1"); status != http.StatusGatewayTimeout {
		t.Errorf("status %d of a request whose time is over", status)
	}
	const more = 7
	for range pending + more {
		check.OK(t, nc.PublishRequest(asked, "answers", nil))
	}
	next := func() (int, string) {
		reply := check.Value(answers.NextMsg(patience))(t)
		return refusal(t, reply)
	}
	for range more {
		if status, detail := next(); status != http.StatusServiceUnavailable || !strings.Contains(detail, "overloaded") {
			t.Errorf("%d %s, want a refusal", status, detail)
		}
	}
	stats := check.Value(nc.Request("$SRV.STATS.test", nil, patience))(t)
	if !bytes.Contains(stats.Data, []byte(`{"refused":8,"present":320}`)) {
		t.Errorf("statistics %s", stats.Data)
	}
	close(release)
	for range parallel + pending {
		if status, _ := next(); status != 0 {
			t.Errorf("status %d", status)
		}
	}
	close(begun)
	for request := range begun {
		if request != "" {
			t.Errorf("the handler was given %q", request)
		}
	}
}

// Every request is answered, or finds no service: none is received and forgotten.
func TestDrainingLosesNoRequest(t *testing.T) {
	s := startServer(t, server.Options{})
	ping := dial(t, ConnectConfig{URL: s.ClientURL()})
	for range 20 {
		client, serving := dial(t, ConnectConfig{URL: s.ClientURL()}), dial(t, ConnectConfig{URL: s.ClientURL()})
		var handled, answered atomic.Int64
		stop := run(t, Config{}, serving, func(context.Context, identity.Caller, []byte) ([]byte, error) {
			handled.Add(1)
			return nil, nil
		})
		awaitService(t, ping)
		enough := make(chan struct{})
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for {
					_, err := client.Request(asked, nil, patience)
					if errors.Is(err, nats.ErrNoResponders) {
						return
					}
					if err != nil {
						t.Errorf("a request was lost: %v", err)
						return
					}
					if answered.Add(1) == 100 {
						close(enough)
					}
				}
			})
		}
		receive(t, enough)
		stop()
		check.OK(t, Drain(patient(t), serving))
		callers.Wait()
		if handled.Load() != answered.Load() {
			t.Errorf("%d requests handled, %d answered", handled.Load(), answered.Load())
		}
		check.OK(t, Drain(patient(t), client))
	}
}

func TestARequestIsASpan(t *testing.T) {
	nc, spans := connect(t), tracingtest.Record(t)
	serveWith(t, Config{Traces: spans.Provider}, nc, func(ctx context.Context, _ identity.Caller, _ []byte) ([]byte, error) {
		_, span := telemetry.StartSpan(ctx, "work")
		span.End()
		return nil, errors.New("a secret")
	})
	_, root := spans.Root(t.Context())
	of := root.SpanContext()
	ask(t, nc, nil, "traceparent", "00-"+of.TraceID().String()+"-"+of.SpanID().String()+"-01")
	root.End()
	if got := spans.Within(trace.NewSpanContext(trace.SpanContextConfig{TraceID: of.TraceID(), SpanID: of.SpanID()})); got != "answer toolstream.test [work]" {
		t.Errorf("got %s", got)
	}
	if text := spans.Text(); strings.Contains(text, "secret") {
		t.Errorf("the spans say:\n%s", text)
	}
}

// Who asks is what stands behind the subject, and nothing else.
func TestTheSubjectNamesTheCaller(t *testing.T) {
	nc := connect(t)
	serve(t, nc, func(ctx context.Context, caller identity.Caller, _ []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s %s %t", caller, caller.Role, reflect.DeepEqual(identity.From(ctx), caller)), nil
	})
	for name, want := range map[string]string{
		"acme": "acme reader true", "acme.ann": "acme/ann reader true", "acme.ann.x": "", "Acme": "", "acme.-": "", "acme.*": "", "*": "", "acme.a%2fb": "",
	} {
		answer := check.Value(nc.Request(subject+"."+name, nil, patience))(t)
		if status, detail := refusal(t, answer); want == "" && status != 422 || want != "" && string(answer.Data) != want {
			t.Errorf("%s: %s, status %d %s", name, answer.Data, status, detail)
		}
	}
	if _, err := nc.Request(subject, nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody: %v", err)
	}
}

func TestARequestOverALimitIsRefused(t *testing.T) {
	nc := connect(t)
	counted := make(chan string, 2)
	serveWith(t, Config{Admit: func(ctx context.Context, bytes int) (int, error) {
		counted <- fmt.Sprint(identity.From(ctx), " ", bytes)
		if bytes > 3 {
			return 7, errors.New("over the limit")
		}
		return 0, nil
	}}, nc, echo)
	if answer, _, _ := ask(t, nc, []byte("abc")); answer != "default: abc" {
		t.Error(answer)
	}
	msg := check.Value(nc.Request(asked, []byte("abcd"), patience))(t)
	if status, detail := refusal(t, msg); status != 429 || detail != "over the limit" || msg.Header.Get("Retry-After") != "7" {
		t.Errorf("status %d, %s: %v", status, detail, msg.Header)
	}
	if first, second := <-counted, <-counted; first != "default 3" || second != "default 4" {
		t.Errorf("counted %q, then %q", first, second)
	}
}

func TestHostileRequestsAreAnswered(t *testing.T) {
	s := startServer(t, server.Options{MaxPayload: 16 << 20})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	serve(t, nc, func(_ context.Context, caller identity.Caller, request []byte) ([]byte, error) {
		switch string(request) {
		case "panic":
			panic("on purpose")
		case "large":
			return make([]byte, 16<<20+1), nil
		}
		return []byte(caller.String()), nil
	})
	for name, tt := range map[string]struct {
		header []string
		data   []byte
		status int
		says   string
	}{
		"no headers":                    {nil, nil, 0, "default"},
		"a tenant in the headers":       {[]string{"toolstream-tenant", "acme"}, nil, 0, "default"},
		"10 MB":                         {nil, make([]byte, 10<<20), 413, "10485760 bytes"},
		"an answer beyond max_payload":  {nil, []byte("large"), 413, "16777217 bytes"},
		"a panic":                       {nil, []byte("panic"), 500, ""},
		"a time that is not a number":   {[]string{HeaderTimeout, "soon"}, nil, 422, ""},
		"no time":                       {[]string{HeaderTimeout, "-5"}, nil, 504, ""},
		"all the time":                  {[]string{HeaderTimeout, "9223372036854775807"}, nil, 0, "default"},
		"a trace that cannot be parsed": {[]string{"traceparent", "00-zz"}, nil, 0, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, status, detail := ask(t, nc, tt.data, tt.header...)
			if status != tt.status || !strings.Contains(answer+detail, tt.says) {
				t.Errorf("status %d, %q; want %d %s", status, answer, tt.status, tt.says)
			}
		})
	}
	check.OK(t, nc.Publish(asked, []byte("no answer is wanted")))
	if answer, _, _ := ask(t, nc, nil); answer != "default" {
		t.Errorf("after all that: %q", answer)
	}
}
