package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// What was there stays until what replaces it is whole.
func TestAFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "weights.json"), filepath.Join(dir, "link.json")
	check.OK(t, os.Symlink(path, link))
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	broken := errors.New("broken")
	for _, step := range []struct {
		path  string
		write func(io.Writer) error
		fails error
		holds string
	}{
		{path, says("one"), nil, "one"},
		{path, func(w io.Writer) error { return errors.Join(says("half")(w), broken) }, broken, "one"},
		{link, says("two"), nil, "two"},
		{"", says("nowhere"), nil, "two"},
		{os.DevNull, says("away"), nil, "two"},
		{filepath.Join(dir, "missing", "x"), says("x"), os.ErrNotExist, "two"},
	} {
		if err := WriteFile(step.path, step.write); !errors.Is(err, step.fails) {
			t.Errorf("%s: %v, want %v", step.path, err, step.fails)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.holds {
			t.Errorf("after %s: %q, %v", step.path, got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}
