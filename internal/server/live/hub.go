// Package live streams changes to callers as server-sent events. Events are made once for each
// tenant, however many streams it has.
package live

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// Index reports its changes.
type Index interface {
	// Watch calls fn with each batch of a tenant's changes from now on; nil ends that.
	Watch(fn func(tenant string, changes iter.Seq[flat.Changed]))
}

// Deps are the sources of the events.
type Deps struct {
	Report      func(ctx context.Context) status.Status // as an operator of the tenant of ctx sees it
	Samples     func(tenant string, most int) []status.Sample
	Scope       func(c identity.Caller, a policy.Action) (*policy.Scope, error)
	Index       func() Index // that is searched
	DeadLetters func(ctx context.Context) (open int, reasons map[string]int)
	Sources     func(ctx context.Context, tenant string) ([]sources.Source, error) // as they are shown to callers
	Weights     func(tenant string) (version string, epoch uint64)
	Closed      func(tenant string) bool // the tenant is being erased
	Registerer  prometheus.Registerer
}

// Bounds of the number of streams. Readers cannot use up the streams of operators.
const (
	maxStreams           = 2048
	maxPerTenant         = 256
	reservedForOperators = maxPerTenant / 4
)

// buffered is how many events a client may be behind before it counts as too slow.
const buffered = 64

// Why streams end.
const (
	endedClient     = "client"     // it is gone
	endedSlow       = "slow"       // it does not read
	endedCredential = "credential" // it has expired, was revoked, or proves another caller
	endedStopped    = "stopped"    // the server stops
	endedErased     = "erased"     // the tenant is being erased
)

var errFull = errors.New("the tenant or the server has too many streams already")

// Hub has the streams of all tenants. Its methods may be called concurrently.
type Hub struct {
	deps  Deps
	open  prometheus.Gauge
	ended *prometheus.CounterVec

	byTenant sync.Map // feeds again, for the writer of the index, which must not wait for mu

	mu      sync.Mutex // guards what follows
	feeds   map[string]*feed
	watched Index // nil without streams
}

// New returns a hub without streams.
func New(d Deps) *Hub {
	on := telemetry.Metrics(d.Registerer)
	return &Hub{
		deps: d, feeds: map[string]*feed{},
		open: on.NewGauge("toolstream_streams", "Callers that listen to GET /v1/stream."),
		ended: on.NewCounterVec("toolstream_streams_ended_total",
			"Ended streams: client (left), slow (does not read), credential (expired, revoked or changed), stopped (the server), erased (the tenant).",
			[]string{"reason"}, []string{endedClient, endedSlow, endedCredential, endedStopped, endedErased}),
	}
}

// listener is one stream.
type listener struct {
	caller identity.Caller
	frames chan []byte
	ended  chan struct{} // closed once the stream ends
	why    string        // the reason; written before
}

// join starts a stream for a caller. The error is errFull.
func (h *Hub) join(c identity.Caller) (*listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own, all := 0, 0
	for tenant, f := range h.feeds {
		f.mu.Lock()
		n := len(f.streams)
		f.mu.Unlock()
		if all += n; tenant == c.Tenant {
			own = n
		}
	}
	limit := maxPerTenant
	if !c.Role.Includes(identity.Operator) {
		limit -= reservedForOperators
	}
	if own >= limit || all >= maxStreams || h.deps.Closed(c.Tenant) {
		return nil, errFull
	}
	f := h.feeds[c.Tenant]
	if f == nil {
		ctx, cancel := context.WithCancel(identity.With(context.Background(), identity.Caller{Tenant: c.Tenant, Role: identity.Operator}))
		f = &feed{
			hub: h, tenant: c.Tenant, cancel: cancel, poll: make(chan struct{}, 1), report: make(chan struct{}, 1),
			streams: map[*listener]bool{}, present: map[string][]byte{}, changes: map[schema.Ref]change{},
		}
		f.work.Go(func() { f.watch(ctx) })
		f.work.Go(func() { f.watchStatus(ctx) })
		h.feeds[c.Tenant] = f
		h.byTenant.Store(c.Tenant, f)
	}
	h.follow()
	l := &listener{caller: c, frames: make(chan []byte, buffered), ended: make(chan struct{})}
	f.add(l)
	h.open.Inc()
	return l, nil
}

// leave ends a stream, and with the last stream of a tenant its feed.
func (h *Hub) leave(l *listener, why string) {
	h.mu.Lock()
	last, f := false, h.feeds[l.caller.Tenant]
	if f != nil {
		f.mu.Lock()
		delete(f.streams, l)
		last = len(f.streams) == 0
		f.mu.Unlock()
	}
	if last {
		delete(h.feeds, l.caller.Tenant)
		h.byTenant.Delete(l.caller.Tenant)
	}
	if len(h.feeds) == 0 && h.watched != nil {
		h.watched.Watch(nil)
		h.watched = nil
	}
	h.mu.Unlock()
	if last {
		f.cancel()
		f.work.Wait() // without mu, which it may wait for
	}
	h.open.Dec()
	h.ended.WithLabelValues(why).Inc()
}

// Erase ends all streams of a tenant.
func (h *Hub) Erase(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[tenant]; f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		for l := range f.streams {
			l.end(endedErased)
		}
	}
}

// follow watches the index that searches use now. It is called with mu held.
func (h *Hub) follow() {
	if now := h.deps.Index(); now != h.watched {
		if h.watched != nil {
			h.watched.Watch(nil)
		}
		h.watched = now
		now.Watch(func(tenant string, changes iter.Seq[flat.Changed]) { // the writer waits for it
			if f, ok := h.byTenant.Load(tenant); ok {
				f.(*feed).record(changes)
			}
		})
	}
}

// refollow is follow for a feed.
func (h *Hub) refollow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.feeds) > 0 {
		h.follow()
	}
}

// The pace of events.
const (
	toolsEvery = time.Second
	stateEvery = 2 * time.Second
	pollWithin = 5 * time.Second // while it is polled, changes of tools are kept
	checkEvery = 5 * time.Second // the credential
	beatEvery  = 15 * time.Second
)
