package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// newAPI returns the HTTP API that the services add their operations to, and
// the mux behind it.
func newAPI(version string) (huma.API, *http.ServeMux) {
	mux := http.NewServeMux()
	conf := huma.DefaultConfig("toolstream", version)
	conf.Info.Description = "The streaming index that finds the right tool for an agent among thousands."
	strict := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshalStrictly}
	conf.Formats = map[string]huma.Format{
		"application/json":                  strict,
		"json":                              strict, // of +json
		"application/x-www-form-urlencoded": strict, // what curl -d says of a body that it was told nothing about
	}
	conf.Transformers = append(conf.Transformers, cutRefusedValues)
	conf.DocsPath = ""     // the page would load a script from elsewhere
	conf.CreateHooks = nil // no $schema member in every answer
	conf.OnAddOperation = append(conf.OnAddOperation, refuseUnknownParameters)
	return humago.New(mux, conf), mux
}

// bodyLimits leaves the size of a body to its operation.
var bodyLimits = jsondoc.Limits{Bytes: math.MaxInt}

// unmarshalStrictly refuses what the standard decoder would mend or overlook,
// invalid UTF-8 and repeated keys, and names the place.
func unmarshalStrictly(data []byte, v any) error {
	if _, err := jsondoc.Decode(data, bodyLimits); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// maxEchoed is how many bytes of a refused text an error sends back unchanged.
const maxEchoed = 200

// cutRefusedValues keeps an error from sending back all of a large value.
func cutRefusedValues(_ huma.Context, _ string, answer any) (any, error) {
	problem, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	for _, detail := range problem.Errors {
		switch v := detail.Value.(type) {
		case string:
			if len(v) > maxEchoed {
				detail.Value = schema.Quote(v)
			}
		case map[string]any, []any:
			detail.Value = schema.Quote(v)
		}
	}
	return answer, nil
}

// refuseUnknownParameters lets a mistyped parameter fail by its name instead of
// going unheard. Senders of events have parameters of their own in the address
// that they were given.
func refuseUnknownParameters(_ *huma.OpenAPI, op *huma.Operation) {
	op.RejectUnknownQueryParameters = op.OperationID != "post-events"
}

// addHealth serves liveness, readiness and metrics, of which readiness is one. A
// process that drains or still catches up is alive and not ready.
func addHealth(mux *http.ServeMux, ready func() error, reg prometheus.Registerer, metrics prometheus.Gatherer) error {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			writeProblem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return reg.Register(readiness(ready))
}

// writeProblem writes an RFC 9457 answer.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	// The status line is out: a failed write here is the client's going away.
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail})
}

// sameOrigin refuses what a page of another site makes a browser send: without
// it, any page could write to a server on its reader's own machine, which asks
// for no credential. Callers that are no browsers send no origin and pass.
func sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusForbidden, "a page of another origin may not write here")
	}))
	return p.Handler(next)
}

// calledByName refuses requests to a name that anybody may own, but for those in hosts,
// separated by commas: a page can have its own name resolve to its reader's machine (DNS
// rebinding), and is of the same origin as what answers there then. It is for servers that
// only the machine itself reaches and that ask for no credential.
func calledByName(hosts string, next http.Handler) http.Handler {
	own := map[string]bool{}
	for _, host := range strings.Split(hosts, ",") {
		own[strings.ToLower(strings.TrimSpace(host))] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := hostName(r.Host); !private(name) && !own[name] {
			writeProblem(w, http.StatusMisdirectedRequest,
				"this server is on loopback and has no tokens: it does not answer to the name "+schema.Quote(name)+"; add it to auth.hosts, or set auth.tokens_file")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName returns the name in a Host header, without the port and the root's dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// private reports whether nobody can own the name on the internet: an address, a name
// without a dot, or one of a domain that is kept for private use (RFC 6761, 6762, 8375 and
// ICANN's .internal).
func private(name string) bool {
	if net.ParseIP(strings.Trim(name, "[]")) != nil || !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range []string{".localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix(name, domain) {
			return true
		}
	}
	return false
}

// The server's time limits. There is none on reading or writing a whole body:
// an import streams for as long as it takes, bounded by its size.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 10 * time.Second
	maxHeader     = 64 << 10
)

// named answers what no route matches as every other error, RFC 9457, instead
// of the mux's plain text.
func named(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		status := statusOnly{ResponseWriter: w}
		mux.ServeHTTP(&status, r) // also says which methods are allowed
		writeProblem(w, status.code, fmt.Sprintf("there is no %s %s; the API is at /openapi.json", r.Method, r.URL.EscapedPath()))
	})
}

// statusOnly keeps the status of an answer and drops its body.
type statusOnly struct {
	http.ResponseWriter
	code int
}

func (s *statusOnly) WriteHeader(code int) { s.code = code }

func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }

// drainLimit bounds what is read of a body that nobody wanted.
const drainLimit = 64 << 20

// drained reads what next has left of a request's body before the answer goes
// out. A client that sends everything before it looks at the answer would
// otherwise see a reset connection in place of the reason. Next may close the body,
// as huma does of one that is too large: that is for the server to do.
func drained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		r.Body = io.NopCloser(body)
		next.ServeHTTP(w, r)
		_, _ = io.CopyN(io.Discard, body, drainLimit) // whatever ends it, the answer stands
	})
}

// serveHTTP answers on the listener until ctx ends, then lets the requests
// under way finish.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           drained(handler),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	if err != nil {
		return fmt.Errorf("http: stop: %w", err)
	}
	return nil
}
