package generations

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index is what is asked of the two indexes that are compared.
type Index interface {
	// All yields every entity that Version knows.
	All() iter.Seq[schema.Ref]
	// Version returns the newest version applied, deletes included.
	Version(ref schema.Ref) (v schema.Version, deleted, known bool)
}

// Fate is what became of a change that is not in an index.
type Fate int

// The fates.
const (
	Pending Fate = iota // it is on its way
	Dead                // it lies in the dead letters
	Dropped             // an operator gave it up
)

// most is how many outstanding entities are remembered one by one. While there
// are more, everything is compared anew.
const most = 10_000

// forgotten is how old a delete is that the other index never has to hear of:
// the bus may have forgotten it before that index was begun.
const forgotten = time.Hour

// Check verifies that one index holds everything that another one knows, in the
// same version or a newer one. Look is called by one goroutine, Touch by any.
type Check struct {
	live, next Index
	fate       func(ref schema.Ref, revision uint64) Fate

	mu    sync.Mutex // guards what follows
	left  map[schema.Ref]struct{}
	exact bool // left is all that can be outstanding
	spill bool // left was full
}

// NewCheck returns a check that has not looked yet. What became of a change is
// asked of fate, which may be nil.
func NewCheck(live, next Index, fate func(ref schema.Ref, revision uint64) Fate) *Check {
	if fate == nil {
		fate = func(schema.Ref, uint64) Fate { return Pending }
	}
	return &Check{live: live, next: next, fate: fate, left: map[schema.Ref]struct{}{}}
}

// Outstanding is what an index lacks.
type Outstanding struct {
	Entities int      // that are shown, and not in this version
	Deletes  int      // that it has not heard of
	Dead     int      // of both, those in the dead letters
	Examples []string // ids of some
}

// None reports whether nothing is lacking.
func (o Outstanding) None() bool { return o.Entities+o.Deletes == 0 }

// Touch says that an entity has changed in the live index.
func (c *Check) Touch(ref schema.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(ref)
}

// add makes an entity outstanding. The caller holds mu.
func (c *Check) add(ref schema.Ref) {
	if len(c.left) < most {
		c.left[ref] = struct{}{}
		return
	}
	c.spill = true
}

// Look compares what may be outstanding: everything the first time, and as long
// as there is much.
func (c *Check) Look(ctx context.Context) (Outstanding, error) {
	c.mu.Lock()
	refs := maps.Keys(c.left)
	if !c.exact || c.spill {
		refs = c.live.All()
	}
	// What is touched from here on is looked at the next time.
	c.left, c.exact, c.spill = map[schema.Ref]struct{}{}, false, false
	c.mu.Unlock()
	out, lacking, err := c.compare(ctx, refs)
	if err != nil {
		return out, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range lacking {
		c.add(ref)
	}
	c.exact = !c.spill && out.Entities+out.Deletes <= most
	return out, nil
}

// compare returns what is lacking of refs, the first most of it by name.
func (c *Check) compare(ctx context.Context, refs iter.Seq[schema.Ref]) (out Outstanding, lacking []schema.Ref, err error) {
	n := 0
	for ref := range refs {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return out, nil, ctx.Err()
		}
		lacks, deleted, fate := c.lacks(ref)
		if !lacks {
			continue
		}
		if deleted {
			out.Deletes++
		} else {
			out.Entities++
		}
		if fate == Dead {
			out.Dead++
		}
		if len(lacking) < most {
			lacking = append(lacking, ref)
		}
	}
	out.Examples = examples(lacking)
	return out, lacking, nil
}

// lacks reports whether the next index lacks what the live one knows of an
// entity, whether that is a delete, and what became of it.
func (c *Check) lacks(ref schema.Ref) (lacks, deleted bool, fate Fate) {
	want, deleted, known := c.live.Version(ref)
	if !known {
		return false, false, Pending // a delete that is forgotten by now
	}
	got, _, there := c.next.Version(ref)
	switch {
	case there && !want.Newer(got):
		return false, deleted, Pending
	case deleted && !there && time.Since(time.UnixMicro(int64(want.Revision))) > forgotten:
		return false, deleted, Pending
	}
	fate = c.fate(ref, want.Revision)
	return fate != Dropped, deleted, fate
}

// shown is how many outstanding entities are named.
const shown = 5

// examples returns the names of some entities, in order.
func examples(refs []schema.Ref) []string {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b schema.Ref) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	var out []string
	for _, ref := range refs[:min(len(refs), shown)] {
		out = append(out, ref.ID)
	}
	return out
}

// Writable is an index as its writer sees it.
type Writable interface {
	Positions() map[int]uint64
	Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error
	Expire() error
}

// Gate is an index whose writes can be watched and held up. It may be used
// concurrently.
type Gate struct {
	Writable

	mu    sync.Mutex // held during a write, and while writes are held up
	check *Check
}

// NewGate returns a gate that is open.
func NewGate(w Writable) *Gate { return &Gate{Writable: w} }

// Apply writes, and tells a check what it wrote.
func (g *Gate) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.Writable.Apply(ctx, changes, through)
	if g.check != nil {
		for i := range changes {
			g.check.Touch(changes[i].Ref)
		}
	}
	return err
}

// Watch lets a check hear of every write from here on, no check for nil.
func (g *Gate) Watch(c *Check) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check = c
}

// Hold holds writes up until the function that it returns is called.
func (g *Gate) Hold() (release func()) {
	g.mu.Lock()
	return g.mu.Unlock
}

// Settle lets the check look until nothing is outstanding, with writes of the live
// index held up, and calls then at that moment: what it knows, the next one shows.
// For that no write of the next one may be under way: an index may know a version
// a moment before searches see it. Settle gives up after patience, and returns
// what was outstanding last.
func Settle(ctx context.Context, live, next *Gate, c *Check, patience time.Duration, then func()) (out Outstanding, err error) {
	defer live.Hold()()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(settlePace)
	defer tick.Stop()
	for {
		out, err = next.settled(context.WithoutCancel(ctx), c, then)
		if err != nil || out.None() {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, nil
		case <-tick.C:
		}
	}
}

// settled looks between two writes, and calls then if nothing is outstanding.
func (g *Gate) settled(ctx context.Context, c *Check, then func()) (Outstanding, error) {
	defer g.Hold()()
	out, err := c.Look(ctx)
	if err == nil && out.None() {
		then()
	}
	return out, err
}

// settlePace is how often is looked while writes wait.
const settlePace = 10 * time.Millisecond
