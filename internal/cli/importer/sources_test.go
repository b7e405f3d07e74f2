package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lay makes a folder of files, and of links where the text begins with ->.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sourcesOf(t *testing.T, root string, args ...string) []string {
	t.Helper()
	all, err := newConsole(nil, io.Discard, io.Discard).sources(args)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		name, err := filepath.Rel(root, s.name)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func TestLinksAreFollowed(t *testing.T) {
	// As Kubernetes mounts a ConfigMap.
	dir := lay(t, map[string]string{
		"..2026/a.json": "{}", "..2026/b.yaml": "{}", "..data": "->..2026", "a.json": "->..data/a.json", "b.yaml": "->..data/b.yaml",
		"more/c.md": "x", "more/back": "->..", "notes": "->nowhere", "linked": "->more",
	})
	got := sourcesOf(t, dir, dir)
	if want := []string{"a.json", "b.yaml", "linked/c.md"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got := sourcesOf(t, link, link); len(got) != 3 {
		t.Errorf("by a link: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "..2026", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := newConsole(nil, io.Discard, io.Discard).sources([]string{dir}); err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("a document that is a link to nothing: %v", err)
	}
}

func TestAPatternTakesFoldersToo(t *testing.T) {
	dir := lay(t, map[string]string{"g/one/a.json": "{}", "g/one/providers.json": "{}", "g/b.json": "{}", "g/empty/.x.json": "{}"})
	got := sourcesOf(t, dir, filepath.Join(dir, "g/*"))
	if want := []string{"g/one/providers.json", "g/b.json", "g/one/a.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := newConsole(nil, io.Discard, io.Discard).sources([]string{filepath.Join(dir, "g/e*")}); err == nil {
		t.Error("a folder without documents is imported")
	}
}

// typing is a reader that waits for somebody who types nothing more.
type typing struct {
	first string
	waits chan struct{} // closed when it does
	until <-chan struct{}
}

func (r *typing) Read(p []byte) (int, error) {
	if r.first != "" {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	close(r.waits)
	<-r.until
	return 0, io.EOF
}

func TestStandardInputIsInterrupted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"import", "-", "--dry-run"}, {"import", "-", "--server", server.URL}} {
		ctx, cancel := context.WithCancel(t.Context())
		in := &typing{first: "{\"name\":\"a\",\"description\":\"b\"}\n", waits: make(chan struct{}), until: t.Context().Done()}
		go func() {
			<-in.waits
			cancel()
		}()
		var errOut strings.Builder
		if code := run(ctx, args, in, io.Discard, &errOut); code != exitFailed || !strings.Contains(errOut.String(), "interrupted") {
			t.Errorf("%q: exit code %d: %s", args, code, errOut.String())
		}
	}
}
