package calls

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/kit/fairqueue"
)

// sourceKey names a source of a tenant.
type sourceKey struct{ tenant, source string }

// upstreams bound and watch the calls to each source.
type upstreams struct {
	cfg Config
	log *slog.Logger

	mu  sync.Mutex
	all map[sourceKey]*upstream
}

// upstream bounds and watches all calls to one source.
type upstream struct {
	slots   *fairqueue.Queue
	share   int           // slots of one caller
	maxWait time.Duration // for a slot
	breaker *breaker
	users   int // guarded by upstreams.mu
}

// waitersPerSlot is how many calls may wait for each slot.
const waitersPerSlot = 16

// half is the share of n slots that one caller of a source, or one tenant, may hold: if its calls
// hang, the others have slots left.
func half(n int) int { return max(1, (n+1)/2) }

// get returns the upstream of a source, which is kept until done is called.
func (us *upstreams) get(key sourceKey) (u *upstream, done func()) {
	us.mu.Lock()
	defer us.mu.Unlock()
	u = us.all[key]
	if u == nil {
		u = &upstream{
			slots: fairqueue.New(fairqueue.Config{Slots: us.cfg.PerSource, MaxWaiting: us.cfg.PerSource * waitersPerSlot}),
			share: half(us.cfg.PerSource), maxWait: us.cfg.MaxWait,
			breaker: newBreaker(key.tenant+"/"+key.source, us.cfg.BreakerPause, us.log),
		}
		us.all[key] = u
	}
	u.users++
	return u, func() {
		us.mu.Lock()
		defer us.mu.Unlock()
		u.users--
	}
}

// open reports whether the breaker of a source is open.
func (us *upstreams) open(key sourceKey) bool {
	us.mu.Lock()
	u := us.all[key]
	us.mu.Unlock()
	return u != nil && u.breaker.open()
}

// sweep forgets upstreams that have no users and whose breaker has counted no failure.
func (us *upstreams) sweep() {
	us.mu.Lock()
	defer us.mu.Unlock()
	for key, u := range us.all {
		if u.users == 0 && u.breaker.idle() {
			delete(us.all, key)
		}
	}
}

var errWaited = errors.New("no slot became free in time")

// acquire waits for a slot. Its error is the cause of ctx's end, or an *Error that says whose
// slots are taken.
func (u *upstream) acquire(ctx context.Context, caller string) (*fairqueue.Slot, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, u.maxWait, errWaited)
	defer cancel()
	claim := fairqueue.Claim{Group: caller, Limit: u.share}
	slot, err := u.slots.Acquire(waiting, claim)
	switch {
	case err == nil || ctx.Err() != nil:
		return slot, err
	case u.slots.AtLimit(claim):
		return nil, busy(http.StatusTooManyRequests, u.maxWait/2, "one caller may have %d calls to this source at once, and has them: wait for their answers", u.share)
	}
	return nil, busy(http.StatusServiceUnavailable, u.maxWait/2, "too many calls to this source are under way or wait for their turn: call again later")
}
