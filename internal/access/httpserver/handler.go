package httpserver

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Config defines who may call, and how requests are traced, counted and logged.
type Config struct {
	Credentials Credentials
	Issuer      string   // the provider, to callers
	Resource    string   // what its tokens are for, an address if callers are to learn of the provider
	Hosts       string   // host names for a server on loopback without tokens, separated by commas
	Loopback    bool     // only this machine reaches the server
	Limiter     *Limiter // nil: no limits

	InFlight *inflight.Budget // nil: content under way has no limit

	Proxies Proxies // that name the clients of their requests

	Audit      AuditLog                 // may be nil
	AuditShare float64                  // of reads that are recorded, 0 to 1
	Closed     func(tenant string) bool // true if requests of the tenant are refused for the moment; nil: never

	Console Console // nil: no console

	// MCP makes the handler of MCPPath, which asks the API on behalf of its callers; nil: no such
	// path.
	MCP func(api http.RoundTripper) http.Handler

	Traces     *telemetry.Traces // may be nil
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Handler returns the mux within the middleware.
func Handler(mux *Mux, c Config) http.Handler {
	known := credentials{Credentials: c.Credentials, metadata: describeResource(mux, c.Resource, c.Issuer), log: c.Logger}
	anybody := known.none() && c.Loopback
	panics := telemetry.Metrics(c.Registerer).NewCounter("toolstream_http_panics_total",
		"Requests whose handler panicked (500); the log has the stack.")
	handler := describeNotFound(mux.ServeMux)
	if c.MCP != nil {
		known.ofMCP = describeResource(mux, MCPResource(c.Resource), c.Issuer)
		mux.Handle(MCPPath, c.MCP(inside(mux, c, panics)))
	}
	c.Console.serve(mux)
	for _, wrap := range []func(http.Handler) http.Handler{ // from the innermost to the outermost
		func(h http.Handler) http.Handler { return holdMemory(c.InFlight, h) },
		c.Limiter.wrap,
		func(h http.Handler) http.Handler { return refuseClosed(c.Closed, h) },
		func(h http.Handler) http.Handler { return authenticate(known, h) },
		func(h http.Handler) http.Handler { return shareRegistry(!anybody, h) },
		refuseCrossOrigin,
		func(h http.Handler) http.Handler { return refuseForeignHosts(anybody, c.Hosts, h) },
		func(h http.Handler) http.Handler { return recoverPanics(panics, c.Logger, h) },
		func(h http.Handler) http.Handler { return recordRequests(c.Audit, c.AuditShare, mux.ServeMux, h) },
		func(h http.Handler) http.Handler { return trace(c.Traces, mux.ServeMux, h) },
		guardAnswers,
		limitBody,
		limitStreams,
		func(h http.Handler) http.Handler { return locate(c.Proxies, h) },
	} {
		handler = wrap(handler)
	}
	return handler
}

// holdMemory gives a request a Hold of its tenant, for its body and other content that its handler
// reads, until its answer is sent.
func holdMemory(b *inflight.Budget, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hold := b.Open(identity.From(r.Context()).Tenant)
		defer hold.Close()
		r = r.WithContext(inflight.With(r.Context(), hold))
		if r.URL.Path == MCPPath {
			r.Body = inflight.Decoded(r.Context(), r.Body)
		}
		next.ServeHTTP(w, r)
	})
}

// refuseClosed refuses every request about a tenant that is being erased, except for its status.
func refuseClosed(closed func(tenant string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if closed != nil && closed(identity.From(r.Context()).Tenant) && !strings.HasPrefix(r.URL.Path, "/v1/tenants") && strings.HasPrefix(r.URL.Path, "/v") {
			WriteProblem(w, http.StatusServiceUnavailable, "the tenant is being erased: it may begin anew in a moment")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// describeNotFound answers unknown paths and methods as RFC 9457 instead of in the
// mux's plain text.
func describeNotFound(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		answer := silent{&statusWriter{ResponseWriter: w}}
		mux.ServeHTTP(answer, r) // also answers which methods are allowed
		detail := fmt.Sprintf("there is no %s %s; the API is at /openapi.json", r.Method, r.URL.EscapedPath())
		if strings.HasPrefix(r.URL.Path, "/v1/") && strings.Count(r.URL.EscapedPath(), "/") > 3 {
			detail += "; a slash in an id is sent as %2F"
		}
		WriteProblem(w, answer.code, detail)
	})
}

// silent keeps the status of an answer and drops the answer.
type silent struct{ *statusWriter }

func (s silent) WriteHeader(code int) { s.code = code }

func (s silent) Write(p []byte) (int, error) { return len(p), nil }

// recoverPanics answers 500 if a handler panics, instead of dropping the connection. If part of
// the answer is already sent, the connection has to end.
func recoverPanics(panics prometheus.Counter, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &statusWriter{ResponseWriter: w}
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if reason == http.ErrAbortHandler { // how a handler ends a connection on purpose
				panic(reason)
			}
			panics.Inc()
			log.ErrorContext(r.Context(), "a request made its handler panic", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			if answer.code != 0 {
				panic(http.ErrAbortHandler)
			}
			WriteProblem(answer, http.StatusInternalServerError, "the request made the server fail; the server's log says where")
		}()
		next.ServeHTTP(answer, r)
	})
}

// statusWriter remembers the status of an answer, 0 until it is sent.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *statusWriter) WriteHeader(code int) {
	if code >= http.StatusOK { // others precede the answer
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (s *statusWriter) Write(p []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
