// Package clients holds what is made of the OpenAPI document to it: the document to its
// linter, the generated parts of the clients to the document, and the clients to a running
// server.
package clients

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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

// run runs a program in a folder and fails with what it said.
func run(t *testing.T, dir string, env []string, argv ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

func TestTheDocumentPassesItsLinter(t *testing.T) {
	p := provisioned(t)
	argv := servers.Node(p.home, "redocly", "lint", "--config", root+"/api/redocly.yaml", "--max-problems", "100", document)
	run(t, ".", []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, argv...)
}

func TestTheGeneratedPartsAreOfTheDocument(t *testing.T) {
	p := provisioned(t)
	made := t.TempDir()
	path := []string{"PATH=" + filepath.Join(p.home, "venv", "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")}
	run(t, ".", path, servers.Python(p.home, "openapi_python_client", "generate", "--path", document, "--meta", "none",
		"--config", python+"/generator.yaml", "--custom-template-path", python+"/templates", "--output-path", filepath.Join(made, "core"))...)
	run(t, ".", nil, servers.Node(p.home, "openapi-typescript", document, "--output", filepath.Join(made, "schema.ts"))...)
	for from, to := range map[string]string{"core": python + "/src/toolstream/_core", "schema.ts": node + "/src/schema.ts"} {
		made := filepath.Join(made, from)
		if *update {
			replace(t, made, to)
		}
		if a, b := read(t, made), read(t, to); !same(a, b) {
			t.Errorf("%s is not what %s gives: make clients", to, document)
		}
	}
}

// replace puts a copy of a file or a folder in the place of another.
func replace(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	for name, text := range read(t, from) {
		at := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the files of a folder, or the file, by their names in it, without caches.
func read(t *testing.T, root string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string][]byte) bool {
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

// up starts a server on the sample registry and returns the variable that names it.
func up(t *testing.T) []string {
	t.Helper()
	p := process.Start(t, process.Build(t), t.TempDir(), "--import", root+"/examples/registry/tools")
	process.Await(t, "the sample registry", func() (bool, error) {
		var out struct{ Tools []struct{ ID string } }
		err := p.Client.Get(t.Context(), "/v1/tools", nil, &out)
		return len(out.Tools) > 10, err
	})
	return []string{"TOOLSTREAM_URL=" + p.Client.Server}
}

// copied returns a copy of a client, which tools may write into.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	replace(t, from, dir)
	return dir
}

func TestThePythonClient(t *testing.T) {
	p := provisioned(t)
	dir := copied(t, python)
	env := append(up(t), "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
	run(t, dir, env, servers.Python(p.home, "mypy", "--strict", "src/toolstream", "tests")...)
	run(t, dir, env, servers.Python(p.home, "unittest", "discover", "-s", "tests")...)
	run(t, dir, env, servers.Python(p.home, "build", "--no-isolation")...)
}

func TestTheTypeScriptClient(t *testing.T) {
	p := provisioned(t)
	dir := copied(t, node)
	if err := os.Symlink(filepath.Join(p.home, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	env := up(t)
	run(t, dir, env, servers.Node(p.home, "tsc")...)
	run(t, dir, env, filepath.Join(p.home, "node_modules", ".bin", "node"), "--test", "tests/client.test.mjs")
	run(t, dir, env, "npm", "pack", "--ignore-scripts")
}
