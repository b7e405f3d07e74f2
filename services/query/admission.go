package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
)

// ErrBusy is returned for a search that would wait too long for its turn. It is an
// ErrUnavailable.
var ErrBusy = fmt.Errorf("%w: too many searches wait for their turn", ErrUnavailable)

// queue admits searches, as many at once as it has places. Tenants take turns; within a
// tenant, callers do; and the searches of a caller keep the order in which they come. A
// search needs a place while it uses the processor, and none while it waits for another
// process.
type queue struct {
	places  int
	maxWait time.Duration // a search that would wait longer is refused when it comes

	mu    sync.Mutex
	free  int
	lines []*tenantLine // of the tenants whose searches wait, the next one to be served first; empty while places are free
	last  []*waiter     // searches of evaluations, which get a place while no line is there
	held  time.Duration // for which a search holds its place: a moving mean, 0 at first
}

// tenantLine is the searches of one tenant that wait.
type tenantLine struct {
	tenant  string
	waiting []*waiter // the next one to be served first; never empty
	round   int       // of the one that was served last
}

// waiter is a search that waits. Each caller has one search in a round.
type waiter struct {
	caller identity.Caller
	round  int
	back   bool          // it had a place before
	ready  chan struct{} // closed when it has a place
}

// meanOver is how many searches the moving mean of a queue goes back, about.
const meanOver = 32

func newQueue(places int, maxWait time.Duration) *queue {
	return &queue{places: places, maxWait: maxWait, free: places}
}

// turn is the time in which a search has a place. A search with a nil turn needs no place.
type turn struct {
	*queue
	caller identity.Caller
	since  time.Time     // when it was taken, or taken again
	held   time.Duration // before that
}

// enter waits for a place. Its error is ErrBusy where the wait would be too long, or was
// longer than the search may last, and the context's where the caller has left.
func (q *queue) enter(ctx context.Context, caller identity.Caller) (*turn, error) {
	w := &waiter{caller: caller, ready: make(chan struct{})}
	q.mu.Lock()
	if q.free == 0 && q.wait(w) > q.maxWait {
		q.mu.Unlock()
		return nil, ErrBusy
	}
	q.join(w)
	q.mu.Unlock()
	select {
	case <-w.ready:
		return &turn{queue: q, caller: caller, since: time.Now()}, nil
	case <-ctx.Done():
	}
	q.abandon(w)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, ErrBusy
	}
	return nil, ctx.Err()
}

// enterLast waits for a place that no search of a caller wants, for as long as ctx lasts.
func (q *queue) enterLast(ctx context.Context, caller identity.Caller) (*turn, error) {
	if err := ctx.Err(); err != nil { // of a free place and a context that is done, select takes any
		return nil, err
	}
	w := &waiter{caller: caller, ready: make(chan struct{})}
	q.mu.Lock()
	if q.free > 0 {
		q.join(w)
	} else {
		q.last = append(q.last, w)
	}
	q.mu.Unlock()
	select {
	case <-w.ready:
		return &turn{queue: q, caller: caller, since: time.Now()}, nil
	case <-ctx.Done():
	}
	q.abandon(w)
	return nil, ctx.Err()
}

// wait returns how long a search that comes now would wait, while no place is free: for
// those of its tenant before it, and for as many of each other tenant.
func (q *queue) wait(w *waiter) time.Duration {
	before := 0
	if own := q.line(w.caller.Tenant); own != nil {
		before, _ = own.place(w)
	}
	all := before + 1
	for _, l := range q.lines {
		if l.tenant != w.caller.Tenant {
			all += min(len(l.waiting), before+1)
		}
	}
	return q.held * time.Duration(all) / time.Duration(q.places)
}

// line returns the line of a tenant, nil where none of its searches waits.
func (q *queue) line(tenant string) *tenantLine {
	for _, l := range q.lines {
		if l.tenant == tenant {
			return l
		}
	}
	return nil
}

// place returns where in a line a search belongs, and its round: behind the others of its
// caller, and in front of those that have more searches before them. One that comes back
// stands before those that have not begun.
func (l *tenantLine) place(w *waiter) (at, round int) {
	if w.back {
		for at < len(l.waiting) && l.waiting[at].back {
			at++
		}
		return at, l.round
	}
	round = l.round
	for _, other := range l.waiting {
		if other.caller.Subject == w.caller.Subject && !other.back {
			round = max(round, other.round+1)
		}
	}
	at = len(l.waiting)
	for at > 0 && !l.waiting[at-1].back && l.waiting[at-1].round > round {
		at--
	}
	return at, round
}

// join takes a free place or joins those that wait.
func (q *queue) join(w *waiter) {
	if q.free > 0 {
		q.free--
		close(w.ready)
		return
	}
	l := q.line(w.caller.Tenant)
	if l == nil {
		l = &tenantLine{tenant: w.caller.Tenant}
		q.lines = append(q.lines, l)
	}
	at, round := l.place(w)
	w.round = round
	l.waiting = slices.Insert(l.waiting, at, w)
}

// abandon gives up waiting, and the place if it was given meanwhile.
func (q *queue) abandon(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.last, w); at >= 0 {
		q.last = slices.Delete(q.last, at, at+1)
		return
	}
	for i, l := range q.lines {
		if at := slices.Index(l.waiting, w); at >= 0 {
			if l.waiting = slices.Delete(l.waiting, at, at+1); len(l.waiting) == 0 {
				q.lines = slices.Delete(q.lines, i, i+1)
			}
			return
		}
	}
	q.pass()
}

// pass gives a place to the next one.
func (q *queue) pass() {
	if len(q.lines) == 0 && len(q.last) == 0 {
		q.free++
		return
	}
	if len(q.lines) == 0 {
		w := q.last[0]
		q.last = slices.Delete(q.last, 0, 1)
		close(w.ready)
		return
	}
	l := q.lines[0]
	q.lines = slices.Delete(q.lines, 0, 1)
	w := l.waiting[0]
	l.waiting, l.round = slices.Delete(l.waiting, 0, 1), w.round
	if len(l.waiting) > 0 {
		q.lines = append(q.lines, l)
	}
	close(w.ready)
}

// length returns how many searches of callers wait.
func (q *queue) length() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		n += len(l.waiting)
	}
	return n
}

// leave gives the place up for good. It is called once.
func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held + time.Since(t.since)
	t.queue.held += (held - t.queue.held) / meanOver
	t.pass()
}

// away does what may wait elsewhere, in another process. Meanwhile the search gives its
// place up, and then takes the next one that its tenant gets: it does not join the end of
// the line again.
func (t *turn) away(elsewhere bool, do func()) {
	if t == nil || !elsewhere {
		do()
		return
	}
	t.mu.Lock()
	t.held += time.Since(t.since)
	t.pass()
	t.mu.Unlock()
	do()
	w := &waiter{caller: t.caller, back: true, ready: make(chan struct{})}
	t.mu.Lock()
	t.join(w)
	t.mu.Unlock()
	<-w.ready
	t.since = time.Now()
}
