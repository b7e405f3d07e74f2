package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// way is where a request for a path goes.
type way struct {
	path    string
	prefix  bool
	service string
}

// ways are those of the Ingress or the HTTPRoute that is rendered.
func ways(t *testing.T, all []object) (out []way) {
	t.Helper()
	for _, o := range of(all, "Ingress") {
		for _, r := range o.at("spec")["rules"].([]any) {
			for _, p := range object(r.(map[string]any)).at("http")["paths"].([]any) {
				p := object(p.(map[string]any))
				out = append(out, way{p["path"].(string), p["pathType"] == "Prefix", p.at("backend", "service")["name"].(string)})
			}
		}
	}
	for _, o := range of(all, "HTTPRoute") {
		for _, r := range o.at("spec")["rules"].([]any) {
			r := r.(map[string]any)
			to := r["backendRefs"].([]any)[0].(map[string]any)["name"].(string)
			for _, m := range r["matches"].([]any) {
				p := object(m.(map[string]any)).at("path")
				out = append(out, way{p["value"].(string), p["type"] == "PathPrefix", to})
			}
		}
	}
	return out
}

// service is where a path goes, "" for nowhere: exact ones come first, then the longest
// prefix of whole segments.
func service(all []way, path string) (name string) {
	longest := 0
	for _, w := range all {
		begins := w.prefix && (path+"/" == strings.TrimSuffix(w.path, "/")+"/" || strings.HasPrefix(path, strings.TrimSuffix(w.path, "/")+"/"))
		switch {
		case !w.prefix && w.path == path:
			return w.service
		case begins && len(w.path) > longest:
			name, longest = w.service, len(w.path)
		}
	}
	return name
}

// What a client may ask for from outside of the cluster arrives, by an Ingress and by the
// Gateway API, in one process and in several, and what is for the cluster alone does not.
func TestClientsOutsideReachWhatTheyAskFor(t *testing.T) {
	helm := helm(t)
	text := check.Value(os.ReadFile(filepath.Join("..", "..", "api", "openapi.json")))(t)
	var api struct{ Paths map[string]any }
	check.OK(t, json.Unmarshal(text, &api))
	if len(api.Paths) == 0 {
		t.Fatal("the API has no paths")
	}
	inside := []string{"/healthz", "/readyz", "/metrics"}
	for mode, values := range map[string]string{"embedded": examples(t)["embedded"], "query": examples(t)["distributed"]} {
		for _, set := range []string{
			"ingress.enabled=true,ingress.hosts={tools.example.com}",
			"ingress.enabled=false,httpRoute.enabled=true,httpRoute.parentRefs[0].name=g",
		} {
			all := ways(t, objects(t, render(t, helm, values, "--set", set)))
			for path := range api.Paths {
				if to := service(all, path); (to == "") != slices.Contains(inside, path) {
					t.Errorf("%s, %s: %s goes to %q", mode, set, path, to)
				}
			}
			for _, path := range []string{
				"/", "/console/", "/console/assets/index.js", "/mcp", "/openapi.json", "/openapi.yaml", "/v0.1/servers/a/versions/latest", "/v1/search",
				"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
			} {
				if to := service(all, path); to != release+"-"+mode {
					t.Errorf("%s, %s: %s goes to %q", mode, set, path, to)
				}
			}
		}
	}
}
