//go:build unix

package vectorfile

import (
	"math"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// What a full disk took of a write is not in the way of the next one.
func TestAWriteThatEndsInTheMiddleLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	f := opened(t, dir)
	added(t, f, []string{"one"}, []float32{1, 2})
	info, err := f.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = uint64(info.Size()) + 2*uint64(f.recordSize()) + 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Skipf("files can not be limited: %v", err)
	}
	full := f.Append([]string{"two", "three", "four"}, [][]float32{{3, 4}, {5, 6}, {7, 8}})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if full == nil || f.Has("two") {
		t.Fatalf("on a full disk: %v", full)
	}
	added(t, f, []string{"three"}, []float32{5, 6}) // not all, and not in that order
	f = again(t, f)
	added(t, f, []string{"four"}, []float32{7, 8})
	for range 2 {
		for text, want := range map[string][]float32{"one": {1, 2}, "three": {5, 6}, "four": {7, 8}} {
			got := []float32{float32(math.NaN()), 0}
			if known, err := f.Read(text, got); !known || err != nil || !slices.Equal(got, want) {
				t.Errorf("%q is %v (%v, %v), want %v", text, got, known, err, want)
			}
		}
		f = again(t, f)
	}
}
