package calls

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// bulkhead bounds the calls to one source: as many at once as it has slots, and of one caller
// half of them. So a source that hangs holds no other source's calls up, and a caller whose
// calls hang leaves slots for the others. Who waits is served in the order of arrival, those
// left out whose share is taken.
type bulkhead struct {
	maxQueue int           // calls that may wait
	maxWait  time.Duration // for which one does

	mu    sync.Mutex
	slots slots // by caller
	queue []*waiter
}

// waiter is a call that waits for a slot.
type waiter struct {
	caller string
	ready  chan struct{} // closed when it has a slot
}

// waitersPerSlot is how many calls may wait for each slot.
const waitersPerSlot = 16

func newBulkhead(n int, maxWait time.Duration) *bulkhead {
	return &bulkhead{slots: newSlots(n), maxQueue: n * waitersPerSlot, maxWait: maxWait}
}

// acquire waits for a slot. Its error is the context's, or an *Error that says whose slots are
// taken.
func (b *bulkhead) acquire(ctx context.Context, caller string) (release func(), err error) {
	b.mu.Lock()
	if b.slots.take(caller) {
		b.mu.Unlock()
		return b.releaseOf(caller), nil
	}
	if len(b.queue) >= b.maxQueue {
		defer b.mu.Unlock()
		return nil, b.full(caller)
	}
	w := &waiter{caller, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	return b.wait(ctx, w)
}

// wait waits until a call of the queue has a slot.
func (b *bulkhead) wait(ctx context.Context, w *waiter) (release func(), err error) {
	timer := time.NewTimer(b.maxWait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return b.releaseOf(w.caller), nil
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.queue, w); at >= 0 {
		b.queue = slices.Delete(b.queue, at, at+1)
	} else if ctx.Err() == nil { // it got a slot just now
		return b.releaseOf(w.caller), nil
	} else {
		b.free(w.caller)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, b.full(w.caller)
}

// releaseOf returns what gives a slot back, once.
func (b *bulkhead) releaseOf(caller string) func() {
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free(caller)
	})
}

// free gives a slot to who waits. It is called with mu held.
func (b *bulkhead) free(caller string) {
	b.slots.leave(caller)
	for {
		at := slices.IndexFunc(b.queue, func(w *waiter) bool { return b.slots.take(w.caller) })
		if at < 0 {
			return
		}
		close(b.queue[at].ready)
		b.queue = slices.Delete(b.queue, at, at+1)
	}
}

// full returns the error for a caller who finds no slot. It is called with mu held.
func (b *bulkhead) full(caller string) error {
	if share := b.slots.share(); b.slots.by[caller] >= share {
		return busy(http.StatusTooManyRequests, b.maxWait/2, "one caller may have %d calls to this source at once, and has them: wait for their answers", share)
	}
	return busy(http.StatusServiceUnavailable, b.maxWait/2, "too many calls to this source are under way or wait for their turn: call again later")
}

// slots are taken by calls, and at most half of them by those of one holder.
type slots struct {
	most, used int
	by         map[string]int // in use, by holder
}

func newSlots(n int) slots { return slots{most: n, by: map[string]int{}} }

// share is how many of them one holder may have.
func (s *slots) share() int { return max(1, (s.most+1)/2) }

// take takes a slot for a holder, if there is one for it.
func (s *slots) take(holder string) bool {
	if s.used >= s.most || s.by[holder] >= s.share() {
		return false
	}
	s.used++
	s.by[holder]++
	return true
}

func (s *slots) leave(holder string) {
	s.used--
	if s.by[holder]--; s.by[holder] == 0 {
		delete(s.by, holder)
	}
}

// total bounds the calls under way, with those that wait for a slot of their source: of one
// tenant to half of them, so that one whose sources hang leaves room for the others.
type total struct {
	mu    sync.Mutex
	slots slots // by tenant
}

// take reports whether there is room for a call of a tenant, which then leaves.
func (t *total) take(tenant string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slots.take(tenant)
}

func (t *total) leave(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots.leave(tenant)
}
