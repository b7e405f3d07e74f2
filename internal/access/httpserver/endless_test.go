package httpserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// serving serves a handler until stop, and returns what Serve does.
func serving(t *testing.T, h http.Handler) (url string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	listener := check.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, nil, h, nil, quiet, prometheus.NewRegistry()) }()
	t.Cleanup(cancel)
	return "http://" + listener.Addr().String(), cancel, ended
}

// endlessRoutes add an operation whose answer goes on until the server is to stop.
func endlessRoutes(api huma.API) {
	huma.Register(api, huma.Operation{OperationID: "listen", Method: http.MethodGet, Path: "/v1/listen", Security: identity.Needs(identity.Reader)},
		func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				hc.SetHeader("Content-Type", EventStream)
				w := hc.BodyWriter().(http.ResponseWriter)
				_, _ = io.WriteString(w, "data: 1\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-Stopping(ctx):
				case <-ctx.Done():
				}
			}}, nil
		})
}

// An answer without an end comes piece by piece through everything around the operations, of
// this server and of one before it, counts as one request, and ends whole when either is to
// stop: what its client reads ends without an error.
func TestAnAnswerWithoutAnEndEndsWithItsServer(t *testing.T) {
	for name, passedOn := range map[string]bool{"its own": false, "a peer's": true} {
		t.Run(name, func(t *testing.T) {
			log := &auditLog{}
			config := func() Config {
				return Config{
					Audit: log, AuditShare: 1, Logger: quiet, Registerer: prometheus.NewRegistry(),
					Limiter: NewLimiter(Limits{Requests: all(2)}, prometheus.NewRegistry()),
				}
			}
			api, mux := NewAPI("")
			endlessRoutes(api)
			address, stop, ended := serving(t, Handler(mux, config()))
			if passedOn {
				_, front := NewAPI("")
				check.OK(t, Forward(front, "query", address, http.DefaultTransport.(*http.Transport).Clone(), propagation.TraceContext{}, endlessRoutes))
				address, stop, ended = serving(t, Handler(front, config()))
			}
			resp := check.Value(http.Get(address + "/v1/listen"))(t)
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			if line, err := body.ReadString('\n'); err != nil || line != "data: 1\n" || !strings.Contains(resp.Header.Get(limitField), "r=1") {
				t.Fatalf("%q %v %v", line, err, resp.Header)
			}
			stop()
			if rest, err := io.ReadAll(body); err != nil || string(rest) != "\n" {
				t.Errorf("it was cut off: %q %v", rest, err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if len(log.said) != 1 || log.said[0] != "sample listen" { // the peer's, where it is one
				t.Errorf("the audit log says %q", log.said)
			}
		})
	}
}

// By HTTP/2 as well.
func TestAnAnswerWithoutAnEndComesByHTTP2(t *testing.T) {
	api, mux := NewAPI("")
	endlessRoutes(api)
	server := httptest.NewUnstartedServer(handler(mux, Config{}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := check.Value(http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/listen", nil))(t)
	resp := check.Value(server.Client().Do(r))(t)
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "data: 1\n" || resp.ProtoMajor != 2 {
		t.Errorf("%s %q %v", resp.Proto, line, err)
	}
}
