package httpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// pipes is a listener whose connections have no buffers, within a bubble of time.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newPipes() *pipes {
	closed, cancel := context.WithCancel(context.Background())
	return &pipes{make(chan net.Conn), closed, cancel}
}

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestAClientThatDoesNotReadLosesItsConnection: in about a minute, whatever is answered. A client
// that reads slowly gets all.
func TestAClientThatDoesNotReadLosesItsConnection(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		every time.Duration // the client reads part bytes; 0: never
		part  int64
		whole bool
	}{
		"reads nothing":          {},
		"reads slowly":           {45 * time.Second, 64 << 10, true},
		"reads a byte at a time": {45 * time.Second, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failed error
				var took time.Duration
				ended := make(chan struct{})
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					begin := time.Now()
					_, failed = w.Write(make([]byte, size))
					took = time.Since(begin)
				})
				ctx, stop := context.WithCancel(t.Context())
				l, served := newPipes(), make(chan error, 1)
				go func() { served <- Serve(ctx, l, nil, h, nil, quiet, prometheus.NewRegistry()) }()
				client := l.dial()
				_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				check.OK(t, err)
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					for err := error(nil); c.every > 0 && err == nil; {
						time.Sleep(c.every)
						_, err = io.CopyN(io.Discard, client, c.part)
					}
				}()
				<-ended
				if c.whole {
					check.OK(t, failed)
				} else if !errors.Is(failed, os.ErrDeadlineExceeded) || took > 5*time.Minute {
					t.Errorf("after %v: %v", took, failed)
				}
				check.OK(t, client.Close())
				stop()
				check.OK(t, <-served)
				<-gone
			})
		})
	}
}

// A client by HTTP/2 that shuts the window of one answer loses the answer, not the connection.
func TestAShutStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, failed := make(chan struct{}), make(chan error, 1)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/small" {
				_, _ = io.WriteString(w, r.Proto)
				return
			}
			close(began)
			_, err := w.Write(make([]byte, 16<<20))
			failed <- err
		})
		ctx, stop := context.WithCancel(t.Context())
		l, served := newPipes(), make(chan error, 1)
		server := &http.Protocols{}
		server.SetUnencryptedHTTP2(true)
		go func() { served <- serveProtocols(ctx, l, server, limitStreams(h)) }()
		transport := &http.Transport{Protocols: server, DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(), nil }}
		client := &http.Client{Transport: transport}
		shut := check.Value(client.Get("http://x/large"))(t)
		<-began
		if err := <-failed; err == nil {
			t.Error("an answer that nobody reads was written")
		}
		resp := check.Value(client.Get("http://x/small"))(t)
		text := check.Value(bufio.NewReader(resp.Body).ReadString('0'))(t)
		if text != "HTTP/2.0" {
			t.Error(text)
		}
		check.OK(t, resp.Body.Close())
		_ = shut.Body.Close()
		transport.CloseIdleConnections()
		stop()
		<-served
	})
}

// serveProtocols serves by HTTP/2 without TLS.
func serveProtocols(ctx context.Context, l net.Listener, p *http.Protocols, h http.Handler) error {
	server := &http.Server{Handler: h, Protocols: p}
	go func() { <-ctx.Done(); _ = server.Close() }()
	return server.Serve(l)
}
