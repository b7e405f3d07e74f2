package embedder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// WriterName is the index writer's name in metrics, logs and dead letters,
// events.Numbered where the version is not the first.
const WriterName = "index-writer"

// Index stores what is searched, together with how far it has read.
type Index interface {
	// Positions returns the offset applied last, by partition.
	Positions() map[int]uint64
	// Apply stores the changes that are newer than what is there, and the
	// positions, in one transaction.
	Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error
	// Expire forgets some of the deletes that are old. It is called once nothing
	// can come any more that is older than they are.
	Expire() error
}

// WriterDeps are what an index writer works with.
type WriterDeps struct {
	IndexVersion int // whose topic is read; 0 is 1
	Index        Index
	Follower     stream.Follower
	Publisher    stream.Publisher // of dead letters
	Searched     func() bool      // whether the index is the one that is searched: only that can be fresh; nil: it is

	// Observe is told of the last record of each key that a batch held, and
	// whether it is older than what the index has, by Newest. Both may be nil.
	Observe func(key string, older bool)
	Newest  func(schema.Ref) (v schema.Version, deleted, known bool)

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// IndexWriter carries what a version has embedded into an index.
type IndexWriter struct {
	deps      WriterDeps
	topic     events.Topic
	tail      *stream.Tail[events.Change]
	freshness prometheus.Histogram
	lag       prometheus.Histogram
	end       atomic.Pointer[map[int]uint64] // where the topic ended when the writer began, by partition; nil: not known yet
	rebuilds  bool                           // what is read up to end is old news
}

// NewIndexWriter returns a writer; Run lets it work, once.
func NewIndexWriter(deps WriterDeps) (*IndexWriter, error) {
	version := max(deps.IndexVersion, 1)
	w := &IndexWriter{deps: deps, topic: events.Embedded(version), freshness: newFreshness(deps.Registerer), lag: newLag(deps.Registerer)}
	w.tail = stream.NewTail(stream.Sink[events.Change]{
		Name: events.Numbered(WriterName, version), Topic: w.topic, Decode: decodeOrNull, Apply: w.apply, Traced: true,
	}, stream.Deps{
		Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces,
	})
	return w, nil
}

// decodeOrNull reads a change. A null record changes nothing: the delete that
// it follows was applied long ago.
func decodeOrNull(m stream.Message) (events.Change, error) {
	if m.IsNull() {
		return events.Change{}, nil
	}
	return decode(m)
}

// Run applies changes from the index's own positions on, until ctx ends and
// the batch under way is stored.
func (w *IndexWriter) Run(ctx context.Context) error {
	from := w.deps.Index.Positions()
	w.rebuilds = len(from) == 0
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(func() error {
		end, err := w.deps.Follower.End(ctx, w.topic)
		if err == nil {
			w.end.Store(&end)
		}
		return err
	}, backoff.WithContext(pace, ctx))
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	return w.tail.Run(ctx, from)
}

// CaughtUp returns nil if the index has everything that was there when the writer began.
func (w *IndexWriter) CaughtUp() error {
	end := w.end.Load()
	if end == nil {
		return errors.New("the bus has not answered yet")
	}
	at := w.deps.Index.Positions()
	for partition, end := range *end {
		if at[partition] < end {
			return fmt.Errorf("the index is at %d of %d in partition %d", at[partition], end, partition)
		}
	}
	return nil
}

func (w *IndexWriter) apply(ctx context.Context, records []stream.Record[events.Change], through map[int]uint64) error {
	changes := make([]events.Change, 0, len(records))
	for _, r := range records {
		if !r.Message.IsNull() {
			changes = append(changes, r.Decoded)
		}
	}
	if err := w.deps.Index.Apply(ctx, changes, maps.Clone(through)); err != nil {
		return fmt.Errorf("apply %d changes: %w", len(changes), err)
	}
	// With more partitions than there were, a tool's delete can be read before the older
	// change that it undoes.
	if w.CaughtUp() == nil {
		if err := w.deps.Index.Expire(); err != nil {
			return fmt.Errorf("forget old deletes: %w", err)
		}
	}
	w.checkOrder(changes)
	w.observe(records)
	return nil
}

// checkOrder looks for keys whose last record is older than what the index has.
func (w *IndexWriter) checkOrder(changes []events.Change) {
	if w.deps.Observe == nil {
		return
	}
	last := map[schema.Ref]schema.Version{}
	for _, c := range changes {
		last[c.Ref] = c.Version
	}
	for ref, v := range last {
		newest, _, known := w.deps.Newest(ref)
		w.deps.Observe(events.Key(ref), known && newest.Newer(v))
	}
}

// observe measures what became searchable for the first time: neither what an
// index without searches is filled with, nor what was and is shown by a newer
// document.
func (w *IndexWriter) observe(records []stream.Record[events.Change]) {
	if w.deps.Searched != nil && !w.deps.Searched() {
		return
	}
	now := time.Now()
	for _, r := range records {
		m := r.Message
		old := w.rebuilds && m.Offset <= (*w.end.Load())[m.Partition]
		if !old && m.Headers[events.HeaderRefreshed] == "" && !r.Decoded.Accepted.IsZero() {
			w.freshness.Observe(max(0, now.Sub(r.Decoded.Accepted).Seconds()))
			if seen := r.Decoded.Seen; !seen.IsZero() {
				w.lag.Observe(max(0, now.Sub(seen).Seconds()))
			}
		}
	}
}
