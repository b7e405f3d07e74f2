package embedder

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// orderDelay is how long a writer waits after it has read an older change, plus up to five times
// as much by chance: of several writers, one is the first to ask.
const orderDelay = 10 * time.Second

// order has the newest change of an entity published again if an older change follows it on the
// topic. Two processes that write one entity at once cause that order, and so does a bus that
// stores a request after its writer has repeated it. Readers compare revisions and are right in
// any order. But compaction keeps the last record of a key, and a rebuilt index reads that
// record.
type order struct {
	repeat func(context.Context, schema.Ref) error
	log    *slog.Logger

	mu       sync.Mutex              // guards suspects
	suspects map[schema.Ref]struct{} // entities whose last record is older than their newest
	wake     chan struct{}
}

func newOrder(repeat func(context.Context, schema.Ref) error, log *slog.Logger) *order {
	return &order{repeat: repeat, log: log, suspects: map[schema.Ref]struct{}{}, wake: make(chan struct{}, 1)}
}

// observe notes whether the last record of an entity is older than an earlier one.
func (o *order) observe(ref schema.Ref, older bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !older {
		delete(o.suspects, ref)
		return
	}
	o.suspects[ref] = struct{}{}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// next removes and returns a suspect, or returns false.
func (o *order) next() (schema.Ref, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for ref := range o.suspects {
		delete(o.suspects, ref)
		return ref, true
	}
	return schema.Ref{}, false
}

// run asks until ctx ends.
func (o *order) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(orderDelay + rand.N(5*orderDelay)):
		}
		for ref, found := o.next(); found; ref, found = o.next() {
			if err := o.repeat(ctx, ref); err != nil && ctx.Err() == nil {
				o.log.Warn("an older change follows a newer one, and it was not published again: trying again", "key", events.Key(ref), "error", err)
				o.observe(ref, true)
				break
			}
		}
	}
}

// checkOrder observes the last record of each entity in a batch. It compares revisions only: a
// record that is published again may get an older edition. A record that compaction may have
// reached can be one of another partition, from before partitions were added.
func (w *IndexWriter) checkOrder(records []stream.Record[events.Change]) {
	last := map[schema.Ref]stream.Record[events.Change]{}
	for _, r := range records {
		if !r.Message.IsNull() {
			last[r.Decoded.Ref] = r
		}
	}
	for ref, r := range last {
		newest, _, known := w.deps.Newest(ref)
		older := known && newest.Revision > r.Decoded.Revision
		w.order.observe(ref, older && time.Since(r.Message.Time) < stream.CompactionLag)
	}
}
