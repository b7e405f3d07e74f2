package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestWriteReplacesAndLeavesNothingBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "file")
	for _, text := range []string{"long enough to be cut", "short"} {
		check.OK(t, Write(path, []byte(text), 0o600))
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestWriteThatFailsLeavesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder") // cannot be replaced by a file
	check.OK(t, os.Mkdir(path, 0o700))
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Fatal("a folder was replaced")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 || !names[0].IsDir() {
		t.Errorf("%v, %v", names, err)
	}
}
