package httpserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// guarded is a server whose tokens nobody has. It counts the requests that get past them.
func guarded(t *testing.T) (h http.Handler, passed *int) {
	t.Helper()
	passed = new(int)
	mux := NewMux()
	mux.HandleFunc("POST /v1/things", func(http.ResponseWriter, *http.Request) { *passed++ })
	mux.HandleFunc("GET /open", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<script>") })
	mux.HandleFunc("GET /fails", func(http.ResponseWriter, *http.Request) { panic("it fails") })
	file, _ := tokensFor(t, identity.Caller{Tenant: "a", Role: identity.Reader})
	return handler(mux, Config{Credentials: Credentials{Tokens: opened(t, file)}}), passed
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	h, _ := guarded(t)
	for _, tc := range []struct {
		method, path, proto string
		status              int
		cache, secure       string
	}{
		{"GET", "/open", "", 200, "", ""},
		{"GET", "/nothing", "", 404, "", ""},
		{"GET", "/fails", "", 500, "", ""},
		{"POST", "/v1/things", "", 401, "no-store", ""},
		{"POST", "/v1/things", "https", 401, "no-store", "max-age=31536000"},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
		r.Header.Set("X-Forwarded-Proto", tc.proto)
		h.ServeHTTP(rec, r)
		got := rec.Header()
		if rec.Code != tc.status || got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Referrer-Policy") != "no-referrer" ||
			!strings.Contains(got.Get("Content-Security-Policy"), "frame-ancestors 'none'") || got.Get("Server") != "" ||
			got.Get("Cache-Control") != tc.cache || got.Get("Strict-Transport-Security") != tc.secure {
			t.Errorf("%s %s: %d %v", tc.method, tc.path, rec.Code, got)
		}
	}
}

func TestAForwardedAnswerIsGuardedOnce(t *testing.T) {
	h, _ := guarded(t)
	peer := httptest.NewServer(h)
	defer peer.Close()
	rec := httptest.NewRecorder()
	guardAnswers(forwarding(t, peer.URL)).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/things", nil))
	for _, name := range []string{"X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy", "Cache-Control"} {
		if got := rec.Header().Values(name); rec.Code != 401 || len(got) != 1 {
			t.Errorf("%d %s: %q", rec.Code, name, got)
		}
	}
}

// countingListener counts what is read of its connections.
type countingListener struct {
	net.Listener
	read atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countingConn{conn, &l.read}, err
}

type countingConn struct {
	net.Conn
	read *atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Nobody has to be known for a limit of what is read of a stranger.
func TestAnUnauthenticatedRequestIsReadWithinLimits(t *testing.T) {
	h, passed := guarded(t)
	for _, tc := range []struct {
		name, head, more string // more is sent until the server ends the connection
		most             int64  // bytes that it reads
		status           int
	}{
		{"a header", "POST /v1/things HTTP/1.1\r\nHost: a\r\n", "A: " + strings.Repeat("b", 1000) + "\r\n", 2 * maxHeader, 431},
		{"a body", "POST /v1/things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" + strings.Repeat("b", 0x10000) + "\r\n", drainLimit + 1<<20, 401},
	} {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		check.OK(t, err)
		listener := &countingListener{Listener: inner}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, listener, nil, h, nil, quiet, prometheus.NewRegistry()) }()
		conn := check.Value(net.Dial("tcp", inner.Addr().String()))(t)
		answered := make(chan int, 1)
		go func() {
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				answered <- 0
				return
			}
			res.Body.Close()
			answered <- res.StatusCode
		}()
		for _, err = io.WriteString(conn, tc.head); err == nil; {
			_, err = io.WriteString(conn, tc.more)
		}
		if status := <-answered; status != tc.status || *passed != 0 {
			t.Errorf("%s: %d, %d requests passed", tc.name, status, *passed)
		}
		conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := listener.read.Load(); n > tc.most {
			t.Errorf("%s: %d bytes are read of a stranger", tc.name, n)
		}
	}
}
