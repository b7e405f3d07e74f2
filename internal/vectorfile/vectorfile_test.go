package vectorfile

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/filelock"
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

// again opens the file anew, as the process after this one.
func again(t *testing.T, f *File) *File {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return opened(t, filepath.Dir(f.file.Name()))
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
		f = again(t, f)
		if f.Len() != 1 || !f.Has("one") || f.Has("two") {
			t.Fatalf("cut by %d: %d records", cut, f.Len())
		}
		added(t, f, []string{"two"}, []float32{7, 8})
		f = again(t, f)
		for text, want := range map[string][]float32{"one": {1, 2}, "two": {7, 8}} {
			got := make([]float32, 2)
			if known, err := f.Read(text, got); !known || err != nil || !slices.Equal(got, want) {
				t.Fatalf("cut by %d: %q is %v (%v, %v), want %v", cut, text, got, known, err, want)
			}
		}
	}
}

// A process that was killed while it made the file leaves a part of the head.
func TestAHeadThatWasBegunIsMadeWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name("model"))
	f := opened(t, filepath.Dir(path))
	head, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range head {
		if err := os.WriteFile(path, head[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		f = again(t, f)
		added(t, f, []string{"one"}, []float32{1, 2})
		if f = again(t, f); f.Len() != 1 {
			t.Errorf("with %d bytes of the head: %d records", n, f.Len())
		}
	}
}

// What the disk spoils of a record costs that one.
func TestAFlippedBitCostsItsRecord(t *testing.T) {
	dir := t.TempDir()
	f := opened(t, dir)
	added(t, f, []string{"one", "two"}, []float32{1, 2}, []float32{3, 4})
	path := filepath.Join(dir, Name("model"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[f.head+int64(f.recordSize())-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if known, err := f.Read("two", make([]float32, 2)); !known || err != nil {
		t.Errorf("of a sound record: %v, %v", known, err)
	}
	if _, err := f.Read("one", make([]float32, 2)); err == nil {
		t.Error("a record is believed that the disk has spoilt")
	}
	f = again(t, f)
	if known, err := f.Read("one", make([]float32, 2)); known || err != nil || f.Len() != 1 {
		t.Errorf("of the spoilt one: %v, %v, of %d records", known, err, f.Len())
	}
	added(t, f, []string{"one", "three"}, []float32{1, 2}, []float32{5, 6})
	for range 2 {
		for text, want := range map[string][]float32{"one": {1, 2}, "two": {3, 4}, "three": {5, 6}} {
			got := make([]float32, 2)
			if known, err := f.Read(text, got); !known || err != nil || !slices.Equal(got, want) {
				t.Errorf("%q is %v (%v, %v), want %v", text, got, known, err, want)
			}
		}
		f = again(t, f)
	}
}

func TestOneAtATimeMayUseIt(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir)
	if _, err := Open(dir, "model", 2); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("opened twice: %v", err)
	}
	other, err := Open(dir, "other", 2)
	if err != nil {
		t.Fatalf("the file of another model: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
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
