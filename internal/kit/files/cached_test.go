package files

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// A change counts, also where a process that has too many files open could not read it at once.
func TestAChangeThatCouldNotBeReadIsReadLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		t.Helper()
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var fails error
	write("first")
	f := check.Value(OpenCached("file", KeepsLast, slog.New(slog.DiscardHandler), func() (string, error) {
		text, err := os.ReadFile(path)
		if fails != nil {
			err = fails
		}
		return string(text), err
	}, path))(t)
	fails = &fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}
	write("the second one")
	for range 2 {
		if got := f.Current(); got != "first" {
			t.Errorf("while it cannot be read: %q", got)
		}
	}
	fails = nil
	if got := f.Current(); got != "the second one" {
		t.Errorf("once it can be read: %q", got)
	}
}
