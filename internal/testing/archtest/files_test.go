package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// root returns the path of a file named from the module's root; tests run in
// their own folder, three below it.
func root(file string) string { return filepath.Join("..", "..", "..", file) }

// goFiles lists the module's Go files, generated ones left out.
func goFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root(""), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root(""), p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	check.OK(t, err)
	if len(out) == 0 {
		t.Fatal("found no Go files: the walk starts at the wrong folder")
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(root(file))
	check.OK(t, err)
	return string(b)
}
