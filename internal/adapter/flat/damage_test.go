package flat

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// history is what an index held after each transaction: versions by id, by
// position.
type history map[uint64]map[string]schema.Version

// written returns a folder with the file of an index that has lived a little,
// and its history.
func written(t *testing.T) (string, history) {
	folder := t.TempDir()
	i, m := open(t, folder), newMaker(1)
	h := history{0: {}}
	now := map[string]schema.Version{}
	for offset := uint64(1); offset <= 12; offset++ {
		var changes []events.Change
		for range 9 {
			c := m.tool("tenant", fmt.Sprintf("tool-%02d", m.rng.IntN(40)))
			if m.rng.IntN(4) == 0 {
				c = m.remove(c.Ref)
			}
			changes = append(changes, c)
			now[c.ID] = c.Version
			if c.Document == nil {
				delete(now, c.ID)
			}
		}
		apply(t, i, offset, changes...)
		h[offset] = maps.Clone(now)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	return folder, h
}

// copyOf copies a folder, with one file's bytes changed.
func copyOf(t *testing.T, folder, file string, change func([]byte) []byte) string {
	t.Helper()
	out := t.TempDir()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == file {
			b = change(b)
		}
		if err := os.WriteFile(filepath.Join(out, e.Name()), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// wantHonest opens an index whose file may be damaged. It has to hold what its
// positions say, or nothing at position 0 with the damaged file kept.
func wantHonest(t *testing.T, folder string, h history) (kept bool) {
	t.Helper()
	before, err := os.Stat(filepath.Join(folder, storeFile))
	if err != nil {
		t.Fatal(err)
	}
	i, err := Open(t.Context(), config(t, folder))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer i.Close()
	at := i.Positions()[0]
	want, known := h[at]
	if !known {
		t.Fatalf("it stands at position %d", at)
	}
	damaged, err := filepath.Glob(filepath.Join(folder, "*.damaged-*"))
	if err != nil {
		t.Fatal(err)
	}
	if at == 0 && len(damaged) == 0 && before.Size() > 0 {
		t.Fatal("it begins anew and keeps no damaged file")
	}
	wantHeld(t, i, want)
	apply(t, i, 99, newMaker(9).tool("tenant", "new"))
	return at != 0
}

func wantHeld(t *testing.T, i *Index, want map[string]schema.Version) {
	t.Helper()
	all, _, err := i.List(t.Context(), "tenant", schema.KindTool, "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]schema.Version{}
	for _, e := range all {
		got[e.ID] = e.Version
	}
	if !maps.Equal(got, want) {
		t.Fatalf("it holds %v, want %v", got, want)
	}
	n := 0
	if s, ok := i.Stats()["tenant"]; ok {
		n = s.Tools
	}
	if n != len(want) {
		t.Fatalf("it finds %d tools of %d", n, len(want))
	}
}

func TestFlippedBits(t *testing.T) {
	folder, h := written(t)
	rng := rand.New(rand.NewPCG(5, 6))
	survived := 0
	const rounds = 400
	for range rounds {
		damaged := copyOf(t, folder, storeFile, func(b []byte) []byte {
			used := len(bytes.TrimRight(b, "\x00"))
			for range 1 + rng.IntN(3) {
				b[rng.IntN(used)] ^= 1 << rng.IntN(8)
			}
			return b
		})
		if wantHonest(t, damaged, h) {
			survived++
		}
	}
	if survived == 0 || survived == rounds {
		t.Errorf("%d of %d damaged files were usable: the test does not hit both", survived, rounds)
	}
}

func TestTruncated(t *testing.T) {
	folder, h := written(t)
	info, err := os.Stat(filepath.Join(folder, storeFile))
	if err != nil {
		t.Fatal(err)
	}
	size := min(int(info.Size()), 300<<10)
	for cut := 0; cut < size; cut += max(1, size/97) {
		wantHonest(t, copyOf(t, folder, storeFile, func(b []byte) []byte { return b[:cut] }), h)
	}
	for page := 4096; page < size; page += 4096 {
		wantHonest(t, copyOf(t, folder, storeFile, func(b []byte) []byte { return b[:page] }), h)
		wantHonest(t, copyOf(t, folder, storeFile, func(b []byte) []byte {
			clear(b[page:min(page+4096, len(b))])
			return b
		}), h)
	}
}

func TestForeignFile(t *testing.T) {
	for name, content := range map[string]string{
		"text":    strings.Repeat("this is not an index\n", 1000),
		"zeros":   strings.Repeat("\x00", 1<<15),
		"a byte":  "x",
		"nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, storeFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			wantHonest(t, folder, history{0: {}})
		})
	}
}

// A second damaged file does not replace the first.
func TestDamagedFilesAreKept(t *testing.T) {
	folder := t.TempDir()
	for n := 1; n <= 3; n++ {
		content := strings.Repeat(fmt.Sprint(n), 5000)
		if err := os.WriteFile(filepath.Join(folder, storeFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantHonest(t, folder, history{0: {}})
		kept, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("%s.damaged-%d", storeFile, n)))
		if err != nil || string(kept) != content {
			t.Fatalf("damaged file %d: %v", n, err)
		}
	}
}
