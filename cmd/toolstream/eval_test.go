package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was there stays until what replaces it is whole.
func TestAFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "weights.json"), filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
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
		if err := writeFile(step.path, step.write); !errors.Is(err, step.fails) {
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

func TestEvalSaysThatFewQueriesTellLittle(t *testing.T) {
	dir := t.TempDir()
	for name, line := range map[string]string{
		"tools.jsonl":   `{"id":"ferry","documentation":{"name":"book_ferry","description":"Book a ferry."}}`,
		"queries.jsonl": `{"id":"q","query":"a ferry","labels":[{"id":"ferry"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut strings.Builder
	code := run(t.Context(), []string{"eval", dir, "--baseline", "fulldoc"}, strings.NewReader(""), &out, &errOut)
	if code != exitDone || !strings.Contains(errOut.String(), "1 queries tell little") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}
