package httpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// MCPPath is the path of the MCP endpoint.
const MCPPath = "/mcp"

// MCPResource returns the resource that MCP clients name to an identity provider if tokens for the
// whole API are for another resource: the address of MCPPath (MCP, authorization, canonical server
// URI).
func MCPResource(resource string) string { return strings.TrimSuffix(resource, "/") + MCPPath }

// inside returns a transport to the API for requests of an authenticated caller, given in the
// request's context. Limits and the audit log apply; the caller's own request is already counted.
//
// It recovers panics of the API as everywhere: a request may run on a goroutine of its own, and a
// panic there would end the process.
func inside(mux *Mux, c Config, panics prometheus.Counter) http.RoundTripper {
	var handler http.Handler = mux.ServeMux
	for _, wrap := range []func(http.Handler) http.Handler{ // from the innermost to the outermost
		c.Limiter.wrap,
		func(h http.Handler) http.Handler { return refuseClosed(c.Closed, h) },
		func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, as(r, identity.From(r.Context())))
			})
		},
		func(h http.Handler) http.Handler { return recoverPanics(panics, c.Logger, h) },
		func(h http.Handler) http.Handler { return recordRequests(c.Audit, c.AuditShare, mux.ServeMux, h) },
	} {
		handler = wrap(handler)
	}
	return handlerTransport{handler}
}

type insideKey struct{}

// fromOutside reports whether a tenant sent the request.
func fromOutside(r *http.Request) bool {
	return ofTenant(r) && r.Context().Value(insideKey{}) == nil
}

// handlerTransport sends requests to a handler of this process.
type handlerTransport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t handlerTransport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		switch reason := recover(); reason {
		case nil:
		case http.ErrAbortHandler: // how a handler cuts its answer off
			resp, err = nil, io.ErrUnexpectedEOF
		default:
			panic(reason)
		}
	}()
	in := r.Clone(context.WithValue(r.Context(), insideKey{}, true))
	if in.RequestURI = in.URL.RequestURI(); in.Body == nil {
		in.Body = http.NoBody
	}
	answer := &buffered{header: http.Header{}, code: http.StatusOK}
	t.handler.ServeHTTP(answer, in)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", answer.code, http.StatusText(answer.code)), StatusCode: answer.code, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: answer.header, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()), Request: r,
	}, nil
}

// buffered keeps an answer.
type buffered struct {
	header http.Header
	code   int
	sent   bool
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *buffered) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(code int) {
	if !b.sent && code >= http.StatusOK {
		b.code, b.sent = code, true
	}
}

// Write implements http.ResponseWriter.
func (b *buffered) Write(p []byte) (int, error) {
	b.sent = true
	return b.body.Write(p)
}
