// Package outbound makes HTTP clients for addresses that tenants name. They reach
// public addresses, and others only as far as a policy allows, which is checked of
// the address that is dialled: so a name that resolves to another address later, and a
// redirect, are covered. They read bodies up to a limit, reserve the memory for them (package
// inflight), and send a credential to no host that it is not bound to.
package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// ErrAddress is wrapped by the error of a connection to an address that the policy
// refuses.
var ErrAddress = errors.New("the address is not public")

// ErrTooLarge is wrapped by the error of reading a body beyond its limit.
var ErrTooLarge = errors.New("the answer is too large")

// ErrRedirect is wrapped by the error of a request that is redirected to a host that it must not
// reach.
var ErrRedirect = errors.New("it redirects to another host")

// Policy defines which addresses may be reached in addition to the public ones.
type Policy struct {
	Private  []netip.Prefix // for sources that ask for private addresses
	Loopback bool           // loopback, for every source
	All      bool           // private ones, for sources that ask for them, without being listed; still no link-local ones
}

// special are the addresses that are not public (IANA's special-purpose registries,
// RFC 6890), and ranges that embed an IPv4 address, which may not be public.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "::1/128", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

// ordinary are the private addresses of ordinary hosts; clouds answer metadata at none of them.
var ordinary = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

// metadata are addresses in ordinary ranges where clouds answer with the machine's
// own credentials.
var metadata = prefixes("fd00:ec2::254/128", "fd20:ce::254/128")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

func within(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// check returns an error if a source may not reach an address. Private says that it asks for
// private ones.
func (p Policy) check(ip netip.Addr, private bool) error {
	ip = ip.Unmap().WithZone("")
	switch {
	case !within(special, ip):
		return nil
	case ip.IsLoopback() && p.Loopback:
		return nil
	case private && within(p.Private, ip):
		return nil
	case private && p.All && within(ordinary, ip) && !within(metadata, ip):
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAddress, ip)
}

// Times of a request.
const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 20 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Transports are the connections of all clients of one policy.
type Transports struct {
	public, private, strict *http.Transport

	calls bool // ForCalls was called
}

// NewTransports returns the transports of a policy. They use no proxies of the environment: a
// proxy would dial addresses that the policy has not checked.
func NewTransports(p Policy) *Transports {
	return &Transports{public: transport(p, false), private: transport(p, true), strict: transport(Policy{}, false)}
}

func transport(p Policy, private bool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrAddress, address)
		}
		return p.check(at.Addr(), private)
	}}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout: idleTimeout, MaxIdleConns: 1000, MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 256 << 10,
	}
}

// ForCalls makes the transports wait for an answer as long as the context of a request allows,
// and keep a connection to a host for each of atOnce requests. No redirect leaves the host.
func (t *Transports) ForCalls(atOnce int) *Transports {
	t.calls = true
	for _, one := range []*http.Transport{t.public, t.private, t.strict} {
		one.ResponseHeaderTimeout, one.MaxIdleConnsPerHost = 0, atOnce
	}
	return t
}

// Close closes connections that are not in use.
func (t *Transports) Close() {
	t.public.CloseIdleConnections()
	t.private.CloseIdleConnections()
	t.strict.CloseIdleConnections()
}

// Options are the options of a client.
type Options struct {
	Private bool   // private addresses may be reached, as far as the policy allows
	Strict  bool   // without Private: public addresses alone are reached, whatever the policy allows every source
	Limit   int64  // bytes of a body, decompressed; streams of events have no limit
	Secret  Secret // sent with requests to its hosts
	Only    bool   // only hosts of Secret are reached
}

// Secret is a header that is sent to some hosts, or a signature of requests to them.
type Secret struct {
	Header, Value string
	Sign          func(*http.Request) error // in place of Header: changes the headers of a request
	Hosts         []string                  // as Bound reads them
	Plain         bool                      // also if the connection is not encrypted
}

// maxRedirects bounds the redirects of a request.
const maxRedirects = 5

// Client returns a client. It has no time limit of its own beyond that for the first bytes
// of an answer: requests have contexts. A request that sends something stays on its scheme, host
// and port, also when it is redirected: its body is for the host that it was sent to.
func (t *Transports) Client(o Options) *http.Client {
	next := t.public
	switch {
	case o.Private:
		next = t.private
	case o.Strict:
		next = t.strict
	}
	return &http.Client{
		Transport: &roundTripper{next: next, o: o},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0]
			leaves := req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme
			switch {
			case leaves && (t.calls || !reads(first)):
				return fmt.Errorf("%w: %s://%s", ErrRedirect, req.URL.Scheme, req.URL.Host)
			case len(via) > maxRedirects:
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

// reads reports whether a request sends nothing but its address.
func reads(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead
}

type roundTripper struct {
	next http.RoundTripper
	o    Options
}

// RoundTrip implements http.RoundTripper.
func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	bound := Bound(r.o.Secret.Hosts, req.URL)
	if r.o.Only && !bound {
		return nil, fmt.Errorf("%s is not among the hosts that the credential is bound to", req.URL.Host)
	}
	if s := r.o.Secret; s.Value != "" || s.Sign != nil {
		req = req.Clone(req.Context()) // a RoundTripper leaves the request as it is
		req.Header.Del(s.Header)
		if bound && (s.Plain || req.URL.Scheme == "https") {
			if s.Sign == nil {
				req.Header.Set(s.Header, s.Value)
			} else if err := s.Sign(req); err != nil {
				return nil, err
			}
		}
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = inflight.Bytes(req.Context(), resp.Body)
	if r.o.Limit > 0 && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limited{ReadCloser: resp.Body, left: r.o.Limit, limit: r.o.Limit}
	}
	return resp, nil
}

// Bound reports whether an address is on a host of a list. An entry is a host and a port, without
// which it is for the default port of the address's scheme.
func Bound(hosts []string, address *url.URL) bool {
	return slices.ContainsFunc(hosts, func(h string) bool { return withPort(h, address.Scheme) == HostPort(address) })
}

// BoundFrom returns a list of hosts for a secret of an address: entries for its host without a port
// have its port, and are not for the default port either.
func BoundFrom(address *url.URL, hosts []string) []string {
	out := slices.Clone(hosts)
	own := HostPort(address)
	for i, h := range out {
		if strings.EqualFold(unbracketed(h), address.Hostname()) {
			out[i] = own
		}
	}
	return out
}

// HostPort returns the host of an address in lower case, with its port or that of its scheme.
func HostPort(address *url.URL) string { return withPort(address.Host, address.Scheme) }

var defaultPorts = map[string]string{"http": "80", "https": "443"}

func withPort(host, scheme string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name = unbracketed(host)
	}
	return strings.ToLower(net.JoinHostPort(name, cmp.Or(port, defaultPorts[scheme])))
}

// unbracketed returns a host without the brackets of an IPv6 address.
func unbracketed(host string) string { return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]") }

// limited is a body that may be read up to a limit.
type limited struct {
	io.ReadCloser
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, l.limit)
	}
	return n, err
}
