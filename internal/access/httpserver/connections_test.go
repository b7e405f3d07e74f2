package httpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// peer is a connection from an address.
type peer struct {
	net.Conn
	address string
	closed  bool
}

func (p *peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(p.address), 1))
}
func (p *peer) Close() error { p.closed = true; return nil }

// openFrom opens connections from an address.
func openFrom(t *connections, n int, address string) (out []*conn) {
	for range n {
		c := &conn{Conn: &peer{address: address}}
		if displaced := t.add(c); displaced != nil {
			_ = displaced.Close()
		}
		out = append(out, c)
	}
	return out
}

// stillOpen counts the connections that have not been closed.
func stillOpen(conns []*conn) (n int) {
	for _, c := range conns {
		if !c.Conn.(*peer).closed {
			n++
		}
	}
	return n
}

// Whatever an address opens, a connection of another one gets in, and proven callers keep theirs.
func TestAConnectionAlwaysGetsIn(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	all := newConnections(proxies, prometheus.NewRegistry())
	caller := openFrom(all, 1, "192.0.2.7")
	proveConnection(withConn(t.Context(), caller[0]))
	var hostile [][]*conn
	for i := range 20 { // a /64 of IPv6 is one address
		hostile = append(hostile, openFrom(all, 2*perAddress, fmt.Sprintf("2001:db8:0:%x::1", i)))
	}
	for i := range hostile {
		if n := stillOpen(hostile[i]); n > perAddress {
			t.Errorf("an address has %d connections", n)
		}
	}
	if n := all.proven + all.unproven; n > maxConnections {
		t.Errorf("%d connections are open", n)
	}
	probe := openFrom(all, 1, "192.0.2.8")
	openFrom(all, 3*perAddress, "2001:db8:0:1::2")
	if stillOpen(probe) != 1 || stillOpen(caller) != 1 {
		t.Errorf("%d probes and %d callers are left", stillOpen(probe), stillOpen(caller))
	}
	behind := openFrom(all, 2*perAddress, "10.0.0.1")
	if n := stillOpen(behind); n != 2*perAddress {
		t.Errorf("a trusted proxy has %d connections", n)
	}
	// Callers with a token cannot take the reserve.
	greedy := openFrom(all, perAddress, "192.0.2.9")
	for range 100 {
		for _, c := range greedy {
			proveConnection(withConn(t.Context(), c))
		}
		greedy = append(greedy[:0:0], openFrom(all, perAddress, "192.0.2.9")...)
	}
	if all.proven != maxConnections-reserved {
		t.Errorf("%d are proven", all.proven)
	}
	if probe = openFrom(all, 1, "192.0.2.10"); stillOpen(probe) != 1 {
		t.Error("a probe does not get in")
	}
	for _, c := range append(append(behind, probe...), greedy...) {
		check.OK(t, c.Close())
		check.OK(t, c.Close())
	}
	if all.proven < 0 || all.unproven < 0 {
		t.Errorf("%d proven and %d others are counted", all.proven, all.unproven)
	}
}

// Sockets that send requests and read nothing do not keep another address out.
func TestUnreadAnswersKeepNobodyOut(t *testing.T) {
	_, mux := NewAPI("")
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 8<<20)) })
	url, stop, ended := serving(t, handler(mux, Config{Credentials: Credentials{Provider: roles{}}}))
	defer func() { stop(); check.OK(t, <-ended) }()
	for range perAddress + 20 {
		c := check.Value(net.Dial("tcp", url[len("http://"):]))(t)
		defer c.Close()
		check.OK(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_ = check.Value(fmt.Fprint(c, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
	}
	other := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	client := &http.Client{Transport: &http.Transport{DialContext: other.DialContext}}
	defer client.CloseIdleConnections()
	resp := check.Value(client.Get(url + "/healthz"))(t)
	check.OK(t, resp.Body.Close())
	if resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// The client is the last address that is not of a trusted proxy; nobody else names one.
func TestATrustedProxyNamesItsClient(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct{ peer, field, value, want string }{
		{"192.0.2.1:5", "X-Forwarded-For", "198.51.100.1", "192.0.2.1"},
		{"10.0.0.1:5", "X-Forwarded-For", "203.0.113.9, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "X-Forwarded-For", "203.0.113.9, 198.51.100.1, 10.2.2.2", "198.51.100.1"},
		{"[::ffff:10.0.0.1]:5", "X-Forwarded-For", "10.3.3.3, 10.2.2.2", "10.3.3.3"},
		{"10.0.0.1:5", "X-Forwarded-For", "198.51.100.1:4711", "198.51.100.1"},
		{"10.0.0.1:5", "X-Forwarded-For", "198.51.100.1, forged", "10.0.0.1"},
		{"10.0.0.1:5", "", "", "10.0.0.1"},
		{"[fd00::1]:5", "Forwarded", `for=203.0.113.9, for="[2001:db8::7]:4711";proto=https`, "2001:db8::7"},
		{"10.0.0.1:5", "Forwarded", "For=198.51.100.1;by=10.0.0.1", "198.51.100.1"},
		{"10.0.0.1:5", "Forwarded", "for=_hidden", "10.0.0.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.field != "" {
			r.Header.Set(c.field, c.value)
		}
		if got := proxies.client(r).String(); got != c.want {
			t.Errorf("%s behind %s: %s, want %s", c.value, c.peer, got, c.want)
		}
	}
}

// An anonymous sender uses up the limit of its own address, and the addresses known are bounded.
func TestAnonymousRequestsAreLimitedByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Requests: all(2)}, prometheus.NewRegistry())
		proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
		h := locate(proxies, l.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		ask := func(address string) int {
			r := httptest.NewRequestWithContext(context.Background(), "GET", "/v1/session", nil)
			r.RemoteAddr = "10.0.0.1:1"
			r.Header.Set("X-Forwarded-For", address)
			return served(h, r).Code
		}
		for i, c := range []struct {
			address string
			code    int
		}{
			{"192.0.2.1", 200}, {"192.0.2.1", 200}, {"192.0.2.1", 429}, {"192.0.2.2", 200},
			{"2001:db8::1", 200}, {"2001:db8::2", 200}, {"2001:db8::3", 429}, {"2001:db8:0:1::1", 200},
		} {
			if got := ask(c.address); got != c.code {
				t.Errorf("%d: %s: %d, want %d", i, c.address, got, c.code)
			}
		}
		for i := range 2 * maxSenders {
			ask(fmt.Sprintf("2001:db8:1:%x::1", i))
		}
		if n := len(l.senders.subjects); n != maxSenders {
			t.Errorf("%d addresses are kept", n)
		}
	})
}
