package httpserver

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/testing/check"
)

var quiet = slog.New(slog.DiscardHandler)

// handler is Handler with a silent log and metrics of its own.
func handler(mux *Mux, c Config) http.Handler {
	c.Logger, c.Registerer = quiet, prometheus.NewRegistry()
	return Handler(mux, c)
}

// served returns the answer to a request.
func served(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// bearing returns a request with a token, or without a credential if the token is empty.
func bearing(token, method, target string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// forwarding returns a handler that passes requests on to the peer query.
func forwarding(t *testing.T, peer string) http.Handler {
	t.Helper()
	address := check.Value(url.Parse(peer))(t)
	return toPeer("query", address, http.DefaultTransport.(*http.Transport), propagation.TraceContext{})
}
