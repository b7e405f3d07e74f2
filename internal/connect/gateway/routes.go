package gateway

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// Caddy reads the configuration that Caddy's admin API shows.
type Caddy struct{}

// Traefik reads the routers that Traefik's API shows.
type Traefik struct{}

// Connect implements source.Connector.
func (Caddy) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return routed(at, caddyRoutes)
}

// Connect implements source.Connector.
func (Traefik) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return routed(at, traefikRoutes)
}

// route is a way through a gateway to a service behind it.
type route struct {
	tls  bool
	host string // empty: the host of the gateway's own API
	port string
	path string // prefix
}

// routed is a session that names the sources behind the routes of a gateway, whose API is at
// the address of the source.
func routed(at source.Place, routes func(ctx context.Context, r *reader, api *url.URL) ([]route, error)) (source.Session, error) {
	api, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	return polled(func(ctx context.Context, _ bool) (source.Listing, error) {
		all, err := routes(ctx, newReader(at), api)
		if err != nil {
			return source.Listing{}, err
		}
		l := source.Listing{Found: []source.Found{}}
		seen := map[string]bool{}
		for _, r := range all {
			f := r.found(api, at.Document)
			if !seen[f.Name] {
				seen[f.Name] = true
				l.Found = append(l.Found, f)
			}
		}
		slices.SortFunc(l.Found, func(a, b source.Found) int { return strings.Compare(a.Name, b.Name) })
		return l, nil
	}), nil
}

// documentPath is the usual path of the document of an API, below the route.
const documentPath = "openapi.json"

// found names the source behind a route: an MCP server if the path ends like one, else an API.
func (r route) found(api *url.URL, document string) source.Found {
	scheme, usual := "http", "80"
	if r.tls {
		scheme, usual = "https", "443"
	}
	host := cmp.Or(r.host, api.Hostname())
	if r.port != "" && r.port != usual {
		host = net.JoinHostPort(host, r.port)
	}
	u := url.URL{Scheme: scheme, Host: host, Path: path.Join("/", r.path)}
	f := source.Found{Name: strings.TrimSuffix(u.Host+u.Path, "/"), Spec: source.Spec{Kind: source.MCP}}
	if last := path.Base(u.Path); last != "mcp" && last != "sse" {
		f.Spec.Kind = source.OpenAPI
		u.Path = path.Join(u.Path, cmp.Or(document, documentPath))
	}
	f.Spec.URL = u.String()
	if strings.ContainsAny(r.host+r.path, "*{}") {
		f.Problem = "it does not name a single host and path"
	}
	return f
}
