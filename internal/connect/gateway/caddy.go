package gateway

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// caddyServer is a server of Caddy's configuration.
type caddyServer struct {
	Listen    []string
	Routes    []caddyRoute
	TLS       []any `json:"tls_connection_policies"`
	Automatic struct {
		Disable bool
		Skip    []string
	} `json:"automatic_https"`
}

type caddyRoute struct {
	Match []struct {
		Host []string
		Path []string
	}
	Handle []struct {
		Handler string
		Routes  []caddyRoute
	}
}

// caddyRoutes returns the routes that lead to other servers.
func caddyRoutes(ctx context.Context, r *reader, api *url.URL) ([]route, error) {
	var config *struct {
		Apps struct {
			HTTP struct{ Servers map[string]caddyServer } `json:"http"`
		}
	}
	if _, err := r.page(ctx, api.JoinPath("config/"), &config); err != nil {
		return nil, err
	}
	if config == nil {
		return nil, errors.New("the gateway has no configuration yet")
	}
	var out []route
	servers := config.Apps.HTTP.Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server := servers[name]
		at := route{}
		if len(server.Listen) > 0 {
			at = listens(server.Listen[0])
		}
		for _, r := range proxied(server.Routes, at) {
			// By itself Caddy encrypts routes that have a name, except at port 80.
			r.tls = len(server.TLS) > 0 ||
				r.host != "" && net.ParseIP(r.host) == nil && r.port != "80" && !server.Automatic.Disable && !slices.Contains(server.Automatic.Skip, r.host)
			out = append(out, r)
		}
	}
	return out, nil
}

// listens returns the host, if there is one, and the first port of an address to listen at,
// such as tcp/:8080-8090.
func listens(address string) route {
	if _, rest, named := strings.Cut(address, "/"); named {
		address = rest
	}
	host, ports, err := net.SplitHostPort(address)
	if err != nil {
		return route{}
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	port, _, _ := strings.Cut(ports, "-")
	return route{host: host, port: port}
}

// proxied returns the routes below the given ones that lead to other servers. If a route has
// several hosts or paths, only the first counts: the others lead to the same servers.
func proxied(routes []caddyRoute, at route) []route {
	var out []route
	for _, r := range routes {
		here := at
		for _, m := range r.Match {
			if len(m.Host) > 0 {
				here.host = m.Host[0]
			}
			if len(m.Path) > 0 {
				here.path = strings.TrimSuffix(strings.TrimSuffix(m.Path[0], "*"), "/")
			}
			break
		}
		for _, h := range r.Handle {
			switch h.Handler {
			case "reverse_proxy":
				out = append(out, here)
			case "subroute":
				out = append(out, proxied(h.Routes, here)...)
			}
		}
	}
	return out
}
