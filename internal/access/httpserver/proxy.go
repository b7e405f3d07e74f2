package httpserver

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Forward forwards the operations of a service of another process to its address, so that a client
// of one service reaches all of them. The transport defines how.
func Forward(mux *Mux, name, address string, transport *http.Transport, propagator propagation.TextMapPropagator, routes func(huma.API)) error {
	peer, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("peers.%s: %w", name, err)
	}
	described, _ := NewAPI("")
	routes(described)
	paths := described.OpenAPI().Paths
	proxy := toPeer(name, peer, transport, propagator)
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

// smallBody is the longest body that is buffered so that it can be sent again.
const smallBody = 64 << 10

// toPeer forwards requests, bodies and answers as they flow: an import may take
// minutes, line by line.
//
// The peer may close an idle connection at the moment that it is used again, and the
// body breaks off then. So a repeatable request is buffered, goes over an idle
// connection, and is sent again over a new one if that breaks. Every other request has a
// connection of its own.
func toPeer(name string, peer *url.URL, transport *http.Transport, propagator propagation.TextMapPropagator) http.Handler {
	fresh := transport.Clone()
	fresh.DisableKeepAlives = true
	kept := transport.Clone()
	kept.MaxIdleConnsPerHost = kept.MaxIdleConns
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(peer)
			r.SetXForwarded()
			if client := clientAddress(r.In.Context()); client.IsValid() {
				r.Out.Header.Set("X-Forwarded-For", client.String())
			}
			r.Out.Header.Del("Origin") // judged here: the peer has another name
			r.Out.Header.Del("Cookie") // the credential is now in Authorization, and the refresh token stays here
			passOn(r.Out.Header, r.In.Context())
			keepCredential(r.Out.Header, r.In.Header)
			propagator.Inject(r.Out.Context(), propagation.HeaderCarrier(r.Out.Header))
		},
		Transport:      retryTransport{kept, fresh},
		FlushInterval:  -1,
		ModifyResponse: func(answer *http.Response) error { endWithServer(answer); return dropGuards(answer) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			WriteProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("%s does not answer: %v", name, err))
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r.Context(), func(a *audited) { a.passed = true })
		if repeatable(r) {
			if err := bufferBody(r); err != nil {
				WriteProblem(w, http.StatusBadRequest, fmt.Sprintf("the body breaks off: %v", err))
				return
			}
		} else {
			// The server must not end a body because its answer begins: the peer may
			// have answered while the proxy still looks for the body's end, and would
			// lose the connection, and the answer with it. HTTP/2 needs no such call.
			_ = http.NewResponseController(w).EnableFullDuplex()
		}
		for _, field := range []string{policyField, limitField} { // the peer adds its own
			w.Header().Del(field)
		}
		ctx, span := telemetry.StartClientSpan(r.Context(), "pass on to "+name)
		defer span.End()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	})
}

// EventStream is the media type of an answer that has no end: events follow each other, as
// the HTML standard has them (server-sent events).
const EventStream = "text/event-stream"

// endWithServer ends an endless answer of a peer once this server shuts down.
func endWithServer(answer *http.Response) {
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	stopping := Stopping(answer.Request.Context())
	if media != EventStream || stopping == nil {
		return
	}
	body := &endless{ReadCloser: answer.Body, stopping: stopping, closed: make(chan struct{})}
	answer.Body = body
	go func() {
		select {
		case <-stopping:
			_ = body.ReadCloser.Close() // which ends a read under way
		case <-body.closed:
		}
	}()
}

// endless is the body of an answer that ends only with the server.
type endless struct {
	io.ReadCloser
	stopping <-chan struct{}
	closed   chan struct{}
	once     sync.Once
}

// Read implements io.Reader.
func (b *endless) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	select {
	case <-b.stopping:
		return n, io.EOF
	default:
		return n, err
	}
}

// Close implements io.Closer.
func (b *endless) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

// repeatable reports whether a small request may be sent twice: reads, and feedback,
// which counts once. A document may not: another writer may have changed it in between,
// and the repetition would take that back.
func repeatable(r *http.Request) bool {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		return slices.Contains([]string{"/v1/search", "/v1/feedback", "/v1/tools:states", "/v1/tools:describe"}, r.URL.Path)
	}
	return false
}

// bufferBody reads a body so that it can be sent as often as needed.
func bufferBody(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return err
}

// retryTransport sends repeatable requests over idle connections.
type retryTransport struct{ kept, fresh http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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
