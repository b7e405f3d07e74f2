package embedder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"
	"golang.org/x/text/unicode/norm"
)

// queries embeds the texts of queries. A text that somebody is embedding
// already is waited for, not embedded again.
type queries struct {
	caller  *caller
	memory  *lru[string, []float32]
	timeout time.Duration

	mu      sync.Mutex // guards flights
	flights map[string]*flight
}

// flight is one text that is being embedded. Its result may be read once done
// is closed.
type flight struct {
	done   chan struct{}
	result embedded
}

func newQueries(c *caller, cfg Config) *queries {
	return &queries{
		caller: c, memory: newLRU[string, []float32](cfg.Queries),
		timeout: cfg.Timeout, flights: map[string]*flight{},
	}
}

func (q *queries) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	out := make([][]float32, len(texts))
	waiting := make([]*flight, len(texts))
	own := newOrder()
	for i, text := range texts {
		out[i], waiting[i] = q.claim(normalise(text), own)
	}
	if len(own.texts) > 0 {
		// Others may be waiting for these texts, so that they outlive ctx.
		go q.fly(context.WithoutCancel(ctx), own.texts)
	}
	for i, f := range waiting {
		if f == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embed query: %w", ctx.Err())
		case <-f.done:
		}
		if f.result.err != nil {
			return nil, fmt.Errorf("embed query: %w", f.result.err)
		}
		out[i] = f.result.vector
	}
	return out, nil
}

// normalise folds what makes no difference to a model: white space and the
// form of composed characters.
func normalise(text string) string {
	return norm.NFC.String(strings.Join(strings.Fields(text), " "))
}

// claim returns the vector of a text, or the flight that will bring it. A
// flight that did not exist is the caller's to fly, and added to own.
func (q *queries) claim(text string, own *order) ([]float32, *flight) {
	if text == "" {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// Looked up under the lock: a flight lands in memory before it is removed.
	if v, ok := q.memory.get(text); ok {
		q.caller.metrics.hit(hitQuery)
		return v, nil
	}
	if f, ok := q.flights[text]; ok {
		q.caller.metrics.hit(hitQuery)
		return nil, f
	}
	f := &flight{done: make(chan struct{})}
	q.flights[text] = f
	own.add(text)
	return nil, f
}

// fly embeds the texts, whose flights the caller has claimed, and lands them.
func (q *queries) fly(ctx context.Context, texts []string) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	var results []embedded
	if p := panics.Try(func() { results = q.caller.embed(ctx, texts) }); p != nil {
		results = make([]embedded, len(texts))
		for i := range results {
			results[i].err = errors.Join(errors.New("the model panicked"), p.AsError())
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, text := range texts {
		f := q.flights[text]
		f.result = results[i]
		if results[i].err == nil {
			q.memory.put(text, results[i].vector)
		}
		delete(q.flights, text)
		close(f.done)
	}
}
