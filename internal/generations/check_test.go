package generations

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is an index of versions.
type shelf struct {
	mu   sync.Mutex
	held map[schema.Ref]events.Change
}

func newShelf(changes ...events.Change) *shelf {
	s := &shelf{held: map[schema.Ref]events.Change{}}
	_ = s.Apply(context.Background(), changes, nil)
	return s
}

func (s *shelf) All() iter.Seq[schema.Ref] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []schema.Ref
	for ref := range s.held {
		refs = append(refs, ref)
	}
	return slices.Values(refs)
}

func (s *shelf) Version(ref schema.Ref) (schema.Version, bool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.held[ref]
	return c.Version, c.Op == events.OpDelete, ok
}

func (s *shelf) Positions() map[int]uint64 { return nil }

func (s *shelf) Apply(_ context.Context, changes []events.Change, _ map[int]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		if held, ok := s.held[c.Ref]; !ok || c.Version.Newer(held.Version) {
			s.held[c.Ref] = c
		}
	}
	return nil
}

func (s *shelf) Expire() error { return nil }

func ref(id string) schema.Ref { return schema.Ref{Tenant: "t", Kind: schema.KindTool, ID: id} }

func upsert(id string, revision uint64) events.Change {
	return events.Change{Ref: ref(id), Version: schema.Version{Revision: revision}, Op: events.OpUpsert}
}

func remove(id string, revision uint64) events.Change {
	c := upsert(id, revision)
	c.Op = events.OpDelete
	return c
}

func look(t *testing.T, c *Check) Outstanding {
	t.Helper()
	out, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsLackingIsFound(t *testing.T) {
	fresh := uint64(time.Now().UnixMicro())
	old := uint64(time.Now().Add(-2 * forgotten).UnixMicro())
	for _, tc := range []struct {
		name  string
		live  events.Change
		next  []events.Change
		fate  Fate
		want  Outstanding
		lacks bool
	}{
		{"there", upsert("a", 2), []events.Change{upsert("a", 2)}, Pending, Outstanding{}, false},
		{"newer", upsert("a", 2), []events.Change{upsert("a", 3)}, Pending, Outstanding{}, false},
		{"deleted there by now", upsert("a", 2), []events.Change{remove("a", 3)}, Pending, Outstanding{}, false},
		{"missing", upsert("a", 2), nil, Pending, Outstanding{Entities: 1}, true},
		{"older", upsert("a", 2), []events.Change{upsert("a", 1)}, Pending, Outstanding{Entities: 1}, true},
		{"dead", upsert("a", 2), nil, Dead, Outstanding{Entities: 1, Dead: 1}, true},
		{"given up", upsert("a", 2), nil, Dropped, Outstanding{}, false},
		{"shown though deleted", remove("a", old), []events.Change{upsert("a", 1)}, Pending, Outstanding{Deletes: 1}, true},
		{"delete on its way", remove("a", fresh), nil, Pending, Outstanding{Deletes: 1}, true},
		{"old delete that the bus forgot", remove("a", old), nil, Pending, Outstanding{}, false},
	} {
		c := NewCheck(newShelf(tc.live), newShelf(tc.next...), func(schema.Ref, uint64) Fate { return tc.fate })
		got := look(t, c)
		if tc.lacks {
			tc.want.Examples = []string{"a"}
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.want) || got.None() == tc.lacks {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// What changes in the searched index after it was looked at is outstanding
// again, however much it is.
func TestWhatChangesMeanwhileIsLookedAtAgain(t *testing.T) {
	live, next := newShelf(upsert("a", 1)), newShelf(upsert("a", 1))
	gate, c := NewGate(live), NewCheck(live, next, nil)
	gate.Watch(c)
	if out := look(t, c); !out.None() {
		t.Fatalf("%+v", out)
	}
	if err := gate.Apply(t.Context(), []events.Change{upsert("a", 2)}, nil); err != nil {
		t.Fatal(err)
	}
	if out := look(t, c); out.Entities != 1 {
		t.Errorf("after a change: %+v", out)
	}
	var many []events.Change
	for i := range most + 100 {
		many = append(many, upsert(fmt.Sprint("m", i), 1))
	}
	if err := gate.Apply(t.Context(), many, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out := look(t, c); out.Entities != most+101 {
			t.Fatalf("%d of %d are outstanding", out.Entities, most+101)
		}
	}
	_ = next.Apply(t.Context(), append(many, upsert("a", 2)), nil)
	look(t, c)
	if out := look(t, c); !out.None() {
		t.Errorf("at last: %+v", out)
	}
}

// slow is an index that knows a version before it shows it.
type slow struct {
	*shelf
	shown map[schema.Ref]uint64
}

func (s *slow) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	err := s.shelf.Apply(ctx, changes, through)
	runtime.Gosched()
	for _, c := range changes {
		s.shown[c.Ref] = c.Revision
	}
	return err
}

// The moment of the switch is exact: writers do what they want, and at that
// moment the next index has everything that the searched one has.
func TestNothingIsMissingAtTheMomentOfTheSwitch(t *testing.T) {
	live, next := newShelf(), &slow{shelf: newShelf(), shown: map[schema.Ref]uint64{}}
	gate, own, c := NewGate(live), NewGate(next), NewCheck(live, next, nil)
	gate.Watch(c)
	ctx, stop := context.WithCancel(t.Context())
	behind := make(chan events.Change, 64) // what next has yet to hear of
	var writers sync.WaitGroup
	writers.Go(func() {
		defer close(behind)
		for revision := uint64(1); ctx.Err() == nil; revision++ {
			change := upsert(fmt.Sprint(revision%50), revision)
			behind <- change
			_ = gate.Apply(ctx, []events.Change{change}, nil)
		}
	})
	writers.Go(func() {
		for change := range behind {
			_ = own.Apply(ctx, []events.Change{change}, nil)
		}
	})
	switched := false
	for !switched {
		if _, err := Settle(ctx, gate, own, c, time.Second, func() {
			switched = true
			for ref := range live.All() {
				if v, _, _ := live.Version(ref); next.shown[ref] < v.Revision {
					t.Errorf("at the switch %s is shown in revision %d, and was in %d", ref.ID, next.shown[ref], v.Revision)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writers.Wait()
}

func TestSettlingGivesUp(t *testing.T) {
	live, next := newShelf(upsert("a", 1)), newShelf()
	out, err := Settle(t.Context(), NewGate(live), NewGate(next), NewCheck(live, next, nil), time.Millisecond, func() { t.Error("switched") })
	if err != nil || out.Entities != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}
