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
	replayed  map[int]uint64 // by partition, the offset up to which a rebuild reads old news
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
	if len(from) == 0 {
		w.replayed = w.ends(ctx)
	}
	return w.tail.Run(ctx, from)
}

// ends returns where the topic ends now. Freshness is measured from there on:
// an index that is built anew reads changes that were searchable long ago.
func (w *IndexWriter) ends(ctx context.Context) map[int]uint64 {
	ends, err := w.deps.Follower.End(ctx, w.topic)
	if err != nil {
		w.deps.Logger.Warn("index writer: the topic's end is unknown, old changes will count as fresh", "error", err)
	}
	return ends
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
	w.observe(records)
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
		if m.Offset > w.replayed[m.Partition] && m.Headers[events.HeaderRefreshed] == "" && !r.Decoded.Accepted.IsZero() {
			w.freshness.Observe(max(0, now.Sub(r.Decoded.Accepted).Seconds()))
		}
	}
}
