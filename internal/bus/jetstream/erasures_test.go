package jetstream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// Ranges count like a set of offsets, in the file too; of offsets before the first record only
// those are forgotten that no gap before it consists of.
func TestErasuresCountLikeASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 100 {
		path := filepath.Join(t.TempDir(), erasedFile)
		e := check.Value(readErasures(path))(t)
		set, first := map[uint64]bool{}, uint64(1)
		for range 1 + rng.IntN(6) {
			var some []uint64
			for range 1 + rng.IntN(20) {
				at := first + rng.Uint64N(60)
				some, set[at] = append(some, at), true
			}
			check.OK(t, e.add(events.Searches, some))
			first += rng.Uint64N(5)
			for set[first] {
				first++ // the first record is there
			}
			e.forget(events.Searches, first)
		}
		for _, e := range []*erasures{e, check.Value(readErasures(path))(t)} {
			for after := range uint64(90) {
				whole := true // the gap from after to the first record
				for at := after + 1; at < first; at++ {
					whole = whole && set[at]
				}
				for before := after + 1; before < 95; before++ {
					want := uint64(0)
					for at := after + 1; at < before; at++ {
						if set[at] {
							want++
						}
					}
					if before < first || !whole {
						continue
					}
					if got := e.between(streamName(events.Searches), after, before); got != want {
						t.Fatalf("after %d and before %d: %d, want %d of %v", after, before, got, want, e.byTopic)
					}
				}
			}
		}
		if n := e.between(streamName(events.FeedbackTopic), 0, 100); n != 0 {
			t.Fatalf("another topic has %d", n)
		}
	}
}

// Erased records that exceed the retention are forgotten, and a gap costs no more the more
// records are erased.
func TestErasuresBeforeTheFirstRecordAreForgotten(t *testing.T) {
	e := check.Value(readErasures(filepath.Join(t.TempDir(), erasedFile)))(t)
	var odd []uint64
	for at := uint64(1); at < 20_000; at += 2 {
		odd = append(odd, at)
	}
	check.OK(t, e.add(events.Searches, odd))
	e.forget(events.Searches, 19_990)
	if kept := e.byTopic[events.Searches]; len(kept) != 6 || kept[0].first != 19_989 {
		t.Errorf("%v are remembered", kept)
	}
	check.OK(t, e.add(events.Searches, []uint64{19_996}))
	if again := check.Value(readErasures(e.file))(t); !reflect.DeepEqual(again.byTopic, e.byTopic) {
		t.Errorf("the file was not written anew: it has %d offsets", again.written)
	}
}

// An erasure adds a line to the file, and a line that a crash tore is replaced.
func TestErasuresAreAddedToTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), erasedFile)
	e := check.Value(readErasures(path))(t)
	check.OK(t, e.add(events.Searches, []uint64{1, 2, 9}))
	before := check.Value(os.ReadFile(path))(t)
	check.OK(t, e.add(events.FeedbackTopic, []uint64{4}))
	after := check.Value(os.ReadFile(path))(t)
	if added, ok := bytes.CutPrefix(after, before); !ok || string(added) != fmt.Sprintf("{%q:[4]}\n", events.FeedbackTopic) {
		t.Errorf("from %q to %q", before, after)
	}
	check.OK(t, os.WriteFile(path, slices.Concat(after, []byte(`{"searches":[7,8,`)), 0o600))
	e = check.Value(readErasures(path))(t)
	check.OK(t, e.add(events.FeedbackTopic, []uint64{5}))
	e = check.Value(readErasures(path))(t)
	want := map[events.Topic]ranges{events.Searches: ranges{}.with([]uint64{1, 2, 9}), events.FeedbackTopic: ranges{}.with([]uint64{4, 5})}
	if !reflect.DeepEqual(e.byTopic, want) {
		t.Errorf("%v, want %v", e.byTopic, want)
	}
	check.OK(t, os.WriteFile(path, []byte(`{"searches":[3]}`), 0o600)) // without the end of the line
	e = check.Value(readErasures(path))(t)
	check.OK(t, e.add(events.Searches, []uint64{4}))
	if e = check.Value(readErasures(path))(t); !slices.Equal(e.byTopic[events.Searches].offsets(), []uint64{3, 4}) {
		t.Errorf("%v, want 3 and 4", e.byTopic)
	}
	check.OK(t, os.WriteFile(path, []byte("nonsense\n{}\n"), 0o600))
	if _, err := readErasures(path); err == nil {
		t.Error("a damaged file is read")
	}
}

func BenchmarkGap(b *testing.B) {
	for _, n := range []uint64{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := check.Value(readErasures(filepath.Join(b.TempDir(), erasedFile)))(b)
			var odd []uint64
			for at := range n {
				odd = append(odd, 2*at+1)
			}
			check.OK(b, e.add(events.Searches, odd))
			for b.Loop() {
				e.between(streamName(events.Searches), n, n+2)
			}
		})
	}
}
