package standardizer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
)

// Answers keeps the answers of the model across restarts and for all replicas. A lost answer
// costs a call, nothing else.
type Answers interface {
	// Get returns the value of a key. The error for an unknown key is stream.ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// answerKey hashes all inputs of an answer.
func answerKey(w wanted, format, name string, raw []byte) string {
	h := sha256.New()
	for _, part := range []string{w.Prompt, w.Model, w.Language, format, name, string(raw)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answerCache has the verdicts on documents: all in the store, recent ones in memory.
type answerCache struct {
	near    *lru.Cache[string, verdict]
	answers Answers
	metrics *metrics
	log     *slog.Logger
	store   lifecycle.Health
	failed  atomic.Int64 // time of the last failure of the store, in nanoseconds
}

const (
	remembered = 4096            // verdicts in memory
	keepTime   = time.Minute     // outage of the store that an answer survives
	lookTime   = time.Second     // time that a document waits for the store
	restTime   = 5 * time.Second // without a look into a store that failed
)

// get returns the verdict under key, if there is one. The error comes from the store.
func (c *answerCache) get(ctx context.Context, key string) (verdict, bool, error) {
	if v, ok := c.near.Get(key); ok {
		return v, true, nil
	}
	raw, err := c.answers.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		c.record(ctx, nil)
		return verdict{}, false, nil
	}
	if c.record(ctx, err); err != nil {
		return verdict{}, false, err
	}
	var v verdict
	if json.Unmarshal(raw, &v) != nil || len(v.Said) == 0 && v.Fallback == "" {
		return verdict{}, false, nil
	}
	c.remember(key, v)
	return v, true, nil
}

// remember keeps a verdict in memory unless another replica may complete it.
func (c *answerCache) remember(key string, v verdict) {
	if !v.Open {
		c.near.Add(key, v)
	}
}

// put keeps a verdict. It was paid for, so put retries if the store is down.
func (c *answerCache) put(ctx context.Context, key string, v verdict) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(keepTime))
	err = backoff.Retry(func() error {
		err := c.answers.Put(ctx, key, raw)
		c.record(ctx, err)
		return err
	}, backoff.WithContext(pace, ctx))
	if err == nil {
		c.remember(key, v)
	}
	return err
}

func (c *answerCache) record(ctx context.Context, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return // the caller is gone
	}
	if err != nil {
		c.metrics.storeErrors.Inc()
		c.failed.Store(time.Now().UnixNano())
	}
	c.store.LogChange(ctx, c.log, err, "standardizer: answers of the language model cannot be read or kept, documents wait", "standardizer: answers of the language model are kept again")
}
