package httpserver

import (
	"net"
	"net/http"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// refuseCrossOrigin refuses requests that a page of another site makes a browser send: without it,
// any page could write to a server on its reader's own machine that requires no credential. Reading
// leaves traces, such as recorded searches. A provider sends browsers back from its own site.
// Callers other than browsers send no origin and pass.
func refuseCrossOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteProblem(w, http.StatusForbidden, "a page of another origin may not write here")
	}))
	writes := p.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && strings.HasPrefix(r.URL.Path, "/v1/") && !signsIn(r) {
			WriteProblem(w, http.StatusForbidden, "a page of another site may not send requests here")
			return
		}
		writes.ServeHTTP(w, r)
	})
}

// RegistryPath begins the paths of the registry that other programs read, by a contract
// that is not this project's.
const RegistryPath = "/v0.1/"

// shareRegistry allows pages of every origin to read the registry, as GitHub and VS Code require
// (docs.github.com, "Configure an MCP registry"). A server on loopback without tokens (not wanted)
// does not: any page that its user opens could read its contents.
func shareRegistry(wanted bool, next http.Handler) http.Handler {
	if !wanted {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, RegistryPath) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseForeignHosts refuses requests to a host name that anyone may register, except for the
// names in hosts, separated by commas. A page can make its own name resolve to its reader's
// machine (DNS rebinding); it then has the same origin as the server there. Only servers on
// loopback without tokens need this (wanted).
func refuseForeignHosts(wanted bool, hosts string, next http.Handler) http.Handler {
	if !wanted {
		return next
	}
	own := map[string]bool{}
	for host := range strings.SplitSeq(hosts, ",") {
		own[strings.ToLower(strings.TrimSpace(host))] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := hostName(r.Host); !private(name) && !own[name] {
			WriteProblem(w, http.StatusMisdirectedRequest,
				"this server is on loopback and has no tokens: it does not answer to the name "+schema.Quote(name)+"; add it to auth.hosts, or set auth.tokens_file")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName returns the name in a Host header, without the port and the root's dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// private reports whether no one can own the name on the internet: an address, a name
// without a dot, or a name under a domain for private use (RFC 6761, 6762, 8375 and
// ICANN's .internal).
func private(name string) bool {
	if net.ParseIP(strings.Trim(name, "[]")) != nil || !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range []string{".localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix(name, domain) {
			return true
		}
	}
	return false
}
