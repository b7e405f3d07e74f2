package vectorfile

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func opened(t *testing.T, dir string) *File {
	t.Helper()
	f, err := Open(dir, "model", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func added(t *testing.T, f *File, texts []string, vectors ...[]float32) {
	t.Helper()
	if err := f.Append(texts, vectors); err != nil {
		t.Fatal(err)
	}
}

func TestAKillLosesTheLastRecordAtMost(t *testing.T) {
	dir := t.TempDir()
	f := opened(t, dir)
	added(t, f, []string{"one", "two", "one"}, []float32{1, 2}, []float32{3, 4}, []float32{5, 6})
	path := filepath.Join(dir, Name("model"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut <= f.recordSize(); cut++ {
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again := opened(t, dir)
		if again.Len() != 1 || !again.Has("one") || again.Has("two") {
			t.Fatalf("cut by %d: %d records", cut, again.Len())
		}
		added(t, again, []string{"two"}, []float32{7, 8})
		for text, want := range map[string][]float32{"one": {1, 2}, "two": {7, 8}} {
			got := make([]float32, 2)
			if known, err := opened(t, dir).Read(text, got); !known || err != nil || !slices.Equal(got, want) {
				t.Fatalf("cut by %d: %q is %v (%v, %v), want %v", cut, text, got, known, err, want)
			}
		}
	}
}

// A process that was killed while it made the file leaves a part of the head.
func TestAHeadThatWasBegunIsMadeWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name("model"))
	opened(t, filepath.Dir(path))
	head, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range head {
		if err := os.WriteFile(path, head[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		added(t, opened(t, filepath.Dir(path)), []string{"one"}, []float32{1, 2})
		if again := opened(t, filepath.Dir(path)); again.Len() != 1 {
			t.Errorf("with %d bytes of the head: %d records", n, again.Len())
		}
	}
}

func TestAFlippedBitEndsTheFile(t *testing.T) {
	dir := t.TempDir()
	added(t, opened(t, dir), []string{"one", "two"}, []float32{1, 2}, []float32{3, 4})
	path := filepath.Join(dir, Name("model"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := opened(t, dir)
	data[f.head+int64(f.recordSize())-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := opened(t, dir); again.Len() != 0 {
		t.Errorf("%d records are believed", again.Len())
	}
}

func TestAnotherModelIsRefused(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir)
	if _, err := Open(dir, "model", 3); err == nil {
		t.Error("another dimension is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, Name("other")), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "other", 2); err == nil {
		t.Error("a foreign file is taken")
	}
}

func TestWhatIsNoVectorIsNotKept(t *testing.T) {
	f := opened(t, t.TempDir())
	for name, v := range map[string][]float32{"short": {1}, "not a number": {1, float32(math.NaN())}, "infinite": {1, float32(math.Inf(1))}} {
		if err := f.Append([]string{"good", "bad"}, [][]float32{{1, 2}, v}); err == nil || f.Len() != 0 {
			t.Errorf("%s: %v, %d records", name, err, f.Len())
		}
	}
}
