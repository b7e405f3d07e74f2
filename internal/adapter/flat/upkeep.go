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

// saveInterval is how often the lexical index is saved while changes come in:
// a start after a crash then analyses no more than their texts.
const saveInterval = 5 * time.Minute

// quietInterval is how long a tenant is left alone before its lexical scores
// are made exact without being due: an answer then depends on what is indexed,
// and not on the batches in which it came.
const quietInterval = time.Second

// minRebuild keeps small lexical indexes from being rebuilt all the time.
const minRebuild = 256

// upkeep is what goes on in the background while an index is open: merging
// lexical indexes, whose scores grow inexact with changes, and saving them.
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
			if err := i.saveLexical(); err != nil {
				i.config.Logger.Warn("the next start will take longer", "err", err)
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

// saveLexical saves the lexical indexes of all tenants if anything has changed
// since they were saved last.
func (i *Index) saveLexical() error {
	i.saving.Lock()
	defer i.saving.Unlock()
	generation := i.state.Load().generation
	if generation == i.saved {
		return nil
	}
	var all []named
	i.tenants.Range(func(key, t any) bool {
		all = append(all, named{key.(string), t.(*tenant).now.Load()})
		return true
	})
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	if err := saveCache(i.config.Path, all); err != nil {
		return err
	}
	i.saved = generation
	return nil
}
