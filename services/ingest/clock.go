package ingest

import (
	"sync"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// A clock is a hybrid logical clock in microseconds (Kulkarni et al. 2014,
// "Logical Physical Clocks", reduced to one counter): it follows the wall
// clock while that runs ahead, and counts on by itself while it does not.
// Its methods may be called concurrently.
type clock struct {
	now func() time.Time

	mu   sync.Mutex
	last uint64 // guarded by mu: the highest revision given out or seen
}

// newClock returns a clock on the given wall clock.
func newClock(now func() time.Time) *clock { return &clock{now: now} }

// Next returns a revision above every revision given out or observed.
func (c *clock) Next() uint64 {
	wall := c.now().UnixMicro()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	if wall > 0 && wall < events.MaxRevision { // a wall clock centuries ahead must not use up the range
		c.last = max(c.last, uint64(wall))
	}
	return c.last
}

// Observe makes Next stay above revision. A number that no clock gives out is
// ignored, so that one bad record cannot use up the range.
func (c *clock) Observe(revision uint64) {
	if revision > events.MaxRevision {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, revision)
}
