package flat

import (
	"cmp"
	"context"
	"runtime"
	goruntime "runtime/metrics"
	"slices"
	"sync"
	"time"
)

// saveInterval is how often the memory is saved while many changes come in: a
// start after a crash then takes no more than those of that time anew.
const saveInterval = 5 * time.Minute

// quietInterval is how long a tenant is left alone before its lexical scores
// are made exact without being due: an answer then depends on what is indexed,
// and not on the batches in which it came.
const quietInterval = time.Second

// minRebuild keeps small lexical indexes from being rebuilt all the time.
const minRebuild = 256

// upkeep is what goes on in the background while an index is open: merging
// lexical indexes, whose scores grow inexact with changes, and saving the
// memory.
type upkeep struct {
	due  chan *tenant
	full chan struct{} // holds a value once enough memory is of no use any more
	stop context.CancelFunc
	done sync.WaitGroup

	retired int // bytes since the last collection; for the writer
}

func (i *Index) startUpkeep() {
	ctx, stop := context.WithCancel(context.Background())
	i.upkeep = &upkeep{due: make(chan *tenant, 1), full: make(chan struct{}, 1), stop: stop}
	i.upkeep.done.Go(func() { i.keep(ctx) })
}

// end stops the work and waits for it.
func (u *upkeep) end() {
	u.stop()
	u.done.Wait()
}

func (i *Index) keep(ctx context.Context) {
	save, quiet := time.NewTicker(saveInterval), time.NewTicker(quietInterval)
	defer save.Stop()
	defer quiet.Stop()
	seen := map[*tenant]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-i.upkeep.due:
			i.rebuild(ctx, t)
		case <-quiet.C:
			for _, t := range i.quiet(seen) {
				i.rebuild(ctx, t)
			}
		case <-i.upkeep.full:
			runtime.GC()
		case <-save.C:
			if err := i.save(i.worthSaving()); err != nil {
				i.config.Logger.Warn("the next start will take longer", "error", err)
			}
		}
	}
}

// Memory of no use is collected when it is an eighth of what is in use, and no
// less than this.
const minRetired = 64 << 20

// retire counts memory that is of no use any more, and has it collected when
// it is much. By itself the collector lets the heap double first; where most of
// the heap is vectors, which cost it nothing to look at, that is a waste.
func (u *upkeep) retire(bytes int) {
	u.retired += bytes
	if u.retired < max(minRetired, liveHeap()/8) {
		return
	}
	u.retired = 0
	select {
	case u.full <- struct{}{}:
	default:
	}
}

// liveHeap returns what the collector found in use last.
func liveHeap() int {
	sample := []goruntime.Sample{{Name: "/gc/heap/live:bytes"}}
	goruntime.Read(sample)
	return int(sample[0].Value.Uint64())
}

// rebuild makes a tenant's lexical scores exact and shows them to readers.
func (i *Index) rebuild(ctx context.Context, t *tenant) {
	if t.lexical.Rebuild(ctx) != nil {
		return // ctx ended
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	t.show(t.now.Load().blocks)
	t.merging = false
}

// mergeWhenDue hands a tenant to the background once an eighth of it has
// changed. If the background is busy the next change asks again.
func (i *Index) mergeWhenDue(t *tenant) {
	if t.merging || t.changes < minRebuild+t.now.Load().tools()/8 {
		return
	}
	select {
	case i.upkeep.due <- t:
		t.merging, t.changes = true, 0
	default:
	}
}

// quiet returns the tenants with inexact scores that have not changed since
// seen was noted, which it does again.
func (i *Index) quiet(seen map[*tenant]int) []*tenant {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []*tenant
	i.tenants.Range(func(_, v any) bool {
		t := v.(*tenant)
		if t.changes > 0 && t.changes == seen[t] && !t.merging {
			t.merging, t.changes = true, 0
			out = append(out, t)
		}
		seen[t] = t.changes
		return true
	})
	return out
}

// Settled reports whether every lexical score is exact: right after a change
// some are not, until the background has come to it.
func (i *Index) Settled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	settled := true
	i.tenants.Range(func(_, v any) bool {
		t := v.(*tenant)
		settled = t.changes == 0 && !t.merging
		return settled
	})
	return settled
}

// save saves the memory if at least that many changes came since it was saved
// last.
func (i *Index) save(least int64) error {
	i.saving.Lock()
	defer i.saving.Unlock()
	unsaved := i.unsaved.Load()
	if unsaved < least {
		return nil
	}
	if err := saveCache(i.config.Path, i.program, i.snapshots()); err != nil {
		return err
	}
	i.unsaved.Add(-unsaved)
	return nil
}

// snapshots returns what searches see of all tenants, by their names.
func (i *Index) snapshots() []named {
	var all []named
	i.tenants.Range(func(key, t any) bool {
		all = append(all, named{key.(string), t.(*tenant).now.Load()})
		return true
	})
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	return all
}

// worthSaving returns how many changes are worth writing all of the memory: a
// start without them would take noticeably longer.
func (i *Index) worthSaving() int64 {
	tools := 0
	for _, t := range i.snapshots() {
		tools += t.tools()
	}
	return int64(minRebuild + tools/16)
}
