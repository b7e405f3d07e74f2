package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// lay makes a folder of files, and of links where the text begins with ->.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		err := error(nil)
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		check.OK(t, err)
	}
	return dir
}

func sourcesOf(t *testing.T, root string, args ...string) []string {
	t.Helper()
	all := check.Value(Expand(nil, args))(t)
	var names []string
	for _, s := range all {
		name := check.Value(filepath.Rel(root, s.Name))(t)
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
	check.OK(t, os.Symlink(dir, link))
	if got := sourcesOf(t, link, link); len(got) != 3 {
		t.Errorf("by a link: %q", got)
	}
	check.OK(t, os.Remove(filepath.Join(dir, "..2026", "b.yaml")))
	if _, err := Expand(nil, []string{dir}); err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("a document that is a link to nothing: %v", err)
	}
}

func TestAPatternTakesFoldersToo(t *testing.T) {
	dir := lay(t, map[string]string{"g/one/a.json": "{}", "g/one/providers.json": "{}", "g/b.json": "{}", "g/empty/.x.json": "{}"})
	got := sourcesOf(t, dir, filepath.Join(dir, "g/*"))
	if want := []string{"g/one/providers.json", "g/b.json", "g/one/a.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := Expand(nil, []string{filepath.Join(dir, "g/e*")}); err == nil {
		t.Error("a folder without documents is imported")
	}
}
