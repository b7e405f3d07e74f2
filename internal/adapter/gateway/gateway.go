// Package gateway finds OpenAPI documents and MCP servers by the routes of HTTP gateways,
// which it asks from time to time: Caddy and Traefik.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/source"
)

// Caddy reads the configuration that Caddy's admin API shows.
type Caddy struct{}

// Traefik reads the routers that Traefik's API shows.
type Traefik struct{}

// Connect implements source.Connector.
func (Caddy) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return newSession(at, caddyRoutes)
}

// Connect implements source.Connector.
func (Traefik) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return newSession(at, traefikRoutes)
}

// route is a way through a gateway to a service behind it.
type route struct {
	tls  bool
	host string // empty: that of the gateway's own API
	port string
	path string // prefix
}

type session struct {
	at     source.Place
	base   *url.URL
	routes func(ctx context.Context, s *session) ([]route, error)
}

func newSession(at source.Place, routes func(context.Context, *session) ([]route, error)) (source.Session, error) {
	base, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	return &session{at: at, base: base, routes: routes}, nil
}

// List implements source.Session.
func (s *session) List(ctx context.Context, _ bool) (source.Listing, error) {
	routes, err := s.routes(ctx, s)
	if err != nil {
		return source.Listing{}, err
	}
	l := source.Listing{Found: []source.Found{}}
	seen := map[string]bool{}
	for _, r := range routes {
		f := s.found(r)
		if !seen[f.Name] {
			seen[f.Name] = true
			l.Found = append(l.Found, f)
		}
	}
	if s.at.Limits.Tools > 0 && len(l.Found) > s.at.Limits.Tools {
		return source.Listing{}, fmt.Errorf("the gateway has %d routes: at most %d are taken", len(l.Found), s.at.Limits.Tools)
	}
	slices.SortFunc(l.Found, func(a, b source.Found) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// documentPath is where an API is taken to have its document, below the route.
const documentPath = "openapi.json"

// found names what is behind a route: an MCP server where the path ends as theirs do, else
// an API.
func (s *session) found(r route) source.Found {
	scheme, usual := "http", "80"
	if r.tls {
		scheme, usual = "https", "443"
	}
	host := cmp.Or(r.host, s.base.Hostname())
	if r.port != "" && r.port != usual {
		host = net.JoinHostPort(host, r.port)
	}
	u := url.URL{Scheme: scheme, Host: host, Path: path.Join("/", r.path)}
	f := source.Found{Name: strings.TrimSuffix(u.Host+u.Path, "/"), Spec: source.Spec{Kind: source.MCP}}
	if last := path.Base(u.Path); last != "mcp" && last != "sse" {
		f.Spec.Kind = source.OpenAPI
		u.Path = path.Join(u.Path, cmp.Or(s.at.Document, documentPath))
	}
	f.Spec.URL = u.String()
	if strings.ContainsAny(r.host+r.path, "*{}") {
		f.Problem = "it names no one host and path"
	}
	return f
}

// get reads JSON from a path of the gateway's API. It returns the number of the page that
// follows, if the API says so.
func (s *session) get(ctx context.Context, at, query string, into any) (next string, err error) {
	u := s.base.JoinPath(at)
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := s.at.Client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", source.Refusal(resp.StatusCode, source.RetryAfter(resp), fmt.Errorf("%s: %s", u.Path, resp.Status))
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return "", fmt.Errorf("%s: %w", u.Path, err)
	}
	return resp.Header.Get("X-Next-Page"), nil
}

// Live implements source.Session: neither gateway says when its routes change.
func (*session) Live() bool { return false }

// Close implements source.Session.
func (*session) Close() {}
