// Package fairqueue shares a fixed number of slots among groups, which take turns: tenants,
// callers or stages, as the user of a Queue sees fit.
package fairqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrFull is returned for a claim that would wait too long, or with too many others.
var ErrFull = errors.New("the queue is full")

// Config bounds a Queue. A bound of 0 does not apply.
type Config struct {
	Slots      int           // claims served at once
	MaxWaiting int           // claims that may wait
	MaxWait    time.Duration // a claim that is expected to wait longer is refused at once
}

// Claim asks for a slot. Groups take turns; within a group, members do; the claims of a member
// are served in order of arrival.
type Claim struct {
	Group  string
	Member string
	Limit  int  // slots the group may hold at once; 0: all of them
	Last   bool // served only while no other claim can be, and never refused as ErrFull
}

// Queue hands out slots. It may be used concurrently.
type Queue struct {
	cfg Config

	mu     sync.Mutex
	free   int
	held   map[string]int // slots by group
	groups []*group       // that wait, the next to be served first
	last   []*waiter
	mean   time.Duration // moving mean of the time that a slot is held, 0 at first
}

// group is the claims of one group that wait.
type group struct {
	name    string
	waiting []*waiter // the next to be served first; never empty
	round   int       // of the claim that was served last
}

// waiter is a claim that waits. Each member of a group has one claim in a round.
type waiter struct {
	Claim
	round  int
	back   bool          // it had a slot before
	served chan struct{} // closed once it has a slot
}

// meanOver is roughly how many claims the moving mean goes back.
const meanOver = 32

// New returns a queue whose slots are all free.
func New(cfg Config) *Queue {
	return &Queue{cfg: cfg, free: cfg.Slots, held: map[string]int{}}
}

// Slot is a slot that a claim holds until it is released.
type Slot struct {
	queue *Queue
	claim Claim
	since time.Time     // when it was taken, or taken again
	held  time.Duration // before that
}

// Acquire waits for a slot. Its error is ErrFull, or the cause of ctx's end.
func (q *Queue) Acquire(ctx context.Context, c Claim) (*Slot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := &waiter{Claim: c, served: make(chan struct{})}
	q.mu.Lock()
	if !c.Last && !q.servable(c) && q.full(w) {
		q.mu.Unlock()
		return nil, ErrFull
	}
	q.enqueue(w)
	q.mu.Unlock()
	select {
	case <-w.served:
		return &Slot{queue: q, claim: c, since: time.Now()}, nil
	case <-ctx.Done():
		q.abandon(w)
		return nil, context.Cause(ctx)
	}
}

// TryAcquire takes a slot if the claim can be served at once.
func (q *Queue) TryAcquire(c Claim) (*Slot, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.servable(c) {
		return nil, false
	}
	q.take(c)
	return &Slot{queue: q, claim: c, since: time.Now()}, true
}

// AtLimit reports whether the group of a claim holds all slots that its limit allows.
func (q *Queue) AtLimit(c Claim) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.Limit > 0 && q.held[c.Group] >= c.Limit
}

// Waiting returns the number of waiting claims, except the ones to be served last.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting()
}

// InUse returns how many slots are held.
func (q *Queue) InUse() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg.Slots - q.free
}

// Release gives the slot back. It is called once.
func (s *Slot) Release() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	held := s.held + time.Since(s.since)
	q.mean += (held - q.mean) / meanOver
	q.handOn(s.claim)
}

// Away gives the slot back while do runs, and takes the next slot of its group: the claim does not
// join the end of the queue again.
func (s *Slot) Away(do func()) {
	q := s.queue
	q.mu.Lock()
	s.held += time.Since(s.since)
	q.handOn(s.claim)
	q.mu.Unlock()
	do()
	w := &waiter{Claim: s.claim, back: true, served: make(chan struct{})}
	q.mu.Lock()
	q.enqueue(w)
	q.mu.Unlock()
	<-w.served
	s.since = time.Now()
}

// abandon gives up waiting, or a slot that arrived too late.
func (q *Queue) abandon(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.last, w); at >= 0 {
		q.last = slices.Delete(q.last, at, at+1)
		return
	}
	for i, g := range q.groups {
		if at := slices.Index(g.waiting, w); at >= 0 {
			if g.waiting = slices.Delete(g.waiting, at, at+1); len(g.waiting) == 0 {
				q.groups = slices.Delete(q.groups, i, i+1)
			}
			return
		}
	}
	q.handOn(w.Claim)
}

// The methods below are called with mu held.

func (q *Queue) servable(c Claim) bool {
	return q.free > 0 && (c.Limit == 0 || q.held[c.Group] < c.Limit)
}

func (q *Queue) take(c Claim) {
	q.free--
	q.held[c.Group]++
}

func (q *Queue) waiting() (n int) {
	for _, g := range q.groups {
		n += len(g.waiting)
	}
	return n
}

// full reports whether a claim that cannot be served at once must be refused.
func (q *Queue) full(w *waiter) bool {
	if q.cfg.MaxWaiting > 0 && q.waiting() >= q.cfg.MaxWaiting {
		return true
	}
	before := 0 // claims of its group
	if g := q.group(w.Group); g != nil {
		before, _ = g.position(w)
	}
	all := before + 1 // with as many of each other group
	for _, g := range q.groups {
		if g.name != w.Group {
			all += min(len(g.waiting), before+1)
		}
	}
	return q.cfg.MaxWait > 0 && q.mean*time.Duration(all)/time.Duration(q.cfg.Slots) > q.cfg.MaxWait
}

// group returns the waiting claims of a group, or nil.
func (q *Queue) group(name string) *group {
	if at := slices.IndexFunc(q.groups, func(g *group) bool { return g.name == name }); at >= 0 {
		return q.groups[at]
	}
	return nil
}

// position returns the index and the round of a claim in its group: after the other claims of its
// member, before claims of later rounds. A claim that comes back goes before claims that were
// never served.
func (g *group) position(w *waiter) (at, round int) {
	if w.back {
		for at < len(g.waiting) && g.waiting[at].back {
			at++
		}
		return at, g.round
	}
	round = g.round
	for _, other := range g.waiting {
		if other.Member == w.Member && !other.back {
			round = max(round, other.round+1)
		}
	}
	at = len(g.waiting)
	for at > 0 && !g.waiting[at-1].back && g.waiting[at-1].round > round {
		at--
	}
	return at, round
}

// enqueue serves a claim, or gives it a position to wait at.
func (q *Queue) enqueue(w *waiter) {
	if q.servable(w.Claim) {
		q.take(w.Claim)
		close(w.served)
		return
	}
	if w.Last && !w.back {
		q.last = append(q.last, w)
		return
	}
	g := q.group(w.Group)
	if g == nil {
		g = &group{name: w.Group}
		q.groups = append(q.groups, g)
	}
	at, round := g.position(w)
	w.round = round
	g.waiting = slices.Insert(g.waiting, at, w)
}

// handOn gives the slot of a claim to the next claim that can be served.
func (q *Queue) handOn(c Claim) {
	q.free++
	if q.held[c.Group]--; q.held[c.Group] == 0 {
		delete(q.held, c.Group)
	}
	var next *waiter
	if at := slices.IndexFunc(q.groups, func(g *group) bool { return q.servable(g.waiting[0].Claim) }); at >= 0 {
		g := q.groups[at]
		next = g.waiting[0]
		q.groups = slices.Delete(q.groups, at, at+1)
		g.waiting, g.round = slices.Delete(g.waiting, 0, 1), next.round
		if len(g.waiting) > 0 {
			q.groups = append(q.groups, g)
		}
	} else if len(q.last) > 0 {
		next = q.last[0]
		q.last = slices.Delete(q.last, 0, 1)
	} else {
		return
	}
	q.take(next.Claim)
	close(next.served)
}
