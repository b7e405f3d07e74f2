package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestAPanicIsAnsweredCountedAndLogged(t *testing.T) {
	mux := NewMux()
	mux.HandleFunc("/v1/before", func(http.ResponseWriter, *http.Request) { panic("no content type") })
	mux.HandleFunc("/v1/during", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half an ans")
		_ = http.NewResponseController(w).Flush()
		panic("no content type")
	})
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	server := httptest.NewServer(Handler(mux, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: reg}))
	defer server.Close()
	res := check.Value(http.Get(server.URL + "/v1/before"))(t)
	defer res.Body.Close()
	var p huma.ErrorModel
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 500 || p.Status != 500 || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%v: %s %v", err, res.Status, p)
	}
	res = check.Value(http.Get(server.URL + "/v1/during"))(t)
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("an answer that broke off looks whole: %q", got)
	}
	server.Close() // the log is whole
	families, err := reg.Gather()
	at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "toolstream_http_panics_total" })
	if err != nil || at < 0 {
		t.Fatalf("%v %v", families, err)
	}
	if n := families[at].GetMetric()[0].GetCounter().GetValue(); n != 2 || strings.Count(log.String(), "handler_test.go") < 2 || strings.Count(log.String(), "panic=") != 2 {
		t.Errorf("%v panics counted, log %s", n, &log)
	}
}

// queries is an API with one operation.
func queries(t *testing.T) *httptest.Server {
	t.Helper()
	api, mux := NewAPI("test")
	huma.Register(api, huma.Operation{OperationID: "search", Security: identity.ProvenOtherwise(), Method: "POST", Path: "/search"}, func(context.Context, *struct {
		Body struct {
			Query string `json:"query"`
		}
	}) (*struct{}, error) {
		return nil, nil
	})
	server := httptest.NewServer(limitBody(mux))
	t.Cleanup(server.Close)
	return server
}

func TestABrokenBodyIsTheClientsError(t *testing.T) {
	conn := check.Value(net.Dial("tcp", queries(t).Listener.Addr().String()))(t)
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
	res := check.Value(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer res.Body.Close()
	var p huma.ErrorModel
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 400 || p.Status != 400 {
		t.Errorf("%v: %s %v", err, res.Status, p)
	}
}

// A client without a token that trickles a body, or sends none of it, does not hold its
// connection for ever.
func TestASlowBodyEnds(t *testing.T) {
	for _, tc := range []struct {
		name string
		byte time.Duration // between two bytes of the body
		most time.Duration
	}{
		{"silent", time.Hour, bodyPause + time.Second},
		{"trickles", time.Second, bodyGrace + time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mux := NewMux()
				read := make(chan error, 1)
				mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
					_, err := io.ReadAll(r.Body)
					read <- err
				})
				client, server := net.Pipe()
				listener := &oneConnection{conn: server, closed: make(chan struct{})}
				httpServer := &http.Server{Handler: limitBody(mux)}
				go httpServer.Serve(listener)
				go io.Copy(io.Discard, client)
				_, _ = io.WriteString(client, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
				begin := time.Now()
				go func() {
					for tick := time.NewTicker(tc.byte); ; {
						select {
						case <-tick.C:
						case <-t.Context().Done():
							return
						}
						if _, err := io.WriteString(client, "x"); err != nil {
							return
						}
					}
				}()
				if err := <-read; err == nil || time.Since(begin) > tc.most {
					t.Errorf("%v after %s", err, time.Since(begin))
				}
				client.Close()
				httpServer.Close()
			})
		})
	}
}

// oneConnection is a listener with a connection that is there already.
type oneConnection struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConnection) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConnection) Close() error { close(l.closed); return nil }

func (l *oneConnection) Addr() net.Addr { return &net.TCPAddr{} }
