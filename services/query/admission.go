package query

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBusy is returned for a search that would wait too long for its turn. It is an
// ErrUnavailable.
var ErrBusy = fmt.Errorf("%w: too many searches wait for their turn", ErrUnavailable)

// queue admits searches in the order in which they come, as many at once as it has
// places. A search needs a place while it uses the processor, and none while it waits for
// another process.
type queue struct {
	places  int
	maxWait time.Duration // a search that would wait longer is refused when it comes

	mu      sync.Mutex
	free    int
	waiting list.List     // of chan struct{}, closed when a place is given; empty while places are free
	held    time.Duration // for which a search holds its place: a moving mean, 0 at first
}

// meanOver is how many searches the moving mean of a queue goes back, about.
const meanOver = 32

func newQueue(places int, maxWait time.Duration) *queue {
	return &queue{places: places, maxWait: maxWait, free: places}
}

// turn is the time in which a search has a place. A search with a nil turn needs no place.
type turn struct {
	*queue
	since time.Time     // when it was taken, or taken again
	held  time.Duration // before that
}

// enter waits for a place. Its error is ErrBusy where the wait would be too long, or was
// longer than the search may last, and the context's where the caller has left.
func (q *queue) enter(ctx context.Context) (*turn, error) {
	q.mu.Lock()
	if q.free == 0 && q.wait() > q.maxWait {
		q.mu.Unlock()
		return nil, ErrBusy
	}
	ready := q.line(q.waiting.PushBack)
	q.mu.Unlock()
	select {
	case <-ready:
		return &turn{queue: q, since: time.Now()}, nil
	case <-ctx.Done():
	}
	q.abandon(ready)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, ErrBusy
	}
	return nil, ctx.Err()
}

// wait returns how long a search that comes now would wait, while no place is free.
func (q *queue) wait() time.Duration {
	return q.held * time.Duration(q.waiting.Len()+1) / time.Duration(q.places)
}

// line takes a free place or joins those that wait. The channel is closed when the place
// is there.
func (q *queue) line(join func(any) *list.Element) chan struct{} {
	ready := make(chan struct{})
	if q.free > 0 {
		q.free--
		close(ready)
	} else {
		join(ready)
	}
	return ready
}

// abandon gives up waiting, and the place if it was given meanwhile.
func (q *queue) abandon(ready chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		if e.Value == ready {
			q.waiting.Remove(e)
			return
		}
	}
	q.pass()
}

// pass gives a place to the one that has waited longest.
func (q *queue) pass() {
	first := q.waiting.Front()
	if first == nil {
		q.free++
		return
	}
	close(q.waiting.Remove(first).(chan struct{}))
}

// length returns how many searches wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.Len()
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
// place up, and then takes the next one that is free: it does not join the end of the queue
// again.
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
	t.mu.Lock()
	ready := t.line(t.waiting.PushFront)
	t.mu.Unlock()
	<-ready
	t.since = time.Now()
}
