package trainerstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/services/trainer"
)

var _ trainer.State = (*Store)(nil)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
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
	if err := s.Save(map[string][]byte{"b/2": []byte("two"), "a/1": []byte("one"), "c": {}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(map[string][]byte{"b/2": nil, "never": nil, "a/0": []byte("zero")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestSaveIsAllOrNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "trainer.db"))
	defer s.Close()
	tooLong := strings.Repeat("k", 1<<16)
	if err := s.Save(map[string][]byte{"a": []byte("1"), tooLong: []byte("2")}); err == nil {
		t.Fatal("a key that does not fit was saved")
	}
	if got := all(t, s); len(got) != 0 {
		t.Fatalf("half of it was saved: %v", got)
	}
}

func TestLoadReturnsTheErrorOfItsFunction(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "trainer.db"))
	defer s.Close()
	if err := s.Save(map[string][]byte{"a": []byte("1")}); err != nil {
		t.Fatal(err)
	}
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
		for range rapid.IntRange(1, 4).Draw(rt, "saves") {
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
			if err := s.Save(changes); err != nil {
				rt.Fatal(err)
			}
		}
		got := map[string]string{}
		if err := s.Load(func(key string, value []byte) error { got[key] = string(value); return nil }); err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}
