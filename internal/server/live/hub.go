// Package live tells callers what changes, as it does: a stream of events for as long as the
// caller listens. What is sent is worked out once for each tenant, however many listen.
package live

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// Index tells what changes in it.
type Index interface {
	// Watch has fn called with each batch of a tenant's changes; nil ends that.
	Watch(fn func(tenant string, changes iter.Seq[flat.Changed]))
}

// Deps are what the events are made of.
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

// How many streams there may be. A part of those of a tenant is kept for operators: readers
// cannot keep them from seeing how it is.
const (
	maxStreams       = 2048
	maxOfTenant      = 256
	keptForOperators = maxOfTenant / 4
)

// buffered is how many events wait for a client before it counts as too slow.
const buffered = 64

// Why streams end.
const (
	endedClient     = "client"     // it has gone
	endedSlow       = "slow"       // it does not read
	endedCredential = "credential" // it has expired, was revoked, or proves another caller
	endedStopped    = "stopped"    // the server is to stop
	endedErased     = "erased"     // the tenant is being erased
)

// errFull is why there is no stream for a caller.
var errFull = errors.New("too many of the tenant or of the server listen already")

// Hub has the streams of all tenants. Its methods may be called concurrently.
type Hub struct {
	deps  Deps
	open  prometheus.Gauge
	ended *prometheus.CounterVec

	told sync.Map // the rooms by tenant, for the index, whose writer must not wait for what follows

	mu      sync.Mutex // guards what follows
	rooms   map[string]*room
	watched Index // nil: no index is
}

// New returns a hub without streams.
func New(d Deps) *Hub {
	on := metric.At(d.Registerer)
	return &Hub{
		deps: d, rooms: map[string]*room{},
		open: on.NewGauge("toolstream_streams", "Callers that listen to GET /v1/stream."),
		ended: on.NewCounterVec("toolstream_streams_ended_total",
			"Streams that ended, by reason: client (it has gone), slow (it does not read), credential (it has expired, was revoked or proves another caller), stopped (the server), erased (the tenant).",
			[]string{"reason"}, []string{endedClient, endedSlow, endedCredential, endedStopped, endedErased}),
	}
}

// listener is one stream.
type listener struct {
	caller identity.Caller
	frames chan []byte
	ended  chan struct{} // closed once no more comes
	why    string        // that is; written before
}

// join begins a stream of a caller, with the present state as far as it is known. The error is
// errFull.
func (h *Hub) join(c identity.Caller) (*listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of, all := 0, 0
	for tenant, r := range h.rooms {
		n := r.count()
		if all += n; tenant == c.Tenant {
			of = n
		}
	}
	most := maxOfTenant
	if !c.Role.Includes(identity.Operator) {
		most -= keptForOperators
	}
	if of >= most || all >= maxStreams || h.deps.Closed(c.Tenant) {
		return nil, errFull
	}
	l := &listener{caller: c, frames: make(chan []byte, buffered), ended: make(chan struct{})}
	r := h.rooms[c.Tenant]
	if r == nil {
		r = newRoom(h, c.Tenant)
		h.rooms[c.Tenant] = r
		h.told.Store(c.Tenant, r)
	}
	h.follow()
	r.join(l)
	h.open.Inc()
	return l, nil
}

// leave ends a stream. With the last one of a tenant the work for it ends.
func (h *Hub) leave(l *listener, why string) {
	h.mu.Lock()
	r := h.rooms[l.caller.Tenant]
	empty := r != nil && r.leave(l) == 0
	if empty {
		delete(h.rooms, l.caller.Tenant)
		h.told.Delete(l.caller.Tenant)
	}
	if len(h.rooms) == 0 && h.watched != nil {
		h.watched.Watch(nil)
		h.watched = nil
	}
	h.mu.Unlock()
	if empty {
		r.stop()
	}
	h.open.Dec()
	h.ended.WithLabelValues(why).Inc()
}

// Erase ends all streams of a tenant.
func (h *Hub) Erase(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[tenant]; r != nil {
		r.end(endedErased)
	}
}

// follow watches the index that is searched now. It is called with mu held.
func (h *Hub) follow() {
	if now := h.deps.Index(); now != h.watched {
		if h.watched != nil {
			h.watched.Watch(nil)
		}
		h.watched = now
		now.Watch(h.changed)
	}
}

// refollow is follow for a room.
func (h *Hub) refollow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.rooms) > 0 {
		h.follow()
	}
}

// changed notes what has changed in the index. The writer waits for it.
func (h *Hub) changed(tenant string, changes iter.Seq[flat.Changed]) {
	if r, ok := h.told.Load(tenant); ok {
		r.(*room).note(changes)
	}
}

// The pace of events.
const (
	toolsEvery  = time.Second
	stateEvery  = 2 * time.Second
	checkEvery  = 5 * time.Second // the credential
	beatEvery   = 15 * time.Second
	writeWithin = 10 * time.Second
)
