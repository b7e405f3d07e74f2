package live

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// room is the streams of one tenant, and the work for them.
type room struct {
	hub    *Hub
	tenant string
	cancel context.CancelFunc
	work   sync.WaitGroup
	look   chan struct{} // asks for a look at once
	report chan struct{} // asks for a status at once

	mu        sync.Mutex // guards what follows
	listeners map[*listener]bool
	present   map[string][]byte // the events that tell the present state, as far as it is known
	changes   map[schema.Ref]change

	sources map[string]sources.Source // by name, as they were told of last
}

// newRoom returns a room that works until it is stopped.
func newRoom(h *Hub, tenant string) *room {
	r := &room{
		hub: h, tenant: tenant, look: make(chan struct{}, 1), report: make(chan struct{}, 1),
		listeners: map[*listener]bool{}, present: map[string][]byte{}, changes: map[schema.Ref]change{},
	}
	ctx, cancel := context.WithCancel(identity.With(context.Background(), identity.Caller{Tenant: tenant, Role: identity.Operator}))
	r.cancel = cancel
	r.work.Go(func() { r.watch(ctx) })
	r.work.Go(func() { r.watchStatus(ctx) })
	return r
}

// stop returns once nothing of the room is at work.
func (r *room) stop() {
	r.cancel()
	r.work.Wait()
}

func (r *room) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.listeners)
}

// join adds a stream, which begins with the present state. What of that is not known comes as
// soon as it is.
func (r *room) join(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range []string{EventStatus, EventSample, EventDeadLetters, EventSources, EventWeights} {
		if !l.caller.Role.Includes(needs[event]) {
			continue
		}
		switch state, known := r.present[event]; {
		case known:
			l.frames <- state // there is room for all of them
		case event == EventStatus:
			ring(r.report)
		case event != EventSample: // which comes when there is one
			ring(r.look)
		}
	}
	r.listeners[l] = true
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// leave takes a stream out, and returns how many are left.
func (r *room) leave(l *listener) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.listeners, l)
	return len(r.listeners)
}

// end ends all streams.
func (r *room) end(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.listeners {
		l.end(why)
	}
}

// end ends the stream. It is called with the room's mu held.
func (l *listener) end(why string) {
	select {
	case <-l.ended:
	default:
		l.why = why
		close(l.ended)
	}
}

// send gives an event to a stream, and ends one that too many wait for. It is called with the
// room's mu held.
func (l *listener) send(frame []byte) {
	select {
	case l.frames <- frame:
	default:
		l.end(endedSlow)
	}
}

// wanted reports whether anybody sees an event. If not, what it last told is forgotten.
func (r *room) wanted(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.listeners {
		if l.caller.Role.Includes(needs[event]) {
			return true
		}
	}
	delete(r.present, event)
	return false
}

// tell sends an event to all who see it. State is the event that tells a new stream the same.
// It is called with mu held.
func (r *room) tell(event string, state, news []byte) {
	_, known := r.present[event]
	r.present[event] = state
	for l := range r.listeners {
		if !l.caller.Role.Includes(needs[event]) {
			continue
		}
		if known {
			l.send(news)
		} else {
			l.send(state)
		}
	}
}

// tellState sends an event that tells all of its state, unless that was sent last.
func (r *room) tellState(event string, data any) {
	f, err := frame(event, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && !bytes.Equal(r.present[event], f) { // numbers, texts and times have a form in JSON
		r.tell(event, f, f)
	}
}

// watch tells of everything but the status until ctx ends.
func (r *room) watch(ctx context.Context) {
	tick := time.NewTicker(toolsEvery)
	defer tick.Stop()
	var next time.Time // when to look at what is costly
	for {
		r.hub.refollow()
		r.tellSample()
		if r.wanted(EventWeights) {
			version, epoch := r.hub.deps.Weights(r.tenant)
			r.tellState(EventWeights, Weights{version, epoch})
		}
		if now := time.Now(); !now.Before(next) {
			r.tellDeadLetters(ctx)
			r.tellSources(ctx)
			const share = 50 // of the time that this may take
			next = now.Add(max(stateEvery, share*time.Since(now)))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.look:
			next = time.Time{}
		case <-tick.C:
			r.tellTools()
		}
	}
}

// watchStatus tells the status until ctx ends: it may have to wait for others.
func (r *room) watchStatus(ctx context.Context) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	var before status.Status
	for {
		if r.wanted(EventStatus) {
			now := r.hub.deps.Report(ctx)
			if ctx.Err() != nil {
				return // not all was asked for
			}
			if before.Disk != nil && now.Disk != nil && near(before.Disk.Free, now.Disk.Free, now.Disk.Total) {
				now.Disk = before.Disk
			}
			before = now
			r.tellState(EventStatus, now)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.report:
		case <-tick.C:
		}
	}
}

// near reports whether two sizes differ by less than a thousandth of a whole.
func near(a, b, whole uint64) bool { return max(a, b)-min(a, b) < whole/1000 }

func (r *room) tellSample() {
	if !r.wanted(EventSample) {
		return
	}
	if last := r.hub.deps.Samples(r.tenant, 1); len(last) > 0 {
		r.tellState(EventSample, last[0])
	}
}

func (r *room) tellDeadLetters(ctx context.Context) {
	if r.wanted(EventDeadLetters) {
		open, reasons := r.hub.deps.DeadLetters(ctx)
		r.tellState(EventDeadLetters, DeadLetters{open, reasons})
	}
}

// tellSources tells which sources have changed.
func (r *room) tellSources(ctx context.Context) {
	if !r.wanted(EventSources) {
		r.sources = nil
		return
	}
	all, err := r.hub.deps.Sources(ctx, r.tenant)
	if err != nil {
		return // their store is away: what is known holds
	}
	now := make(map[string]sources.Source, len(all))
	for _, s := range all {
		now[s.Name] = s
	}
	news, changed := since(r.sources, now, func(a, b sources.Source) bool { return reflect.DeepEqual(a, b) })
	if r.sources != nil && !changed {
		return
	}
	r.sources = now
	state, _ := since(nil, now, func(a, b sources.Source) bool { return false })
	f, failed := frame(EventSources, state)
	n, alsoFailed := frame(EventSources, news)
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed == nil && alsoFailed == nil {
		r.tell(EventSources, f, n)
	}
}

// note notes changes, for the next event about tools.
func (r *room) note(changes iter.Seq[flat.Changed]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range changes {
		was, noted := r.changes[c.Ref]
		if !noted {
			was.before = c.Before
		}
		r.changes[c.Ref] = change{c.Ref, c.Revision, was.before, c.After}
	}
}

// tellTools tells each caller of the changes that it sees. Callers with the same scope see the
// same.
func (r *room) tellTools() {
	r.mu.Lock()
	changes, all := r.changes, slices.Collect(maps.Keys(r.listeners))
	r.changes = map[schema.Ref]change{}
	r.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	byScope := map[string][]byte{}
	frames := map[*listener][]byte{}
	for _, l := range all { // without mu, for which the index waits
		frames[l] = r.frameFor(l.caller, changes, byScope)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for l, f := range frames {
		if f != nil {
			l.send(f) // to one that has left, too: nobody reads it
		}
	}
}

// frameFor returns the event about changes that a caller sees, nil where it sees none of them.
// It is made once for each scope.
func (r *room) frameFor(c identity.Caller, changes map[schema.Ref]change, byScope map[string][]byte) []byte {
	scope, err := r.hub.deps.Scope(c, policy.Find)
	if err != nil {
		return nil // what cannot be known is not shown
	}
	key := "all"
	if scope != nil {
		key = "scope " + scope.Key
	}
	f, made := byScope[key]
	if !made {
		if news := seen(changes, scope); news.Changed > 0 {
			f, _ = frame(EventTools, news) // texts and numbers have a form in JSON
		}
		byScope[key] = f
	}
	return f
}
