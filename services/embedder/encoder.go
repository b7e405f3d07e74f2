package embedder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Encoder embeds documents and queries, and caches the vectors. Its methods may be called
// concurrently.
type Encoder struct {
	documents *caller
	queries   *caller
	known     Knower        // the model, if it is one
	timeout   time.Duration // of a call for a query
	metrics   *metrics

	cache  *lru.Cache[textKey, []float32] // of texts of documents
	used   atomic.Bool                    // the cache, since the last check of purgeWhenIdle
	recent *lru.Cache[string, []float32]  // of texts of queries
	calls  singleflight.Group             // for queries
}

// textKey is a text in the cache of documents, hashed because these texts are long.
type textKey [sha256.Size]byte

func keyOf(text string) textKey { return sha256.Sum256([]byte(text)) }

// The memory that vectors may take, in bytes.
const (
	documentCache = 32 << 20 // while documents arrive
	queryCache    = 8 << 20
)

// NewEncoder returns an encoder that works with a model.
func NewEncoder(cfg Config, m Model, reg prometheus.Registerer) (*Encoder, error) {
	dimensions := m.Dimensions()
	if m.Name() == "" || dimensions < 1 {
		return nil, fmt.Errorf("embedder: model %q has %d dimensions", m.Name(), dimensions)
	}
	e := &Encoder{timeout: cmp.Or(cfg.Timeout, 10*time.Second), metrics: newMetrics(reg)}
	e.documents = &caller{model: m, texts: cmp.Or(cfg.Texts, 128), parallel: cmp.Or(cfg.Parallel, runtime.GOMAXPROCS(0)), metrics: e.metrics}
	queries := *e.documents
	if q, ok := m.(QueryEmbedder); ok {
		queries.model = queryModel{q}
	}
	e.known, _ = m.(Knower)
	e.queries = &queries
	var err, err2 error
	e.cache, err = lru.New[textKey, []float32](max(1, documentCache/4/dimensions))
	e.recent, err2 = lru.New[string, []float32](max(1, queryCache/4/dimensions))
	return e, errors.Join(err, err2)
}

// job is a document in a batch.
type job struct {
	change events.Change
	slots  []slot
	known  map[string][]float32 // by text, from the index
	err    error                // the first error of one of its texts
}

// addSlots allocates the vectors of a job's document.
func (e *Encoder) addSlots(j *job) {
	m := e.documents.model
	j.change.Vectors = &events.Vectors{Model: m.Name(), Dimensions: m.Dimensions()}
	j.slots = slots(j.change.Document, j.change.Vectors)
}

// fill embeds the texts of all jobs together and sets their vectors.
func (e *Encoder) fill(ctx context.Context, jobs []*job) {
	e.used.Store(true)
	found := map[string]embedded{}
	var missing []string
	for _, j := range jobs {
		for _, s := range j.slots {
			if s.text == "" {
				continue
			}
			if v, ok := j.known[s.text]; ok {
				found[s.text] = embedded{vector: v}
				e.metrics.hit(hitIndex)
			} else if _, ok := found[s.text]; ok {
				e.metrics.hit(hitBatch)
			} else if v, ok := e.cache.Get(keyOf(s.text)); ok {
				found[s.text] = embedded{vector: v}
				e.metrics.hit(hitMemory)
			} else {
				found[s.text] = embedded{}
				missing = append(missing, s.text)
			}
		}
	}
	for i, r := range e.documents.embed(ctx, missing) {
		found[missing[i]] = r
		if r.err == nil {
			e.cache.Add(keyOf(missing[i]), r.vector)
		} else if _, permanent := stream.AsPermanent(r.err); permanent {
			e.metrics.rejected.Inc()
		}
	}
	e.used.Store(true) // the batch may be tried again
	for _, j := range jobs {
		for _, s := range j.slots {
			r := found[s.text]
			*s.vector = r.vector
			j.err = s.failed(j.err, r.err)
		}
	}
}

// Documents returns the vectors of each document, in order, as the service computes them. It
// fails at the first text that cannot be embedded.
func (e *Encoder) Documents(ctx context.Context, docs []*schema.Document) ([]*events.Vectors, error) {
	jobs := make([]*job, len(docs))
	for i, doc := range docs {
		jobs[i] = &job{change: events.Change{Document: doc}}
		e.addSlots(jobs[i])
	}
	e.fill(ctx, jobs)
	out := make([]*events.Vectors, len(docs))
	for i, j := range jobs {
		if j.err != nil {
			return nil, j.err
		}
		out[i] = j.change.Vectors
	}
	return out, ctx.Err()
}

// idle is the time without a document after which the cache is emptied: it serves imports,
// whose documents share texts.
const idle = time.Minute

func (e *Encoder) purgeWhenIdle(ctx context.Context) {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !e.used.Swap(false) {
				e.cache.Purge()
			}
		}
	}
}
