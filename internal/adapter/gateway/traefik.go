package gateway

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// Parts of a router's rule, such as Host(`shop.example`) && PathPrefix(`/pets`).
var (
	hostRule = regexp.MustCompile("(?:^|[^!\\w])Host\\([`\"]([^`\"]+)[`\"]")
	pathRule = regexp.MustCompile("(?:^|[^!\\w])Path(?:Prefix)?\\([`\"]([^`\"]+)[`\"]")
)

// errTraefikPages is the error of a list whose pages do not end.
var errTraefikPages = errors.New("the list of routers does not end")

// traefikRoutes returns the routes of the enabled routers, without Traefik's own.
func traefikRoutes(ctx context.Context, s *session) ([]route, error) {
	ports, err := traefikPorts(ctx, s)
	if err != nil {
		return nil, err
	}
	type router struct {
		Rule, Status, Provider string
		EntryPoints            []string
		TLS                    any
	}
	var out []route
	page := "1"
	for n := 0; ; n++ {
		if n == s.at.Limits.Pages {
			return nil, errTraefikPages
		}
		var routers []router
		next, err := s.get(ctx, "api/http/routers", url.Values{"page": {page}}.Encode(), &routers)
		if err != nil {
			return nil, err
		}
		for _, r := range routers {
			if r.Status != "enabled" || r.Provider == "internal" {
				continue
			}
			one := ruled(r.Rule)
			one.tls = r.TLS != nil
			if len(r.EntryPoints) > 0 {
				one.port = ports[r.EntryPoints[0]]
			}
			out = append(out, one)
		}
		if next == "" || next == "1" { // the last page names the first
			return out, nil
		}
		page = next
	}
}

// traefikPorts returns the ports of the entry points, by name.
func traefikPorts(ctx context.Context, s *session) (map[string]string, error) {
	var points []struct{ Name, Address string }
	if _, err := s.get(ctx, "api/entrypoints", "", &points); err != nil {
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
