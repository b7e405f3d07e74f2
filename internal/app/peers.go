package app

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/tracing"
)

// passOn hands the operations of a service that runs elsewhere to its address,
// so that a client which knows one service reaches all of them.
func passOn(mux *http.ServeMux, name, address string, propagator propagation.TextMapPropagator, routes func(huma.API)) error {
	peer, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("peers.%s: %w", name, err)
	}
	described, _ := newAPI("")
	routes(described)
	paths := described.OpenAPI().Paths
	proxy := toPeer(name, peer, propagator)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method, op := range operations(paths[path]) {
			if op != nil {
				mux.Handle(method+" "+path, proxy)
			}
		}
	}
	return nil
}

func operations(item *huma.PathItem) map[string]*huma.Operation {
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post,
		http.MethodDelete: item.Delete, http.MethodOptions: item.Options,
	}
}

// smallBody is the most that is held of a request so that it can be sent again.
const smallBody = 64 << 10

// toPeer passes requests on, bodies and answers as they flow: an import may take
// minutes, line by line.
//
// A connection that is kept may be closed by the peer at the moment that it is
// used again, and then the body breaks off. So what can be sent again is read
// whole and goes over connections that are kept, and is sent again over another if
// one breaks; everything else has a connection of its own.
func toPeer(name string, peer *url.URL, propagator propagation.TextMapPropagator) http.Handler {
	fresh := http.DefaultTransport.(*http.Transport).Clone()
	fresh.DisableKeepAlives = true
	kept := http.DefaultTransport.(*http.Transport).Clone()
	kept.MaxIdleConnsPerHost = kept.MaxIdleConns
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(peer)
			r.SetXForwarded()
			propagator.Inject(r.Out.Context(), propagation.HeaderCarrier(r.Out.Header))
		},
		Transport:     byRepeating{kept, fresh},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("%s does not answer: %v", name, err))
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if harmless(r) {
			if err := hold(r); err != nil {
				writeProblem(w, http.StatusBadRequest, fmt.Sprintf("the body breaks off: %v", err))
				return
			}
		} else {
			// The server must not end a body because its answer begins: the peer may
			// have answered while the proxy still looks for the body's end, and would
			// lose the connection, and the answer with it. Where it is not supported,
			// as in HTTP/2, it is so anyway.
			_ = http.NewResponseController(w).EnableFullDuplex()
		}
		ctx, span := tracing.Ask(r.Context(), "pass on to "+name)
		defer span.End()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	})
}

// harmless reports whether a small request does no more if it is done twice:
// searches, questions, feedback, of which a repetition counts once, and documents,
// of which a repetition is no change.
func harmless(r *http.Request) bool {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut:
		return true
	case http.MethodPost:
		return slices.Contains([]string{"/v1/search", "/v1/feedback", "/v1/tools:states"}, r.URL.Path)
	}
	return false
}

// hold reads a body so that it can be sent as often as needed.
func hold(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return err
}

// byRepeating sends what can be sent again over connections that are kept.
type byRepeating struct{ kept, fresh http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b byRepeating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody == nil {
		return b.fresh.RoundTrip(r)
	}
	answer, err := b.kept.RoundTrip(r)
	if err == nil || r.Context().Err() != nil {
		return answer, err
	}
	again := r.Clone(r.Context())
	if again.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return b.fresh.RoundTrip(again)
}
