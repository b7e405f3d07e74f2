package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The runtime lets a heap double before it collects, which suits programs that
// hold little. This one holds an index: the other half would be as much again,
// for the sake of garbage that is a fraction of it. So garbage may grow to a
// third of what lives, and to spare where little lives, because collecting
// costs by what lives. On two processors an import pays a few percent of its
// time for that.
const (
	garbageShare = 33       // percent of what lives
	garbageLeast = 96 << 20 // bytes
	garbageMost  = 400      // percent: of a heap that is as good as empty
)

// paceEvery is how often the allowance is fitted to what lives. A start reads a
// few hundred megabytes a second, an import adds far less.
const paceEvery = 250 * time.Millisecond

// liveBytes names what the last collection left.
const liveBytes = "/gc/heap/live:bytes"

// PaceMemory fits how much garbage may gather in this process to what lives,
// until ctx ends. It does nothing where the operator has decided: GOGC is the
// runtime's own variable. What GOMEMLIMIT says holds in any case.
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

// allowance returns the garbage allowed beside live bytes, in percent of them.
// It goes in steps, because every change stops the world for a moment.
func allowance(live uint64) int {
	percent := min(garbageMost, garbageLeast*100/max(live, 1))
	return int(max(garbageShare, percent/10*10))
}
