package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses of proxies before the server, which name the clients of their requests.
type Proxies []netip.Prefix

func (p Proxies) has(ip netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// client returns the address of the client of a request: the peer that the last trusted proxy
// names, or the peer of this server if it is not trusted. Earlier addresses can be forged.
func (p Proxies) client(r *http.Request) netip.Addr {
	client := addressOf(r.RemoteAddr)
	if !p.has(client) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if r.Header.Get("X-Forwarded-For") == "" {
		hops = forwardedFor(strings.Join(r.Header.Values("Forwarded"), ","))
	}
	for i := len(hops) - 1; i >= 0 && p.has(client); i-- {
		hop := addressOf(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			break
		}
		client = hop
	}
	return client
}

// forwardedFor returns the addresses of a field Forwarded (RFC 7239).
func forwardedFor(field string) (out []string) {
	for hop := range strings.SplitSeq(field, ",") {
		address := ""
		for pair := range strings.SplitSeq(hop, ";") {
			if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
				address = strings.Trim(value, `"`)
			}
		}
		out = append(out, address)
	}
	return out
}

// addressOf reads an address with or without a port, and returns the zero Addr for another text.
func addressOf(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return ip.Unmap().WithZone("")
}

// bucketAddress returns the address under which a client is counted. One client has a whole /64 of
// IPv6.
func bucketAddress(ip netip.Addr) string {
	if ip.Is6() {
		prefix, _ := ip.Prefix(64) // always valid
		return prefix.String()
	}
	return ip.String()
}

type addressKey struct{}

// locate puts the address of the client of a request into its context.
func locate(proxies Proxies, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, proxies.client(r))))
	})
}

// clientAddress returns the address of the client of a request.
func clientAddress(ctx context.Context) netip.Addr {
	ip, _ := ctx.Value(addressKey{}).(netip.Addr)
	return ip
}
