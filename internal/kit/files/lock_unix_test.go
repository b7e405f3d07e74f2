//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f := check.Value(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOneAtATimeHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	check.OK(t, Lock(first))
	if err := Lock(second); !errors.Is(err, ErrLocked) {
		t.Fatalf("of a file that is locked: %v", err)
	}
	check.OK(t, first.Close())
	if err := Lock(second); err != nil {
		t.Errorf("of a file that was let go: %v", err)
	}
	if err := Lock(first); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("of a file that is closed: %v", err)
	}
}
