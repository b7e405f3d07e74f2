package localkv

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/trainer"
)

var _ trainer.State = (*Store)(nil)

func open(t *testing.T, path string) *Store {
	t.Helper()
	return check.Value(Open(path, slog.New(slog.DiscardHandler)))(t)
}

// all returns every record as "key=value", in the order in which they come.
func all(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	if err := s.Load(func(key string, value []byte) error {
		out = append(out, key+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsSavedIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "trainer.db")
	s := open(t, path)
	check.OK(t, s.Save(map[string][]byte{"b/2": []byte("two"), "a/1": []byte("one"), "c": {}}))
	check.OK(t, s.Save(map[string][]byte{"b/2": nil, "never": nil, "a/0": []byte("zero")}))
	check.OK(t, s.Close())
	s = open(t, path)
	defer s.Close()
	if got := strings.Join(all(t, s), " "); got != "a/0=zero a/1=one c=" {
		t.Fatalf("%s", got)
	}
	for key, want := range map[string]string{"a/1": "one", "b/2": ""} {
		if got, err := s.Get(key); err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
}

// Package segmentlog tests what damage and crashes do to the files.
func TestADamagedStoreIsSetAside(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	if _, err := Open(folder, slog.New(slog.DiscardHandler)); !errors.Is(err, files.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	check.OK(t, s.Save(map[string][]byte{"a": []byte("1")}))
	check.OK(t, s.Close())
	files, err := filepath.Glob(filepath.Join(folder, "*.segment"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d segments, %v", len(files), err)
	}
	check.OK(t, os.WriteFile(files[0], []byte("something else"), 0o600))
	var log bytes.Buffer
	if s, err = Open(folder, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := all(t, s); len(got) != 0 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%d records; the log says %q", len(got), log.String())
	}
	if kept, err := os.ReadFile(filepath.Join(folder, "damaged", filepath.Base(files[0]))); string(kept) != "something else" {
		t.Errorf("kept: %q, %v", kept, err)
	}
}

func TestLoadReturnsTheErrorOfItsFunction(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "trainer.db"))
	defer s.Close()
	check.OK(t, s.Save(map[string][]byte{"a": []byte("1")}))
	stop := errors.New("stop")
	if err := s.Load(func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
}

func TestItBehavesLikeAMap(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		s := open(t, path)
		defer func() { s.Close() }()
		want := map[string]string{}
		for range rapid.IntRange(1, 6).Draw(rt, "saves") {
			changes := map[string][]byte{}
			for range rapid.IntRange(0, 5).Draw(rt, "changes") {
				key := rapid.StringMatching(`[a-d]{1,2}`).Draw(rt, "key")
				if rapid.Bool().Draw(rt, "delete") {
					changes[key] = nil
					delete(want, key)
				} else {
					changes[key] = rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(rt, "value")
					want[key] = string(changes[key])
				}
			}
			check.OK(rt, s.Save(changes))
			if rapid.Bool().Draw(rt, "restart") {
				check.OK(rt, s.Close())
				s = open(t, path)
			}
		}
		got := map[string]string{}
		check.OK(rt, s.Load(func(key string, value []byte) error { got[key] = string(value); return nil }))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}
