// Package inflight bounds the memory that foreign content takes while a process handles it: answers
// of servers, lists of sources, bodies of requests. Tenants share the bound. The reader of such
// content reserves memory in a Hold. A Hold belongs to a request or to a look at a source, and closes
// at its end.
package inflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// What content costs in memory, in bytes.
const (
	PerByte  = 4   // of content: as it is read, copied into the answer, written and held by the connection
	PerValue = 200 // in addition, of JSON that is decoded

	Export = 32 << 20 // an export: a batch of records as it is read, and the next

	Least = 64 << 20 // of a budget: an export has to fit in a share
)

const (
	step  = 64 << 10 // memory is reserved in multiples of it
	small = step     // that each Hold has without the budget: most content costs no more

	maxWait = 10 * time.Second
)

// Config is a budget. The zero value of MaxWait means its default.
type Config struct {
	Bytes   int64
	MaxWait time.Duration // for memory; 10 s
}

// FullError is the error of a reservation that is refused.
type FullError struct {
	After time.Duration // after which to try again; 0: it is more than the budget ever allows
}

func (e *FullError) Error() string {
	if e.After == 0 {
		return "the content is larger than this server may handle (limits.in_flight)"
	}
	return fmt.Sprintf("too much content is under way in this server: try again in %.0f s", e.After.Seconds())
}

// Budget is the memory of a process for content under way. It may be used concurrently. Without a
// bound, it is nil.
//
// A tenant may have as much as stays free (the dynamic threshold of Choudhury and Hahne, 1998): half
// of the budget by itself, a third if another tenant wants as much.
//
// Two Holds that have something and want more could wait for each other. So one Hold at a time, the
// first to wait, has a share of its own: three times what stays free. It finishes and makes room.
// Content that has begun goes before content that has not.
type Budget struct {
	most    int64
	maxWait time.Duration
	refused prometheus.Counter

	mu     sync.Mutex // guards what follows, and every Hold
	used   int64
	shares map[string]*share // by tenant
	first  *Hold             // has a share of its own; may be nil
}

// firstShare is how many times what stays free the first may have.
const firstShare = 3

// share is the part of a tenant. Waiting claims are in order of arrival.
type share struct {
	bytes        int64
	begun, fresh []*claim // of Holds that have something, and of others
}

// claim is a reservation that waits.
type claim struct {
	hold   *Hold
	n      int64
	served chan struct{} // closed once it need not wait
}

// New returns a budget that is free.
func New(c Config, reg prometheus.Registerer) *Budget {
	on := telemetry.Metrics(reg)
	b := &Budget{most: c.Bytes, maxWait: cmp.Or(c.MaxWait, maxWait), shares: map[string]*share{}}
	b.refused = on.NewCounter("toolstream_in_flight_refused_total",
		"Requests, calls and looks at sources that ended because too much content was under way (`limits.in_flight`).")
	on.NewGaugeFunc("toolstream_in_flight_bytes", "Memory that is reserved for content under way, of `limits.in_flight`.", func() float64 { return float64(b.Used()) })
	on.NewGauge("toolstream_in_flight_limit_bytes", "Memory for content under way (`limits.in_flight`).").Set(float64(c.Bytes))
	return b
}

// Used returns how many bytes are reserved.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Open returns a Hold of a tenant, which has nothing yet.
func (b *Budget) Open(tenant string) *Hold {
	if b == nil {
		return nil
	}
	return &Hold{budget: b, tenant: tenant, users: 1}
}

// Hold is the memory of one request, or of one look at a source. Its methods may be called
// concurrently. A nil Hold has no bound.
type Hold struct {
	budget *Budget
	tenant string

	// guarded by budget.mu
	users   int   // how often Close is still to be called
	wanted  int64 // asked of Grow
	bytes   int64 // reserved
	refused *FullError
}

// Grow reserves n more bytes, and waits for them if need be. Its error is a *FullError, or the
// cause of ctx's end. A closed Hold counts nothing: a connection that outlives its request has
// bounds of its own.
func (h *Hold) Grow(ctx context.Context, n int64) error {
	if h == nil {
		return nil
	}
	b := h.budget
	b.mu.Lock()
	if h.users == 0 || h.refused != nil {
		defer b.mu.Unlock()
		return h.failure()
	}
	h.wanted += n
	c := &claim{hold: h, n: h.missing(), served: make(chan struct{})}
	if c.n > 0 && h.bytes+c.n > b.most*firstShare/(1+firstShare) {
		defer b.mu.Unlock()
		b.refuse(h, &FullError{})
		return h.failure()
	}
	waits := c.n > 0 && !b.takeAtOnce(c)
	b.mu.Unlock()
	if !waits {
		return nil
	}
	return b.await(ctx, c)
}

// Shrink gives n bytes back that Grow has reserved.
func (h *Hold) Shrink(n int64) {
	if h == nil {
		return
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if h.users > 0 {
		h.wanted -= n
		h.budget.release(h, max(0, -h.missing()))
	}
}

// Refused returns the error of a reservation that was refused, or nil: not every reader of content
// passes an error on.
func (h *Hold) Refused() *FullError {
	if h == nil {
		return nil
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.refused
}

// Keep returns the Hold once more: it is open until Close has been called for each.
func (h *Hold) Keep() *Hold {
	if h == nil {
		return nil
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if h.users > 0 {
		h.users++
	}
	return h
}

// Another returns a Hold of the same tenant, which has nothing yet.
func (h *Hold) Another() *Hold {
	if h == nil {
		return nil
	}
	return h.budget.Open(h.tenant)
}

// Close gives all memory back.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if h.users == 0 {
		return
	}
	if h.users--; h.users == 0 {
		h.budget.release(h, h.bytes)
	}
}

// The methods below are called with mu held, except for await.

// missing returns how many bytes to reserve, in steps; below 0, how many to give back.
func (h *Hold) missing() int64 {
	return max(0, (h.wanted-small+step-1)/step*step) - h.bytes
}

// failure returns the error of a Hold that was refused, or nil.
func (h *Hold) failure() error {
	if h.refused != nil {
		return h.refused
	}
	return nil
}

func (b *Budget) refuse(h *Hold, err *FullError) {
	h.refused = err
	b.refused.Inc()
}

// takeAtOnce reserves memory if the claim need not wait, and otherwise adds the claim to the waiting
// ones.
func (b *Budget) takeAtOnce(c *claim) bool {
	s := b.shares[c.hold.tenant]
	if s == nil {
		s = &share{}
		b.shares[c.hold.tenant] = s
	}
	begun := c.hold.bytes > 0
	if b.fits(s, c) && (begun || len(s.begun)+len(s.fresh) == 0) {
		b.take(s, c)
		return true
	}
	switch {
	case c.hold == b.first:
		s.begun = slices.Insert(s.begun, 0, c)
	case begun:
		s.begun = append(s.begun, c)
	default:
		s.fresh = append(s.fresh, c)
	}
	b.serve()
	return false
}

// await waits for a claim.
func (b *Budget) await(ctx context.Context, c *claim) error {
	var err error
	timer := time.NewTimer(b.maxWait)
	defer timer.Stop()
	select {
	case <-c.served:
		return nil
	case <-timer.C:
		err = &FullError{After: max(b.maxWait/2, time.Second)}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.served: // meanwhile
		return nil
	default:
	}
	if full := (*FullError)(nil); errors.As(err, &full) {
		b.refuse(c.hold, full)
	}
	s := b.shares[c.hold.tenant]
	is := func(other *claim) bool { return other == c }
	s.begun, s.fresh = slices.DeleteFunc(s.begun, is), slices.DeleteFunc(s.fresh, is)
	b.serve()
	return err
}

// release gives n bytes of a Hold back.
func (b *Budget) release(h *Hold, n int64) {
	b.used -= n
	h.bytes -= n
	switch {
	case h != b.first:
		if s := b.shares[h.tenant]; s != nil {
			s.bytes -= n
		}
	case h.bytes == 0:
		b.first = nil
	}
	b.serve()
}

// fits reports whether there is memory for a claim.
func (b *Budget) fits(s *share, c *claim) bool {
	free := b.most - b.used - c.n
	if c.hold == b.first {
		return c.hold.bytes+c.n <= firstShare*free
	}
	return s.bytes+c.n <= free
}

func (b *Budget) take(s *share, c *claim) {
	b.used += c.n
	c.hold.bytes += c.n
	if c.hold != b.first {
		s.bytes += c.n
	}
}

// serve grants the claims that fit, of the tenant with the least memory first, and forgets
// empty shares.
func (b *Budget) serve() {
	for {
		var next *share
		for tenant, s := range b.shares {
			switch c := s.head(); {
			case c == nil && s.bytes == 0:
				delete(b.shares, tenant)
			case c != nil && (next == nil || s.bytes < next.bytes) && b.fits(s, c):
				next = s
			}
		}
		if next == nil && !b.promote() {
			return
		}
		if next != nil {
			c := next.head()
			next.behead()
			if c.hold.users > 0 {
				b.take(next, c)
			}
			close(c.served)
		}
	}
}

// head returns the claim of a tenant that is served next, or nil.
func (s *share) head() *claim {
	switch {
	case len(s.begun) > 0:
		return s.begun[0]
	case len(s.fresh) > 0:
		return s.fresh[0]
	}
	return nil
}

func (s *share) behead() {
	if len(s.begun) > 0 {
		s.begun = s.begun[1:]
	} else {
		s.fresh = s.fresh[1:]
	}
}

// promote chooses the first among the Holds that have something and wait: of the tenant with the
// least memory, the Hold that waits longest.
func (b *Budget) promote() bool {
	var of *share
	for _, s := range b.shares {
		if len(s.begun) > 0 && (of == nil || s.bytes < of.bytes) {
			of = s
		}
	}
	if b.first != nil || of == nil {
		return false
	}
	b.first = of.begun[0].hold
	of.bytes -= b.first.bytes
	return true
}
