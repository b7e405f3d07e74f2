package segmentlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// After a Scrub nothing of a dead record is on the disk, and every other one is.
func TestScrub(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	at := map[string]Place{}
	add := func(records ...string) {
		t.Helper()
		var batch [][]byte
		for _, r := range records {
			batch = append(batch, []byte(r))
		}
		places := check.Value(l.Append(batch))(t)
		for i, r := range records {
			at[r] = places[i]
		}
	}
	var want []string
	for n := range 200 {
		keep := fmt.Sprintf("keep %d %s", n, strings.Repeat("x", 200))
		add(keep, fmt.Sprintf("secret %d", n))
		want = append(want, keep)
	}
	for r, p := range at {
		if strings.HasPrefix(r, "secret") {
			p.Discard()
			delete(at, r)
		}
	}
	check.OK(t, os.MkdirAll(filepath.Join(folder, damagedFolder), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(folder, damagedFolder, "1"+extension), []byte("secret"), 0o600))
	check.OK(t, l.Scrub(func(p Place, record []byte, _ bool) bool { return at[string(record)] == p }, func(record []byte, to Place) { at[string(record)] = to }))
	add("after")
	want = append(want, "after")
	files := check.Value(filepath.Glob(filepath.Join(folder, "*")))(t)
	for _, path := range files {
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte("secret")) || filepath.Base(path) == damagedFolder {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	for _, r := range want {
		if got, err := at[r].Read(); err != nil || string(got) != r {
			t.Fatalf("%.20q is read as %.20q: %v", r, got, err)
		}
	}
	check.OK(t, l.Close())
	if _, found := open(t, folder); !slices.Equal(found, want) {
		t.Errorf("after a restart there are %d records, want %d", len(found), len(want))
	}
}
