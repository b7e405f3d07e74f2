package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// Kong reads the services and routes of a Kong gateway from its Admin API
// (https://developer.konghq.com/api/gateway/admin-oss/). Kong knows no documents: tags give
// their path below a route's address, "openapi:PATH" and "mcp" or "mcp:PATH". A path in
// a tag is percent-encoded, as a tag may hold no slash. A route that the plugin
// ai-mcp-proxy serves is an MCP server without a tag.
type Kong struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (Kong) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	admin, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	proxy, err := url.Parse(at.Proxy)
	if err != nil {
		return nil, err
	}
	return polled(func(ctx context.Context, _ bool) (source.Listing, error) {
		k, err := readKong(ctx, newReader(at), admin)
		if err != nil {
			return source.Listing{}, err
		}
		return source.Listing{Found: k.found(proxy)}, nil
	}), nil
}

// kong is the configuration of a gateway.
type kong struct {
	services []kongService
	routes   map[string][]kongRoute // by the id of their service
	mcp      map[string]bool        // ids of routes and services that are MCP servers
}

// named is the id and the name of an entity: the name is optional, and unique.
type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// String implements fmt.Stringer.
func (n named) String() string { return cmp.Or(n.Name, n.ID) }

type kongService struct {
	named
	Enabled *bool    `json:"enabled"` // absent before Kong 2.7: it is
	Tags    []string `json:"tags"`
	Updated int64    `json:"updated_at"` // in seconds
}

type kongRoute struct {
	named
	Service *named   `json:"service"`
	Hosts   []string `json:"hosts"`
	Paths   []string `json:"paths"`
	Tags    []string `json:"tags"`
	Updated int64    `json:"updated_at"`
}

type kongPlugin struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Route   *named `json:"route"`
	Service *named `json:"service"`
	Config  struct {
		Mode string `json:"mode"`
	} `json:"config"`
}

// kongPage is how many entities a page of the Admin API has at most.
const kongPage = "1000"

// kongList reads all entities of a collection, page by page: every page except the last gives the
// offset of the next.
func kongList[T any](ctx context.Context, r *reader, admin *url.URL, collection string) ([]T, error) {
	var all []T
	for at := with(admin.JoinPath(collection), "size", kongPage); ; {
		var page struct {
			Data   []T    `json:"data"`
			Offset string `json:"offset"`
		}
		if _, err := r.page(ctx, at, &page); err != nil {
			return nil, err
		}
		if page.Data == nil {
			return nil, fmt.Errorf("%s is not a list of Kong's Admin API", at.Redacted())
		}
		all = append(all, page.Data...)
		if page.Offset == "" {
			return all, nil
		}
		at = with(at, "offset", page.Offset)
	}
}

func readKong(ctx context.Context, r *reader, admin *url.URL) (*kong, error) {
	k := &kong{routes: map[string][]kongRoute{}, mcp: map[string]bool{}}
	var err error
	if k.services, err = kongList[kongService](ctx, r, admin, "services"); err != nil {
		return nil, err
	}
	routes, err := kongList[kongRoute](ctx, r, admin, "routes")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(routes, func(a, b kongRoute) int { return strings.Compare(a.String(), b.String()) })
	for _, route := range routes {
		if route.Service != nil {
			k.routes[route.Service.ID] = append(k.routes[route.Service.ID], route)
		}
	}
	plugins, err := kongList[kongPlugin](ctx, r, admin, "plugins")
	if err != nil {
		return nil, err
	}
	for _, p := range plugins {
		if p.Name != "ai-mcp-proxy" || !p.Enabled || p.Config.Mode == "conversion-only" { // which serves nothing by itself
			continue
		}
		switch {
		case p.Route != nil:
			k.mcp[p.Route.ID] = true
		case p.Service != nil:
			k.mcp[p.Service.ID] = true
		}
	}
	return k, nil
}

// found returns the sources behind the gateway. The tags of a service count for its first route.
func (k *kong) found(proxy *url.URL) (all []source.Found) {
	for _, s := range k.services {
		routes := k.routes[s.ID]
		if s.Enabled != nil && !*s.Enabled || len(routes) == 0 {
			continue
		}
		known := len(all)
		if spec, ok := k.spec(s.ID, s.Tags); ok {
			all = append(all, place(s.String(), spec, s, routes[0], proxy))
		}
		for _, route := range routes {
			if spec, ok := k.spec(route.ID, route.Tags); ok {
				all = append(all, place(s.String()+"."+route.String(), spec, s, route, proxy))
			}
		}
		if len(all) == known {
			all = append(all, source.Found{Name: s.String(), Problem: "neither the service nor any of its routes has a tag openapi:PATH, mcp or mcp:PATH"})
		}
	}
	return all
}

// spec returns the kind of a service or a route, with the path below the route in place of the
// address, from tags and plugins. It returns false if neither name a kind.
func (k *kong) spec(id string, tags []string) (source.Spec, bool) {
	for _, tag := range tags {
		kind, path, _ := strings.Cut(tag, ":")
		if kind == source.MCP || kind == source.OpenAPI && path != "" {
			return source.Spec{Kind: kind, URL: path}, true
		}
	}
	return source.Spec{Kind: source.MCP}, k.mcp[id]
}

// place returns the source below the address of a route.
func place(name string, spec source.Spec, service kongService, route kongRoute, proxy *url.URL) source.Found {
	f := source.Found{Name: name, Spec: spec, Owner: about(name, strconv.FormatInt(max(service.Updated, route.Updated), 10))}
	below, err := url.PathUnescape(spec.URL)
	if err != nil {
		f.Problem = fmt.Sprintf("the path in the tag %s:%s is not percent-encoded", spec.Kind, spec.URL)
		return f
	}
	base := *proxy
	for _, path := range route.Paths[:min(len(route.Paths), 1)] {
		if strings.HasPrefix(path, "~") {
			f.Problem = "the first path of the route is a regular expression: " + path
			return f
		}
		base = *base.JoinPath(path)
	}
	for _, host := range route.Hosts[:min(len(route.Hosts), 1)] {
		if strings.Contains(host, "*") {
			f.Problem = "the first host of the route has a wildcard: " + host
			return f
		}
		if port := proxy.Port(); port != "" && !strings.Contains(host, ":") {
			host = net.JoinHostPort(host, port)
		}
		base.Host = host
	}
	if below != "" {
		base = *base.JoinPath(below)
	}
	f.Spec.URL = base.String()
	return f
}
