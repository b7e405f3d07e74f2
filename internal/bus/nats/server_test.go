package nats

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// patience bounds what a test waits for on a busy machine.
const patience = 2 * time.Minute

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// startServer starts a server in process on a free port of loopback.
func startServer(t *testing.T, opts server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.NoSigs, opts.NoLog = "127.0.0.1", true, true
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	s := check.Value(server.NewServer(&opts))(t)
	s.Start()
	t.Cleanup(func() { stopServer(s) })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	return s
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func withStore(t *testing.T) server.Options {
	return server.Options{JetStream: true, StoreDir: t.TempDir(), SyncAlways: true}
}

// dial returns a connection that the test's end closes.
func dial(t *testing.T, cfg ConnectConfig) *nats.Conn {
	t.Helper()
	nc := begin(t, cfg)
	awaitConnected(t, nc)
	return nc
}

// begin returns a connection that may not be up yet.
func begin(t *testing.T, cfg ConnectConfig) *nats.Conn {
	t.Helper()
	nc := check.Value(Connect(cfg, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(nc.Close)
	return nc
}

// gate is a way to a server that a test can close.
type gate struct {
	listener net.Listener
	server   string
	arrivals chan struct{} // one for each connection that was let pass, as far as it holds
	work     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	shut  bool
	conns []net.Conn
}

func newGate(t *testing.T, serverAddr string) *gate {
	t.Helper()
	l := check.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	g := &gate{listener: l, server: serverAddr, arrivals: make(chan struct{}, 1)}
	g.work.Go(g.accept)
	t.Cleanup(func() {
		l.Close()
		g.close()
		g.work.Wait()
	})
	return g
}

func (g *gate) url() string { return "nats://" + g.listener.Addr().String() }

func (g *gate) accept() {
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", g.server)
		if err != nil || !g.enter(c, up) {
			c.Close()
			if up != nil {
				up.Close()
			}
			continue
		}
		select {
		case g.arrivals <- struct{}{}:
		default:
		}
		g.work.Go(func() { pass(c, up) })
		g.work.Go(func() { pass(up, c) })
	}
}

func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
	from.Close()
}

func (g *gate) enter(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.conns = append(g.conns, conns...)
	return true
}

// close ends what passes, and lets nothing pass until open.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// cut closes the gate and waits until the connection is lost.
func (g *gate) cut(t *testing.T, nc *nats.Conn) {
	t.Helper()
	lost := nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED)
	defer nc.RemoveStatusListener(lost)
	g.close()
	receive(t, lost)
}

// mend opens the gate and waits until the connection is back.
func (g *gate) mend(t *testing.T, nc *nats.Conn) {
	t.Helper()
	back := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(back)
	g.open()
	receive(t, back)
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	panic("not reached")
}
