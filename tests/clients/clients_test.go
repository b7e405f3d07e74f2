// Package clients holds what is made of the OpenAPI document to it: the document to its
// linter, the generated parts of the clients to the document, and the clients to a running
// server.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

var update = flag.Bool("update", false, "write the generated parts of the clients anew")

// The root of the repository, seen from here, and what lies in it.
const (
	root     = "../.."
	document = root + "/api/openapi.json"
	python   = root + "/clients/python"
	node     = root + "/clients/typescript"
)

// tools are the programs that lint, generate and check.
type tools struct{ home string }

func provisioned(t *testing.T) tools {
	t.Helper()
	if os.Getenv(level.Servers) == "" && !*update {
		level.Campaign(t)
	}
	home, err := servers.Provision(t.Context(), servers.ClientsName)
	if err != nil {
		t.Skip(err)
	}
	return tools{home}
}

// run runs a program in a folder, and returns what it said or fails with it.
func run(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func TestTheDocumentPassesItsLinter(t *testing.T) {
	p := provisioned(t)
	argv := servers.Node(p.home, "redocly", "lint", "--config", root+"/api/redocly.yaml", "--max-problems", "100", document)
	run(t, ".", []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, argv...)
}

func TestTheGeneratedPartIsOfTheDocument(t *testing.T) {
	p := provisioned(t)
	made, committed := filepath.Join(t.TempDir(), "schema.ts"), node+"/src/schema.ts"
	run(t, ".", nil, servers.Node(p.home, "openapi-typescript", document, "--output", made)...)
	if *update {
		replace(t, made, committed)
	}
	if !bytes.Equal(contents(t, made), contents(t, committed)) {
		t.Errorf("%s is not what %s gives: make clients", committed, document)
	}
}

// replace puts a copy of a file or a folder in the place of another.
func replace(t *testing.T, from, to string) {
	t.Helper()
	check.OK(t, os.RemoveAll(to))
	for name, text := range read(t, from) {
		at := filepath.Join(to, name)
		check.OK(t, os.MkdirAll(filepath.Dir(at), 0o755))
		check.OK(t, os.WriteFile(at, text, 0o644))
	}
}

// read returns the files of a folder, or the file, by their names in it, without caches.
func read(t *testing.T, root string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	check.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "__pycache__" || d.Name() == ".ruff_cache"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[name], err = os.ReadFile(path)
		return err
	}))
	return out
}

// up starts a server on the sample registry and on the tools of server-everything, and returns
// its address.
func up(t *testing.T) string {
	t.Helper()
	home, err := servers.Provision(t.Context(), servers.MCPName)
	if err != nil {
		t.Skip(err)
	}
	p := process.Start(t, process.Build(t), t.TempDir(), "--import", root+"/examples/registry/tools")
	everything := source.Spec{Kind: source.MCP, Command: servers.Node(home, "mcp-server-everything", "stdio")}
	check.OK(t, p.Client.Put(t.Context(), "/v1/sources/everything", everything, nil))
	process.Await(t, "the sample registry and the tools of server-everything", func() (bool, error) {
		var registry, tools struct{ Tools []struct{ ID string } }
		err := p.Client.Get(t.Context(), "/v1/tools", nil, &registry)
		err = errors.Join(err, p.Client.Get(t.Context(), "/v1/tools", url.Values{"provider": {"everything"}}, &tools))
		return len(registry.Tools) > 30 && len(tools.Tools) > 10, err
	})
	return p.Client.Server
}

// copied returns a copy of a client, which tools may write into.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	replace(t, from, dir)
	return dir
}

// example writes the example of a client's README, of a server, to a file.
func example(t *testing.T, client, server, to string) {
	t.Helper()
	text := check.Value(os.ReadFile(filepath.Join(client, "README.md")))(t)
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if code, indented := strings.CutPrefix(line, "    "); indented || line == "" {
			lines = append(lines, code)
		}
	}
	code := strings.ReplaceAll(strings.Join(lines, "\n"), "http://127.0.0.1:8665", server)
	if n := strings.Count(strings.TrimSpace(code), "\n"); n > 20 || !strings.Contains(code, server) {
		t.Fatalf("the example of %s has %d lines:\n%s", client, n, code)
	}
	check.OK(t, os.WriteFile(to, []byte(code), 0o644))
}

// exampleSays fails where an example has not called its tool, well and wrongly.
func exampleSays(t *testing.T, said string) {
	t.Helper()
	for _, want := range []string{"everything/get-sum", "The sum of 2 and 3 is 5.", "invalid_arguments /body/arguments/a"} {
		if !strings.Contains(said, want) {
			t.Errorf("the example of the README does not say %q:\n%s", want, said)
		}
	}
}

func TestThePythonClient(t *testing.T) {
	p := provisioned(t)
	dir, server := copied(t, python), up(t)
	replace(t, document, filepath.Join(dir, "openapi.json"))
	env := []string{"TOOLSTREAM_URL=" + server, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1"}
	run(t, dir, env, servers.Python(p.home, "hatch_build")...)
	run(t, dir, env, servers.Python(p.home, "mypy", "--strict", "src/toolstream", "tests")...)
	run(t, dir, env, servers.Python(p.home, "unittest", "discover", "-s", "tests")...)
	run(t, dir, env, servers.Python(p.home, "build", "--no-isolation")...)

	user := t.TempDir()
	wheels, err := filepath.Glob(filepath.Join(dir, "dist", "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatal(wheels, err)
	}
	run(t, user, nil, servers.Python(p.home, "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", "site", wheels[0])...)
	example(t, python, server, filepath.Join(user, "readme.py"))
	exampleSays(t, run(t, user, []string{"PYTHONPATH=site"}, servers.Python(p.home, "readme")...))
}

func TestTheTypeScriptClient(t *testing.T) {
	p := provisioned(t)
	dir, server := copied(t, node), up(t)
	modules := filepath.Join(p.home, "node_modules")
	link(t, modules, filepath.Join(dir, "node_modules"))
	env := []string{"TOOLSTREAM_URL=" + server}
	run(t, dir, env, servers.Node(p.home, "tsc")...)
	run(t, dir, env, filepath.Join(modules, ".bin", "node"), "--test", "tests/client.test.mjs")
	run(t, dir, env, "npm", "pack", "--ignore-scripts")

	user := t.TempDir()
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	run(t, user, nil, "tar", "-xzf", archives[0])
	installed := filepath.Join(user, "node_modules")
	check.OK(t, os.Mkdir(installed, 0o755))
	check.OK(t, os.Rename(filepath.Join(user, "package"), filepath.Join(installed, "toolstream")))
	for _, name := range []string{"openapi-fetch", "ai"} {
		link(t, filepath.Join(modules, name), filepath.Join(installed, name))
	}
	example(t, node, server, filepath.Join(user, "readme.mjs"))
	exampleSays(t, run(t, user, nil, filepath.Join(modules, ".bin", "node"), "readme.mjs"))
}

func link(t *testing.T, to, at string) {
	t.Helper()
	check.OK(t, os.Symlink(to, at))
}

// The clients have the version of the document that they are made of.
func TestThereIsOneVersion(t *testing.T) {
	var api struct{ Info struct{ Version string } }
	if err := json.Unmarshal(contents(t, document), &api); err != nil || api.Info.Version == "" {
		t.Fatal(err)
	}
	var npm struct{ Version string }
	check.OK(t, json.Unmarshal(contents(t, node+"/package.json"), &npm))
	if npm.Version != api.Info.Version {
		t.Errorf("package.json has the version %s, and the API %s", npm.Version, api.Info.Version)
	}
	if want := fmt.Sprintf("\nversion = %q\n", api.Info.Version); !strings.Contains(string(contents(t, python+"/pyproject.toml")), want) {
		t.Errorf("pyproject.toml lacks %s", want)
	}
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	return check.Value(os.ReadFile(file))(t)
}
