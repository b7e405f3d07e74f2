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
	"github.com/sourcegraph/conc"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// WriterName is the index writer's name in metrics, logs and dead letters. events.Numbered
// adds the number of the index version.
const WriterName = "index-writer"

// Index stores documents for searches, with its positions on the topic.
type Index interface {
	// Positions returns the offset applied last, by partition.
	Positions() map[int]uint64
	// Apply stores the changes that are newer than the stored ones, and the
	// positions, in one transaction.
	Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error
	// Expire forgets some old deletes. It is called once no older change can
	// arrive any more.
	Expire() error
}

// WriterDeps are an index writer's dependencies.
type WriterDeps struct {
	IndexVersion int // its topic is read; 0 is 1
	Index        Index
	Follower     stream.Follower
	Publisher    stream.Publisher // of dead letters
	Searched     func() bool      // reports whether searches use the index: no other index is fresh; nil: they do

	// Repeat has the newest change of an entity published again once an older one, by Newest,
	// follows it. Both are optional.
	Repeat func(context.Context, schema.Ref) error
	Newest func(schema.Ref) (v schema.Version, deleted, known bool)

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// IndexWriter writes the embedded changes of an index version into the index.
type IndexWriter struct {
	deps      WriterDeps
	topic     events.Topic
	order     *order // nil without Repeat
	tail      *stream.Tail[events.Change]
	freshness prometheus.Histogram
	lag       prometheus.Histogram
	end       atomic.Pointer[map[int]uint64] // where the topic ended when the writer began, by partition; nil until known
	rebuilds  bool                           // records up to end are not fresh
}

// NewIndexWriter returns a writer. Call Run once.
func NewIndexWriter(deps WriterDeps) *IndexWriter {
	version := max(deps.IndexVersion, 1)
	on := telemetry.Metrics(deps.Registerer)
	w := &IndexWriter{
		deps: deps, topic: events.Embedded(version),
		freshness: on.NewHistogram("toolstream_freshness_seconds",
			"Time from the acceptance of a change until searches find it.", freshnessBounds()),
		lag: on.NewHistogram("toolstream_source_lag_seconds",
			"Time from the detection of a change at a source until searches find it.", freshnessBounds()),
	}
	if deps.Repeat != nil {
		w.order = newOrder(deps.Repeat, deps.Logger)
	}
	w.tail = stream.NewTail(stream.Sink[events.Change]{
		Name: events.Numbered(WriterName, version), Topic: w.topic, Apply: w.apply, Traced: true,
		Decode: func(m stream.Message) (events.Change, error) {
			if m.IsNull() { // its delete was applied long ago
				return events.Change{}, nil
			}
			return decode(m)
		},
	}, stream.Deps{
		Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces,
	})
	return w
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
	if w.order != nil {
		var asking conc.WaitGroup
		defer asking.Wait()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		asking.Go(func() { w.order.run(ctx) })
	}
	return w.tail.Run(ctx, from)
}

// CaughtUp returns nil if the index has every record from before the writer began.
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
	if w.order != nil {
		w.checkOrder(records)
	}
	w.observe(records)
	return nil
}

// observe measures the freshness of records that made a document searchable for the first
// time. Records that fill a new index, or refresh a document, do not.
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
