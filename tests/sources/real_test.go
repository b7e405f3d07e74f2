// Package sources holds tests with real servers as sources: those of the MCP project,
// FastMCP, FastAPI and Caddy, which `make provision` makes.
package sources

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// patience is how long a test waits for what has to come: a guard, not an expectation.
const patience = 2 * time.Minute

// index is a running toolstream.
type index struct{ *process.Process }

// add adds a source.
func (x index) add(t testing.TB, name string, spec source.Spec) {
	t.Helper()
	if err := x.Client.Put(t.Context(), "/v1/sources/"+name, spec, nil); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// comes waits until a source is in a state and has so many tools, at least.
func (x index) comes(t testing.TB, name string, state sources.State, tools int) sources.Source {
	t.Helper()
	var s sources.Source
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := process.Until(ctx, func() (bool, error) {
		err := x.Client.Get(t.Context(), "/v1/sources/"+name, nil, &s)
		return s.State == state && s.Tools >= tools, err
	})
	if err != nil {
		t.Fatalf("%s: %v; it is %s with %d tools (%s), want %s with %d\n%s", name, err, s.State, s.Tools, s.LastError, state, tools, x.Log())
	}
	return s
}

// has waits until a tool is searchable, or is not any more.
func (x index) has(t testing.TB, id string, there bool) {
	t.Helper()
	start := time.Now()
	process.Await(t, id, func() (bool, error) {
		err := x.Client.Get(t.Context(), client.Path("/v1/tools", id), nil, nil)
		if client.NotFound(err) {
			return !there, nil
		}
		return there, err
	})
	t.Logf("%s: %v after %v", id, there, time.Since(start).Round(time.Millisecond))
}

func post(t testing.TB, method, url string) {
	t.Helper()
	req := check.Value(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	resp := check.Value(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s: %s", method, url, resp.Status)
	}
}

// Every server that others run is listed over every transport that it has, and followed
// through its changes and its end.
func TestRealServersAreFollowed(t *testing.T) {
	if os.Getenv(level.Servers) == "" || !servers.Provisioned(servers.MCPName) {
		t.Skip("`make integration` runs this test")
	}
	home := check.Value(servers.Provision(t.Context(), servers.MCPName))(t)
	x := index{process.Up(t, process.Build(t)).Front()}

	repo := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commands := map[string][]string{
		"everything": servers.Node(home, "mcp-server-everything", "stdio"),
		"filesystem": servers.Node(home, "mcp-server-filesystem", t.TempDir()),
		"memory":     servers.Node(home, "mcp-server-memory"),
		"git":        servers.Python(home, "mcp_server_git", "--repository", repo),
		"time":       servers.Python(home, "mcp_server_time"),
	}
	for name, argv := range commands {
		x.add(t, name, source.Spec{Kind: source.MCP, Command: argv})
	}
	streamable := process.Launch(t, []string{"PORT=%s"}, servers.Node(home, "mcp-server-everything", "streamableHttp")...)
	x.add(t, "streamable", source.Spec{Kind: source.MCP, URL: "http://" + streamable.Addr + "/mcp"})
	events := process.Launch(t, []string{"PORT=%s"}, servers.Node(home, "mcp-server-everything", "sse")...)
	x.add(t, "events", source.Spec{Kind: source.MCP, URL: "http://" + events.Addr + "/sse"})
	harbour := process.Launch(t, nil, append(python(home), "testdata/harbour.py", "%s")...)
	x.add(t, "harbour", source.Spec{Kind: source.MCP, URL: "http://" + harbour.Addr + "/mcp", Every: source.Duration(source.MinEvery)})
	pets := process.Launch(t, []string{"PYTHONDONTWRITEBYTECODE=1"}, servers.Python(home, "uvicorn", "pets:app", "--port", "%s", "--app-dir", "testdata")...)
	x.add(t, "pets", source.Spec{Kind: source.OpenAPI, URL: "http://" + pets.Addr + "/docs", Every: source.Duration(source.MinEvery)})
	files := t.TempDir()
	write(t, files, "rope", "Sells rope by the metre")
	caddy := process.Launch(t, []string{"HOME=" + t.TempDir()}, filepath.Join(home, "venv", "bin", "caddy"), "file-server", "--listen", "127.0.0.1:%s", "--root", files)
	x.add(t, "shop", source.Spec{Kind: source.OpenAPI, URL: "http://" + caddy.Addr + "/shop.yaml", Every: source.Duration(source.MinEvery)})

	for name, least := range map[string]int{"everything": 10, "filesystem": 10, "memory": 9, "streamable": 10, "events": 10} {
		x.comes(t, name, sources.Live, least)
	}
	for name, least := range map[string]int{"git": 8, "time": 2, "harbour": 1, "pets": 1, "shop": 1} {
		x.comes(t, name, sources.Polling, least)
	}

	post(t, http.MethodPost, "http://"+harbour.Addr+"/tools/mend_net")
	x.has(t, "harbour/mend_net", true)
	post(t, http.MethodDelete, "http://"+harbour.Addr+"/tools/mend_net")
	x.has(t, "harbour/mend_net", false)
	post(t, http.MethodPost, "http://"+pets.Addr+"/operations/groom")
	x.comes(t, "pets", sources.Polling, 2)
	write(t, files, "paint", "Sells paint for hulls")
	x.has(t, "shop/POST /paint", true)

	before := x.comes(t, "streamable", sources.Live, 10)
	streamable.Kill()
	process.Await(t, "the end of a server is seen", func() (bool, error) {
		var s sources.Source
		err := x.Client.Get(t.Context(), "/v1/sources/streamable", nil, &s)
		return s.LastError != "" && s.Tools == before.Tools, err
	})
	streamable.Start(t)
	if after := x.comes(t, "streamable", sources.Live, before.Tools); after.Changed != before.Changed {
		t.Errorf("a restart changed tools: %+v, before %+v", after.Changed, before.Changed)
	}
}

func python(home string) []string { return servers.Python(home, "")[:1] }

// write writes an OpenAPI document with one operation.
func write(t testing.TB, folder, operation, does string) {
	t.Helper()
	text := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"paths":{"/%[1]s":{"post":{"operationId":%[1]q,"summary":%[2]q}}}}`, operation, does)
	check.OK(t, os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte(text), 0o600))
}
