package ingest

import (
	"sync"
	"time"
)

// maxRevision keeps revisions exact as JSON numbers.
const maxRevision = 1<<53 - 1

// Clock is a hybrid logical clock in microseconds (Kulkarni et al. 2014,
// "Logical Physical Clocks", reduced to one counter): it follows the wall
// clock while that runs ahead, and counts on by itself while it does not.
// Its methods may be called concurrently.
type Clock struct {
	now func() time.Time

	mu   sync.Mutex
	last uint64 // guarded by mu: the highest revision given out or seen
}

// NewClock returns a clock on the given wall clock.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Next returns a revision above every one that was given out or observed.
func (c *Clock) Next() uint64 {
	wall := c.now().UnixMicro()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	if wall > 0 && wall < maxRevision { // a wall clock centuries ahead must not use up the range
		c.last = max(c.last, uint64(wall))
	}
	return c.last
}

// Observe makes revision one that Next stays above. A number that no clock of
// ours gives out is ignored, so that one bad record can not use up the range.
func (c *Clock) Observe(revision uint64) {
	if revision > maxRevision {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, revision)
}
