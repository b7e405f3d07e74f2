package gateway

import (
	"context"
	"net/url"
	"regexp"
	"strings"
)

// Parts of a router's rule, such as Host(`shop.example`) && PathPrefix(`/pets`).
var (
	hostRule = regexp.MustCompile("(?:^|[^!\\w])Host\\([`\"]([^`\"]+)[`\"]")
	pathRule = regexp.MustCompile("(?:^|[^!\\w])Path(?:Prefix)?\\([`\"]([^`\"]+)[`\"]")
)

// traefikRoutes returns the routes of the enabled routers, without Traefik's own.
func traefikRoutes(ctx context.Context, r *reader, api *url.URL) ([]route, error) {
	ports, err := traefikPorts(ctx, r, api)
	if err != nil {
		return nil, err
	}
	type router struct {
		Rule, Status, Provider string
		EntryPoints            []string
		TLS                    any
	}
	var out []route
	for page := "1"; ; {
		var routers []router
		header, err := r.page(ctx, with(api.JoinPath("api/http/routers"), "page", page), &routers)
		if err != nil {
			return nil, err
		}
		for _, router := range routers {
			if router.Status != "enabled" || router.Provider == "internal" {
				continue
			}
			to := ruled(router.Rule)
			to.tls = router.TLS != nil
			if len(router.EntryPoints) > 0 {
				to.port = ports[router.EntryPoints[0]]
			}
			out = append(out, to)
		}
		if page = header.Get("X-Next-Page"); page == "" || page == "1" { // the last page names the first
			return out, nil
		}
	}
}

// traefikPorts returns the ports of the entry points, by name.
func traefikPorts(ctx context.Context, r *reader, api *url.URL) (map[string]string, error) {
	var points []struct{ Name, Address string }
	if _, err := r.page(ctx, api.JoinPath("api/entrypoints"), &points); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range points {
		address, _, _ := strings.Cut(p.Address, "/") // of a protocol
		out[p.Name] = listens(address).port
	}
	return out, nil
}

// ruled returns the host and the path of the first alternative of a rule.
func ruled(rule string) route {
	rule, _, _ = strings.Cut(rule, "||")
	r := route{}
	if m := hostRule.FindStringSubmatch(rule); m != nil {
		r.host = m[1]
	}
	if m := pathRule.FindStringSubmatch(rule); m != nil {
		r.path = m[1]
	}
	return r
}
