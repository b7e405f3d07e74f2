package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// lists returns what a gateway names, a line for each: the kind and the address.
func lists(t *testing.T, c source.Connector, at source.Place) ([]string, error) {
	t.Helper()
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	t.Cleanup(all.Close)
	at.Client, at.Limits = all.Client(outbound.Options{Limit: 1 << 20}), source.Limits{Pages: 3, Bytes: 1 << 20}
	s, err := c.Connect(t.Context(), at, func() {})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := s.List(t.Context(), true)
	var out []string
	for _, f := range l.Found {
		line := f.Name + " " + f.Spec.Kind + " " + f.Spec.URL
		if f.Problem != "" {
			line = f.Name + " ! " + f.Problem
		}
		out = append(out, line)
	}
	return out, err
}

// answers serves bodies by their paths with queries.
func answers(t *testing.T, bodies map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, there := bodies[r.URL.RequestURI()]
		if !there {
			w.WriteHeader(http.StatusNotFound)
		}
		if next, more := bodies["next "+r.URL.RequestURI()]; more {
			w.Header().Set("X-Next-Page", next)
		}
		_, _ = io.WriteString(w, body) // who asks may be gone
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const caddyfile = `{
	admin %s
	skip_install_trust
	storage file_system %s
	https_port %s
	auto_https disable_redirects
	default_bind 127.0.0.1
}
http://a.example:%[4]s, http://b.example:%[4]s {
	handle_path /pets/* {
		reverse_proxy 127.0.0.1:9001
	}
	handle /tools/mcp* {
		reverse_proxy 127.0.0.1:9002
	}
	handle {
		respond "hi"
	}
}
c.example {
	tls internal
	reverse_proxy 127.0.0.1:9003
}
`

// TestCaddy asks a real Caddy.
func TestCaddy(t *testing.T) {
	program := servertest.Program(t, servers.MCPName, filepath.Join("venv", "bin", "caddy"))
	dir := t.TempDir()
	admin, secure, plain := "127.0.0.1:"+check.FreePort(t), check.FreePort(t), check.FreePort(t)
	file := filepath.Join(dir, "Caddyfile")
	check.OK(t, os.WriteFile(file, fmt.Appendf(nil, caddyfile, admin, dir, secure, plain), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	at := source.Place{URL: "http://" + admin, Document: "spec.json"}
	got, err := lists(t, Caddy{}, at)
	for err != nil {
		select {
		case <-tick.C:
			got, err = lists(t, Caddy{}, at)
		case <-end:
			t.Fatal(err)
		}
	}
	want := []string{
		"a.example:" + plain + "/pets openapi http://a.example:" + plain + "/pets/spec.json",
		"a.example:" + plain + "/tools/mcp mcp http://a.example:" + plain + "/tools/mcp",
		"c.example:" + secure + " openapi https://c.example:" + secure + "/spec.json",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it names\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCaddysConfigurationIsRead(t *testing.T) {
	at := answers(t, map[string]string{"/config/": `{"apps":{"http":{"servers":{
		"a":{"listen":["tcp/0.0.0.0:443"],"routes":[{"match":[{"host":["*.example"]}],"handle":[{"handler":"reverse_proxy"}]},{"match":[{"host":["x.example"],"path":["/v1/*"]}],"handle":[{"handler":"reverse_proxy"}]}]},
		"b":{"listen":[":8080-8090"],"routes":[{"match":[{"path":["/api/*"]}],"handle":[{"handler":"reverse_proxy"}]},{"handle":[{"handler":"file_server"}]}]},
		"c":{"listen":[":9443"],"automatic_https":{"skip":["y.example"]},"routes":[{"match":[{"host":["y.example"]}],"handle":[{"handler":"reverse_proxy"}]}]}}}}}`})
	got, err := lists(t, Caddy{}, source.Place{URL: at})
	want := []string{
		"*.example ! it does not name a single host and path",
		"127.0.0.1:8080/api openapi http://127.0.0.1:8080/api/openapi.json",
		"x.example/v1 openapi https://x.example/v1/openapi.json",
		"y.example:9443 openapi http://y.example:9443/openapi.json",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("it names\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), err)
	}
	if _, err := lists(t, Caddy{}, source.Place{URL: answers(t, map[string]string{"/config/": "null"})}); err == nil {
		t.Error("a gateway without a configuration is taken for one without routes")
	}
}

func TestTraefiksRoutersAreRead(t *testing.T) {
	bodies := map[string]string{
		"/api/entrypoints": `[{"name":"web","address":":80"},{"name":"websecure","address":":8443/tcp"}]`,
		"/api/http/routers?page=1": "[{\"name\":\"api@internal\",\"rule\":\"PathPrefix(`/api`)\",\"status\":\"enabled\",\"provider\":\"internal\"}," +
			"{\"name\":\"pets@docker\",\"rule\":\"Host(`a.example`) && PathPrefix(`/pets`)\",\"status\":\"enabled\",\"provider\":\"docker\",\"entryPoints\":[\"web\"]}]",
		"next /api/http/routers?page=1": "2",
		"/api/http/routers?page=2": "[{\"name\":\"m@file\",\"rule\":\"PathPrefix(`/mcp`) && Host(`b.example`) || Host(`c.example`)\",\"status\":\"enabled\",\"provider\":\"file\",\"entryPoints\":[\"websecure\"],\"tls\":{}}," +
			"{\"name\":\"off@file\",\"rule\":\"Host(`d.example`)\",\"status\":\"disabled\",\"provider\":\"file\"}]",
		"next /api/http/routers?page=2": "1",
	}
	got, err := lists(t, Traefik{}, source.Place{URL: answers(t, bodies)})
	want := []string{"a.example/pets openapi http://a.example/pets/openapi.json", "b.example:8443/mcp mcp https://b.example:8443/mcp"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("it names\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), err)
	}
	delete(bodies, "/api/http/routers?page=2")
	if got, err := lists(t, Traefik{}, source.Place{URL: answers(t, bodies)}); err == nil || len(got) > 0 {
		t.Errorf("of two pages one is taken: %q", got)
	}
	bodies["/api/http/routers?page=2"], bodies["next /api/http/routers?page=2"] = "[]", "2"
	if _, err := lists(t, Traefik{}, source.Place{URL: answers(t, bodies)}); err == nil {
		t.Error("pages without an end are taken")
	}
}
