package freshfile

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A change counts, also where a process that has too many files open could not read it at once.
func TestAChangeThatCouldNotBeReadIsReadLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var fails error
	write("first")
	f, err := Open("file", Holds, slog.New(slog.DiscardHandler), func() (string, error) {
		text, err := os.ReadFile(path)
		if fails != nil {
			err = fails
		}
		return string(text), err
	}, path)
	if err != nil {
		t.Fatal(err)
	}
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
