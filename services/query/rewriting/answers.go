package rewriting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Answers keeps the answers of the model, over restarts and for all replicas. It may drop an
// answer at any time; one older than Config.Keep is not read.
type Answers interface {
	// Get returns the value that was put under key. The error for a missing key is
	// stream.ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// outcome is what came of a question, to serve until a time: needs and arguments, or an
// error.
type outcome struct {
	Rewritten
	err   error
	until time.Time
}

// errBefore is wrapped by a failure that is known from before.
type errBefore struct{ error }

// Unwrap returns the failure.
func (e errBefore) Unwrap() error { return e.error }

// cached returns the outcome to a query that did not wait for it.
func (o outcome) cached() (Rewritten, error) {
	if o.err == nil && len(o.Needs)+len(o.Arguments) == 0 {
		o.err = errNothing
	}
	if o.err != nil {
		return Rewritten{}, errBefore{fmt.Errorf("rewriting: before: %w", o.err)}
	}
	o.Rewritten.Cached = true
	return o.Rewritten, nil
}

// answer is an outcome in the store.
type answer struct {
	At        time.Time         `json:"at"`
	Needs     []schema.Need     `json:"needs"`
	Arguments map[string]string `json:"arguments"`
}

// answerCache is the outcomes of questions: those used last in memory, the answers
// among them in the store. A store that cannot be reached counts as empty.
type answerCache struct {
	near    *lru.Cache[string, outcome] // by keyOf
	answers Answers
	keep    time.Duration
	metrics *metrics
	log     *slog.Logger
	store   lifecycle.Health
}

// inMemory returns an outcome that is in memory.
func (c *answerCache) inMemory(key string) (outcome, bool) {
	o, ok := c.near.Get(key)
	return o, ok && time.Now().Before(o.until)
}

// get returns the outcome of a question that still serves.
func (c *answerCache) get(ctx context.Context, key string) (outcome, bool) {
	if o, ok := c.inMemory(key); ok {
		return o, true
	}
	raw, err := c.answers.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		err = nil
	}
	if c.note(ctx, err); len(raw) == 0 || err != nil {
		return outcome{}, false
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil || time.Since(a.At) >= c.keep {
		return outcome{}, false
	}
	o := outcome{Rewritten: Rewritten{Needs: a.Needs, Arguments: a.Arguments}, until: a.At.Add(c.keep)}
	c.near.Add(key, o)
	return o, true
}

// put keeps an answer.
func (c *answerCache) put(ctx context.Context, key string, r Rewritten) {
	now := time.Now()
	c.near.Add(key, outcome{Rewritten: r, until: now.Add(c.keep)})
	raw, err := json.Marshal(answer{At: now.UTC(), Needs: r.Needs, Arguments: r.Arguments})
	if err == nil {
		err = c.answers.Put(ctx, key, raw)
	}
	c.note(ctx, err)
}

func (c *answerCache) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the caller's time is over, which says nothing of the store
	}
	if err != nil {
		c.metrics.storeErrors.Inc()
	}
	c.store.LogChange(ctx, c.log, err, "rewriting: answers of the language model are not shared with other replicas, nor kept over a restart",
		"rewriting: answers of the language model are shared and kept again")
}
