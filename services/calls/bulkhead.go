package calls

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// bulkhead admits calls to one source: as many at once as it has places, and of one caller
// half of them. So a source that hangs holds no other source's calls up, and a caller whose
// calls hang leaves room for the others. Who waits is served in the order of arrival, those
// left out whose share is taken.
type bulkhead struct {
	places  int
	waiting int           // calls that may wait
	maxWait time.Duration // for which one does

	mu   sync.Mutex
	used int
	by   map[string]int // places by caller
	line []*waiter
}

// waiter is a call that waits for a place.
type waiter struct {
	caller string
	ready  chan struct{} // closed when it has a place
}

// waitersAPlace is how many calls may wait for each place.
const waitersAPlace = 16

func newBulkhead(places int, maxWait time.Duration) *bulkhead {
	return &bulkhead{places: places, waiting: places * waitersAPlace, maxWait: maxWait, by: map[string]int{}}
}

func (b *bulkhead) share() int { return max(1, (b.places+1)/2) }

// enter waits for a place. Its error is the context's, or an *Error that says whose room is
// taken.
func (b *bulkhead) enter(ctx context.Context, caller string) (leave func(), err error) {
	b.mu.Lock()
	if b.fits(caller) {
		b.take(caller)
		b.mu.Unlock()
		return b.leaving(caller), nil
	}
	if len(b.line) >= b.waiting {
		defer b.mu.Unlock()
		return nil, b.full(caller)
	}
	w := &waiter{caller, make(chan struct{})}
	b.line = append(b.line, w)
	b.mu.Unlock()
	timer := time.NewTimer(b.maxWait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return b.leaving(caller), nil
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.line, w); at >= 0 {
		b.line = slices.Delete(b.line, at, at+1)
	} else if ctx.Err() == nil { // it got a place just now
		return b.leaving(caller), nil
	} else {
		b.free(caller)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, b.full(caller)
}

// fits reports whether there is a place for a caller. It is called with mu held.
func (b *bulkhead) fits(caller string) bool {
	return b.used < b.places && b.by[caller] < b.share()
}

func (b *bulkhead) take(caller string) {
	b.used++
	b.by[caller]++
}

// leaving returns what gives a place back, once.
func (b *bulkhead) leaving(caller string) func() {
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free(caller)
	})
}

// free gives a place to who waits. It is called with mu held.
func (b *bulkhead) free(caller string) {
	b.used--
	if b.by[caller]--; b.by[caller] == 0 {
		delete(b.by, caller)
	}
	for {
		at := slices.IndexFunc(b.line, func(w *waiter) bool { return b.fits(w.caller) })
		if at < 0 {
			return
		}
		b.take(b.line[at].caller)
		close(b.line[at].ready)
		b.line = slices.Delete(b.line, at, at+1)
	}
}

// full returns the error for a caller who finds no place. It is called with mu held.
func (b *bulkhead) full(caller string) error {
	if b.by[caller] >= b.share() {
		return busy(http.StatusTooManyRequests, b.maxWait/2, "one caller may have %d calls to this source at once", b.share())
	}
	return busy(http.StatusServiceUnavailable, b.maxWait/2, "too many calls to this source wait for their turn")
}
