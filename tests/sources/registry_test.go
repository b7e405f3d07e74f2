package sources

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// postgres starts PostgreSQL, which does not run as root, and returns its address.
func postgres(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Skip("there is no PostgreSQL")
	}
	var as []string
	folder, err := os.MkdirTemp("/tmp", "postgres") // where others may enter
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if os.Geteuid() == 0 {
		const nobody = 65534
		as = []string{"setpriv", "--reuid=" + strconv.Itoa(nobody), "--regid=" + strconv.Itoa(nobody), "--clear-groups"}
		check.OK(t, os.Chown(folder, nobody, nobody))
	}
	bin, data := filepath.Dir(found[len(found)-1]), filepath.Join(folder, "data")
	make := exec.CommandContext(t.Context(), "env", append(as, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "registry")...)
	make.Dir = folder
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	return process.Launch(t, nil, append(append([]string{"env", "-C", folder}, as...), filepath.Join(bin, "postgres"), "-D", data,
		"-c", "listen_addresses=127.0.0.1", "-p", "%s", "-c", "unix_socket_directories=")...).Addr
}

// registry is the official registry, as a publisher sees it.
type registry struct{ address, token string }

func startRegistry(t testing.TB) registry {
	t.Helper()
	home := check.Value(servers.Provision(t.Context(), servers.RegistryName))(t)
	database := postgres(t)
	seed := filepath.Join(t.TempDir(), "seed.json")
	check.OK(t, os.WriteFile(seed, []byte("[]"), 0o600))
	r := registry{address: "http://" + process.Launch(t, []string{
		"MCP_REGISTRY_SERVER_ADDRESS=127.0.0.1:%s", "MCP_REGISTRY_DATABASE_URL=postgres://registry@" + database + "/postgres?sslmode=disable",
		"MCP_REGISTRY_SEED_FROM=" + seed, "MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false", "MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH=true",
		"MCP_REGISTRY_JWT_PRIVATE_KEY=" + strings.Repeat("a", 64),
	}, filepath.Join(home, "registry")).Addr}
	var answer struct {
		Token string `json:"registry_token"`
	}
	check.OK(t, json.Unmarshal(r.send(t, http.MethodPost, "/v0.1/auth/none", nil), &answer))
	r.token = answer.Token
	return r
}

func (r registry) send(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	text := check.Value(json.Marshal(body))(t)
	req := check.Value(http.NewRequestWithContext(t.Context(), method, r.address+path, bytes.NewReader(text)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp := check.Value(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v %s", method, path, resp.Status, err, answer)
	}
	return answer
}

// The official registry takes no address of loopback: servers are published at these
// hosts, and a proxy before the registry names where they really are.
const (
	anonymous = "io.modelcontextprotocol.anonymous/"
	host      = "https://server.example"
)

// publish publishes a version of a server.
func (r registry) publish(t testing.TB, name, version, path string) {
	t.Helper()
	r.send(t, http.MethodPost, "/v0.1/publish", map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    anonymous + name, "description": "The server " + name, "version": version,
		"remotes": []map[string]any{{"type": "streamable-http", "url": host + path}},
	})
}

// behind returns the address of a proxy that puts another address in place of host.
func (r registry) behind(t testing.TB, address string) string {
	t.Helper()
	target := check.Value(url.Parse(r.address))(t)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(resp *http.Response) error {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(host), []byte(address))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		resp.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// Servers of the official registry are crawled, and go when they are deleted there.
func TestTheOfficialRegistryIsFollowed(t *testing.T) {
	if os.Getenv(level.Servers) == "" || !servers.Provisioned(servers.RegistryName) || !servers.Provisioned(servers.MCPName) {
		t.Skip("`make integration` runs this test")
	}
	home := check.Value(servers.Provision(t.Context(), servers.MCPName))(t)
	r := startRegistry(t)
	everything := process.Launch(t, []string{"PORT=%s"}, servers.Node(home, "mcp-server-everything", "streamableHttp")...)
	r.publish(t, "everything", "1.0.0", "/mcp")
	r.publish(t, "away", "1.0.0", "/nowhere")

	x := index{process.Up(t, process.Build(t)).Front()}
	x.add(t, "official", source.Spec{Kind: source.MCPRegistry, URL: r.behind(t, "http://"+everything.Addr), AllowPrivate: true, Every: source.Duration(source.MinEvery)})
	x.comes(t, "official", sources.Polling, 0)
	x.has(t, "official/"+anonymous+"everything/echo", true)

	r.publish(t, "again", "1.0.0", "/mcp")
	x.has(t, "official/"+anonymous+"again/echo", true)
	r.send(t, http.MethodPatch, "/v0.1/servers/"+url.PathEscape(anonymous+"everything")+"/versions/1.0.0/status", map[string]any{"status": "deleted"})
	x.has(t, "official/"+anonymous+"everything/echo", false)
	x.has(t, "official/"+anonymous+"again/echo", true)
}
