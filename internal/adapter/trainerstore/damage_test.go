package trainerstore

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lived returns a file that has seen many saves, and what it held after each.
func lived(t *testing.T) (file []byte, history [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trainer.db")
	s := open(t, path)
	rng := rand.New(rand.NewPCG(1, 2))
	history = [][]string{nil}
	for save := range 30 {
		changes := map[string][]byte{}
		for range 20 {
			key := fmt.Sprintf("search/%03d", rng.IntN(150))
			if changes[key] = nil; rng.IntN(3) > 0 {
				changes[key] = bytes.Repeat([]byte(fmt.Sprint(save)), rng.IntN(200)+1)
			}
		}
		if err := s.Save(changes); err != nil {
			t.Fatal(err)
		}
		history = append(history, all(t, s))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, history
}

// wantHonest opens a file that may be damaged: the store holds what it once
// held, or nothing, and then the damaged file is kept.
func wantHonest(t *testing.T, file []byte, history [][]string) (kept bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trainer.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := all(t, s)
	aside, err := os.ReadFile(path + ".damaged-1")
	kept = err == nil
	switch {
	case kept && (!bytes.Equal(aside, file) || len(got) != 0):
		t.Errorf("%d records, and the damaged file is not what it was", len(got))
	case kept && strings.Count(log.String(), "\n") != 1:
		t.Errorf("the log says %q", log.String())
	case !kept && !slices.ContainsFunc(history, func(h []string) bool { return slices.Equal(h, got) }):
		t.Errorf("%d records that it never held together", len(got))
	}
	if err := s.Save(map[string][]byte{"a": []byte("new")}); err != nil {
		t.Error(err)
	}
	if v, err := s.Get("a"); err != nil || string(v) != "new" {
		t.Errorf("%q, %v", v, err)
	}
	return kept
}

func TestDamagedFilesAreSetAside(t *testing.T) {
	file, history := lived(t)
	if wantHonest(t, file, history) {
		t.Error("a sound file was set aside")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	kept := 0
	for range 120 {
		spoiled := bytes.Clone(file)
		spoiled[rng.IntN(len(spoiled))] ^= 1 << rng.IntN(8)
		if wantHonest(t, spoiled, history) {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no flipped bit was noticed")
	}
	for name, spoiled := range map[string][]byte{
		"cut off":     file[:len(file)/2],
		"a few bytes": file[:10],
		"zeros":       make([]byte, len(file)),
		"something":   []byte(strings.Repeat("not a database ", 1000)),
		"pages moved": slices.Concat(file[:2*4096], file[3*4096:], file[2*4096:3*4096]),
	} {
		t.Run(name, func(t *testing.T) {
			if !wantHonest(t, spoiled, history) {
				t.Error("it was not set aside")
			}
		})
	}
	t.Run("empty", func(t *testing.T) { wantHonest(t, nil, history) })
}

func TestEveryDamagedFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trainer.db")
	for n := 1; n <= 3; n++ {
		if err := os.WriteFile(path, []byte(fmt.Sprintf("damage %d", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(fmt.Sprintf("%s.damaged-%d", path, n)); err != nil || string(b) != fmt.Sprintf("damage %d", n) {
			t.Errorf("%q, %v", b, err)
		}
	}
}

func TestAFileThatCanNotBeReadIsNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trainer.db")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
		s.Close()
		t.Error("a folder was opened")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it was moved: %v", err)
	}
}

func TestAFileInUseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trainer.db")
	first := open(t, path)
	defer first.Close()
	if second, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
		second.Close()
		t.Error("opened twice")
	}
	if err := first.Save(map[string][]byte{"a": []byte("1")}); err != nil {
		t.Error(err)
	}
}
