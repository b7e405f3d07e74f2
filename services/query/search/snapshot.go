package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// Index finds candidates. An error means that nothing could be searched.
type Index interface {
	// Candidates returns the best entities; with an *index.Partial, the entities that
	// could be found without a part of the index.
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	// Suppliers returns for each tool the tools that answer with its parameters.
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
	// Read returns a query with its unknown words read as words of the entities in scope.
	// known says whether a word needs no reading.
	Read(ctx context.Context, tenant string, scope *policy.Scope, query string, known func(word string) bool) (string, []schema.Correction, error)
}

// Embedder turns texts into unit vectors, one each and in order. The vector of a text without
// content is empty.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Snapshot is the data of searches: the index of one embedding model and its companions.
type Snapshot struct {
	Model           string // name of the embedding model, which decides the weights and what queries can be compared with
	Index           Index
	Catalogue       catalogue.Index
	Embedder        Embedder // of the model; optional: without it searches go by words alone
	EmbedsElsewhere bool     // the Embedder waits for another process and uses no processor here
}

// snapshot is a Snapshot in use.
type snapshot struct {
	Snapshot
	builtin   *fusion.Model                 // its model's weights, until others are learned
	embedding lifecycle.Health              // of queries
	scale     atomic.Pointer[ranking.Scale] // of the model, once it is measured
	measured  singleflight.Group            // so that one search measures it for all
	failures  atomic.Int32                  // of measuring it
	nextTry   atomic.Int64                  // when it may be measured, in Unix nanoseconds
	readers   sync.RWMutex                  // read-locked by each search
}

func newSnapshot(from Snapshot) (*snapshot, error) {
	builtin, err := fusion.ModelOf(fusion.BuiltinFor(from.Model))
	if err != nil {
		return nil, fmt.Errorf("query: built-in weights: %w", err)
	}
	return &snapshot{Snapshot: from, builtin: &builtin}, nil
}

// current returns the current snapshot. It stays open until release is called, even if Switch
// replaces it meanwhile.
func (s *Searcher) current() (now *snapshot, release func()) {
	for {
		now := s.now.Load()
		// A writer waits for a snapshot only once it is not the current one any more.
		if !now.readers.TryRLock() {
			continue
		}
		if s.now.Load() == now {
			return now, now.readers.RUnlock
		}
		now.readers.RUnlock()
	}
}

// Open returns the catalogue of the current snapshot, which stays open until release is called.
func (s *Searcher) Open() (now catalogue.Index, release func()) {
	current, release := s.current()
	return current.Catalogue, release
}

// Switch lets searches from now on see another snapshot, with the weights that were learned for
// its model. Searches under way end with the snapshot that they began with; wait returns once
// all of them have.
func (s *Searcher) Switch(to Snapshot) (wait func(), err error) {
	next, err := newSnapshot(to)
	if err != nil {
		return nil, err
	}
	before := s.now.Swap(next)
	return func() {
		before.readers.Lock()
		defer before.readers.Unlock() // waiting is all
	}, nil
}

// errNoEmbedder says that the settings name another model than the index has.
var errNoEmbedder = errors.New("no embedder of the index's model")

// embed returns a vector for each text.
func (now *snapshot) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if now.Embedder == nil {
		return nil, errNoEmbedder
	}
	vectors, err := now.Embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

const (
	measureTimeout = 30 * time.Second       // bounds how long a model may take for scaleTexts
	measureWait    = 100 * time.Millisecond // how long a search waits for a model of this process
	measureBackoff = time.Second            // before the second try; doubled by each failure
	measureRest    = 10 * time.Minute       // the longest time between two tries
)

// measureScale measures the scale of the index's model, once, in the background. Until it is
// known, searches go without it: they wait for a model of this process alone, and not for long.
func (now *snapshot) measureScale(ctx context.Context) {
	due := now.nextTry.Load()
	if now.scale.Load() != nil || time.Now().UnixNano() < due {
		return
	}
	if now.EmbedsElsewhere {
		if now.nextTry.CompareAndSwap(due, time.Now().Add(measureTimeout).UnixNano()) { // only one search begins
			now.startMeasuring(ctx)
		}
		return
	}
	wait, cancel := context.WithTimeout(ctx, measureWait)
	defer cancel()
	now.awaitScale(wait)
}

// awaitScale measures the scale, unless it is known, and waits for it until ctx ends.
func (now *snapshot) awaitScale(ctx context.Context) {
	if now.scale.Load() != nil {
		return
	}
	select {
	case <-now.startMeasuring(ctx):
	case <-ctx.Done():
	}
}

// startMeasuring asks the model for the scale, with one call for all who ask at once, which goes
// on after ctx. After a failure it says when to try again.
func (now *snapshot) startMeasuring(ctx context.Context) <-chan singleflight.Result {
	return now.measured.DoChan("", func() (any, error) {
		if now.scale.Load() != nil || !now.readers.TryRLock() {
			return nil, nil // it is known meanwhile, or searches go to another index now
		}
		defer now.readers.RUnlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), measureTimeout)
		defer cancel()
		vectors, err := now.embed(ctx, scaleTexts)
		if err != nil {
			rest := min(measureBackoff<<min(now.failures.Add(1)-1, 16), measureRest)
			now.nextTry.Store(time.Now().Add(rest).UnixNano())
			return nil, err
		}
		now.scale.Store(scaleOf(vectors))
		return nil, nil
	})
}

// Requests and tools that show how an embedding model uses its range of cosines: requests[i] and tools[i] mean the same, others are about different things.
var (
	requests = []string{
		"book a table for two tonight", "what is the weather in Oslo tomorrow", "translate this letter into French",
		"how much is the euro in dollars", "delete the old branch of the repository", "play some jazz in the kitchen",
		"find cheap flights to Lisbon", "remind me to call the dentist",
	}
	tools = []string{
		"Reserves a table at a restaurant.", "Returns the weather forecast of a place.", "Translates a text from one language to another.",
		"Converts an amount of money between currencies.", "Deletes a branch of a Git repository.", "Plays music on a speaker of the house.",
		"Searches for flights between two airports.", "Creates a reminder at a given time.",
	}
	scaleTexts = slices.Concat(requests, tools) // what scaleOf takes the vectors of
)

// scaleOf returns the scale of a model by the vectors of scaleTexts.
func scaleOf(vectors [][]float32) *ranking.Scale {
	s, n := &ranking.Scale{}, float64(len(requests))
	for i, request := range vectors[:len(requests)] {
		for j, tool := range vectors[len(requests):] {
			if c := cosine(request, tool); i == j {
				s.Same += c / n
			} else {
				s.Unrelated += c / n / (n - 1)
			}
		}
	}
	if math.IsNaN(s.Same) || math.IsNaN(s.Unrelated) {
		return &ranking.Scale{}
	}
	return s
}

// cosine is the inner product of two unit vectors, 0 if their lengths differ.
func cosine(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
