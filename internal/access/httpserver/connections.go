package httpserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Bounds of the connections of a server.
const (
	maxConnections = 4096
	perAddress     = maxConnections / 8 // that have not proven a caller
	reserved       = maxConnections / 8 // for connections that have not proven a caller, such as health probes
)

// connections are the open connections of a server. A new one always gets in: on a full server,
// it takes the place of the oldest unproven connection of its address, or of the address that has
// most. A connection is proven once a request on it has authenticated its caller.
type connections struct {
	proxies Proxies
	closed  *prometheus.CounterVec

	mu       sync.Mutex
	proven   int
	unproven int
	of       map[string]*list.List // unproven connections by address, the oldest first
}

// The reasons to close a connection for another.
const (
	closedOfAddress = "address"
	closedOfAll     = "all"
)

func newConnections(proxies Proxies, reg prometheus.Registerer) *connections {
	return &connections{
		proxies: proxies, of: map[string]*list.List{},
		closed: telemetry.Metrics(reg).NewCounterVec("toolstream_http_connections_closed_total",
			"Connections without an authenticated caller that were closed for a new one: address (it had too many), all (the process had too many).",
			[]string{"reason"}, []string{closedOfAddress, closedOfAll}),
	}
}

// add takes a new connection in, and returns the one to close for it, or nil.
func (t *connections) add(c *conn) (displaced *conn) {
	ip := addressOf(c.RemoteAddr().String())
	c.address, c.all = bucketAddress(ip), t
	trusted := t.proxies.has(ip)
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.of[c.address]; !trusted && own != nil && own.Len() >= perAddress {
		displaced = t.displace(own, closedOfAddress)
	} else if t.proven+t.unproven >= maxConnections {
		var most *list.List
		for _, of := range t.of {
			if most == nil || of.Len() > most.Len() {
				most = of
			}
		}
		displaced = t.displace(most, closedOfAll) // the reserve is never proven
	}
	own := t.of[c.address]
	if own == nil {
		own = list.New()
		t.of[c.address] = own
	}
	c.place = own.PushBack(c)
	t.unproven++
	if trusted {
		t.prove(c)
	}
	return displaced
}

// displace removes the oldest of the unproven connections of an address.
func (t *connections) displace(of *list.List, reason string) *conn {
	c := of.Front().Value.(*conn)
	t.remove(c)
	t.closed.WithLabelValues(reason).Inc()
	return c
}

// prove marks a connection as proven unless only the reserve is left. t.mu is held.
func (t *connections) prove(c *conn) {
	if c.place == nil || t.proven >= maxConnections-reserved {
		return
	}
	t.remove(c)
	c.proven = true
	t.proven++
}

// remove forgets a connection. t.mu is held.
func (t *connections) remove(c *conn) {
	switch own := t.of[c.address]; {
	case c.proven:
		c.proven = false
		t.proven--
	case c.place != nil:
		if own.Remove(c.place); own.Len() == 0 {
			delete(t.of, c.address)
		}
		c.place = nil
		t.unproven--
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.all.mu.Lock()
	c.all.remove(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// withConn returns the context of the requests of a connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// proveConnection records that the caller of a request is authenticated.
func proveConnection(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.all.prove(c)
	}
}
