package embedder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// WriterName is the index writer's name in metrics, logs and dead letters,
// events.Numbered where the generation is not the first.
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
	Generation int // whose topic is read; 0 is 1
	Index      Index
	Follower   stream.Follower
	Publisher  stream.Publisher // of dead letters
	Searched   func() bool      // whether the index is the one that is searched: only that can be fresh; nil: it is
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// IndexWriter carries what a generation has embedded into an index.
type IndexWriter struct {
	deps      WriterDeps
	topic     events.Topic
	tail      *stream.Tail[events.Change]
	freshness prometheus.Histogram
	end       map[int]uint64 // where the topic ended when the writer began, by partition; nil: not known
	rebuilds  bool           // what is read up to end is old news
}

// NewIndexWriter returns a writer; Run lets it work, once.
func NewIndexWriter(deps WriterDeps) (*IndexWriter, error) {
	if deps.Index == nil || deps.Follower == nil || deps.Publisher == nil || deps.Logger == nil || deps.Registerer == nil {
		return nil, errors.New("index writer: a dependency is missing")
	}
	generation := max(deps.Generation, 1)
	fresh, err := newFreshness(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("index writer: %w", err)
	}
	w := &IndexWriter{deps: deps, topic: events.Embedded(generation), freshness: fresh}
	w.tail, err = stream.NewTail(stream.Sink[events.Change]{
		Name: events.Numbered(WriterName, generation), Topic: w.topic, Decode: decodeOrNull, Apply: w.apply, Traced: true,
	}, stream.Deps{
		Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces,
	})
	if err != nil {
		return nil, fmt.Errorf("index writer: %w", err)
	}
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
	if err := w.findEnd(ctx); err != nil && w.rebuilds {
		w.deps.Logger.Warn("index writer: the topic's end is unknown, old changes will count as fresh", "error", err)
	}
	return w.tail.Run(ctx, from)
}

// findEnd asks where the topic ends, unless that is known.
func (w *IndexWriter) findEnd(ctx context.Context) (err error) {
	if w.end == nil {
		w.end, err = w.deps.Follower.End(ctx, w.topic)
	}
	return err
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
	if err := w.expire(ctx); err != nil {
		return err
	}
	w.observe(records)
	return nil
}

// expire lets the index forget deletes once it has everything that was there at
// the beginning: with more partitions than there were, a tool's delete can be read
// before the older change that it undoes.
func (w *IndexWriter) expire(ctx context.Context) error {
	if err := w.findEnd(ctx); err != nil {
		return fmt.Errorf("end of %s: %w", w.topic, err)
	}
	at := w.deps.Index.Positions()
	for partition, end := range w.end {
		if at[partition] < end {
			return nil
		}
	}
	if err := w.deps.Index.Expire(); err != nil {
		return fmt.Errorf("forget old deletes: %w", err)
	}
	return nil
}

// observe measures what became searchable for the first time: neither what an
// index that nobody searches is filled with, nor what was and is shown by a newer
// document.
func (w *IndexWriter) observe(records []stream.Record[events.Change]) {
	if w.deps.Searched != nil && !w.deps.Searched() {
		return
	}
	now := time.Now()
	for _, r := range records {
		m := r.Message
		old := w.rebuilds && m.Offset <= w.end[m.Partition]
		if !old && m.Headers[events.HeaderRefreshed] == "" && !r.Decoded.Accepted.IsZero() {
			w.freshness.Observe(max(0, now.Sub(r.Decoded.Accepted).Seconds()))
		}
	}
}
