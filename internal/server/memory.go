package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// By default the heap doubles before a collection. With an index in memory that would waste half
// of it, so garbage is limited to a third of the live heap. A small heap may have more garbage,
// because the cost of a collection depends on the live heap. On two processors an import takes a
// few percent longer.
const (
	garbageShare = 33       // percent of the live heap
	garbageLeast = 96 << 20 // bytes
	garbageMost  = 400      // percent, for an almost empty heap
)

// paceEvery is the time between two adjustments. The live heap grows by a few hundred megabytes
// per second during a start, and far less during an import.
const paceEvery = 250 * time.Millisecond

// liveBytes is the metric of the live heap after the last collection.
const liveBytes = "/gc/heap/live:bytes"

// PaceMemory adjusts the garbage of this process to its live heap until ctx ends. It does nothing
// if the operator has set GOGC. GOMEMLIMIT applies in any case.
func PaceMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	now, sample := garbageMost, []metrics.Sample{{Name: liveBytes}}
	before := debug.SetGCPercent(now)
	defer debug.SetGCPercent(before)
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if next := allowance(sample[0].Value.Uint64()); next != now {
			debug.SetGCPercent(next)
			now = next
		}
	}
}

// allowance returns the garbage allowed for a live heap, in percent. It has steps, because every
// change stops the world for a moment.
func allowance(live uint64) int {
	percent := min(garbageMost, garbageLeast*100/max(live, 1))
	return int(max(garbageShare, percent/10*10))
}
