package live

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// feed serves the streams of one tenant.
type feed struct {
	hub     *Hub
	tenant  string
	cancel  context.CancelFunc
	work    sync.WaitGroup
	poll    chan struct{} // asks for a poll at once
	report  chan struct{} // asks for a status at once
	mu      sync.Mutex    // guards what follows
	streams map[*listener]bool
	present map[string][]byte // the events of the present state, as far as it is known
	changes map[schema.Ref]change
	sources map[string]sources.Source // by name, as of the last event; used by watch alone
}

// add adds a stream, which begins with the present state. Unknown parts of it follow as soon
// as they are known.
func (f *feed) add(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ring := func(bell chan struct{}) {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	for _, event := range []string{EventStatus, EventSample, EventDeadLetters, EventSources, EventWeights} {
		if !l.caller.Role.Includes(needs[event]) {
			continue
		}
		switch state, known := f.present[event]; {
		case known:
			l.frames <- state // the buffer has space for all of them
		case event == EventStatus:
			ring(f.report)
		case event != EventSample: // a sample comes when there is one
			ring(f.poll)
		}
	}
	f.streams[l] = true
}

// end ends the stream. It is called with the feed's mu held.
func (l *listener) end(why string) {
	select {
	case <-l.ended:
	default:
		l.why = why
		close(l.ended)
	}
}

// send sends an event to a stream, and ends a stream that is too slow. It is called with the
// feed's mu held.
func (l *listener) send(frame []byte) {
	select {
	case l.frames <- frame:
	default:
		l.end(endedSlow)
	}
}

// wanted reports whether a stream sees an event. If none does, its last state is forgotten.
func (f *feed) wanted(event string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.streams {
		if l.caller.Role.Includes(needs[event]) {
			return true
		}
	}
	delete(f.present, event)
	return false
}

// publish sends an event to all streams that see it: the news, or the whole state if they do
// not have one yet. It is called with mu held.
func (f *feed) publish(event string, state, news []byte) {
	if _, known := f.present[event]; !known {
		news = state
	}
	f.present[event] = state
	for l := range f.streams {
		if l.caller.Role.Includes(needs[event]) {
			l.send(news)
		}
	}
}

// publishState publishes an event that has the whole state, unless nothing has changed.
func (f *feed) publishState(event string, data any) {
	text, err := frame(event, data)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && !bytes.Equal(f.present[event], text) { // numbers, texts and times always encode
		f.publish(event, text, text)
	}
}

// watch publishes all events except the status until ctx ends.
func (f *feed) watch(ctx context.Context) {
	tick := time.NewTicker(toolsEvery)
	defer tick.Stop()
	deps := f.hub.deps
	var next time.Time // when to poll dead letters and sources, which is costly
	for {
		f.hub.refollow()
		if f.wanted(EventSample) {
			if last := deps.Samples(f.tenant, 1); len(last) > 0 {
				f.publishState(EventSample, last[0])
			}
		}
		if f.wanted(EventWeights) {
			version, epoch := deps.Weights(f.tenant)
			f.publishState(EventWeights, Weights{version, epoch})
		}
		if now := time.Now(); !now.Before(next) {
			f.pollState(ctx)
			const share = 50 // polling takes at most a fiftieth of the time
			next = now.Add(max(stateEvery, share*time.Since(now)))
		}
		select {
		case <-ctx.Done():
			return
		case <-f.poll:
			next = time.Time{}
		case <-tick.C:
		}
		f.publishTools() // before a poll, which may take a while
	}
}

// pollState publishes dead letters and sources. It gives a store up that does not answer, because
// events about tools wait for it.
func (f *feed) pollState(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollWithin)
	defer cancel()
	if f.wanted(EventDeadLetters) {
		open, reasons := f.hub.deps.DeadLetters(ctx)
		f.publishState(EventDeadLetters, DeadLetters{open, reasons})
	}
	if f.wanted(EventSources) {
		f.publishSources(ctx)
	} else {
		f.sources = nil
	}
}

// watchStatus publishes the status until ctx ends. It has a goroutine of its own, because a
// status may have to wait for others.
func (f *feed) watchStatus(ctx context.Context) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	var before status.Status
	for {
		if f.wanted(EventStatus) {
			now := f.hub.deps.Report(ctx)
			if ctx.Err() != nil {
				return // the report is not complete
			}
			if a, b := before.Disk, now.Disk; a != nil && b != nil && max(a.Free, b.Free)-min(a.Free, b.Free) < b.Total/1000 {
				now.Disk = a // less than a thousandth is not worth an event
			}
			before = now
			f.publishState(EventStatus, now)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.report:
		case <-tick.C:
		}
	}
}

// publishSources publishes the sources that have changed.
func (f *feed) publishSources(ctx context.Context) {
	all, err := f.hub.deps.Sources(ctx, f.tenant)
	if err != nil {
		return // the store is away: the last known state holds
	}
	now := make(map[string]sources.Source, len(all))
	for _, s := range all {
		now[s.Name] = s
	}
	news, changed := since(f.sources, now)
	if f.sources != nil && !changed {
		return
	}
	f.sources = now
	state, _ := since(nil, now)
	stateFrame, err := frame(EventSources, state)
	newsFrame, newsErr := frame(EventSources, news)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && newsErr == nil {
		f.publish(EventSources, stateFrame, newsFrame)
	}
}

// record keeps changes for the next event about tools.
func (f *feed) record(changes iter.Seq[flat.Changed]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range changes {
		before := c.Before
		if earlier, ok := f.changes[c.Ref]; ok {
			before = earlier.before
		}
		f.changes[c.Ref] = change{c.Ref, c.Revision, before, c.After}
	}
}

// publishTools sends each caller the changes that it may see. Callers with the same scope share an
// event.
func (f *feed) publishTools() {
	f.mu.Lock()
	changes, streams := f.changes, slices.Collect(maps.Keys(f.streams))
	f.changes = map[schema.Ref]change{}
	f.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	byScope := map[string][]byte{} // nil: nothing of it may be seen
	frames := map[*listener][]byte{}
	for _, l := range streams { // without mu: the writer of the index waits for it
		scope, err := f.hub.deps.Scope(l.caller, policy.Find)
		if err != nil {
			continue // the scope is unknown
		}
		key := "all"
		if scope != nil {
			key = "scope " + scope.Key
		}
		if _, made := byScope[key]; !made {
			byScope[key] = nil
			if news := visible(changes, scope); news.Changed > 0 {
				byScope[key], _ = frame(EventTools, news) // texts and numbers always encode
			}
		}
		frames[l] = byScope[key]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for l, text := range frames {
		if text != nil {
			l.send(text) // harmless if the stream has ended
		}
	}
}
