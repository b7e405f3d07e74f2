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

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/stream"
)

// Answers keeps what the model said, over restarts and for all replicas. Losing
// it costs calls, nothing else.
type Answers interface {
	// Get returns what was put under key. The error for a key that is not there
	// is stream.ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// answerKey is a hash of everything that an answer depends on.
func answerKey(w wanted, format, name string, raw []byte) string {
	h := sha256.New()
	for _, part := range []string{w.Prompt, w.Model, w.Language, format, name, string(raw)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answerCache is the verdicts on documents: those used last in memory, all in the
// store.
type answerCache struct {
	near    *lru.Cache[string, verdict]
	answers Answers
	metrics *metrics
	log     *slog.Logger
	store   health.State
	failed  atomic.Int64 // when the store did last, in nanoseconds
}

const (
	remembered = 4096        // verdicts in memory
	keepTime   = time.Minute // that a store may be away before an answer is lost
	lookTime   = time.Second // that a document without an answer waits for the store
	restTime   = 5 * time.Second
)

func newAnswerCache(answers Answers, m *metrics, log *slog.Logger) (*answerCache, error) {
	near, err := lru.New[string, verdict](remembered)
	return &answerCache{near: near, answers: answers, metrics: m, log: log}, err
}

// get returns the verdict that is kept under key, if there is one. The error is that of
// a store that cannot be read.
func (c *answerCache) get(ctx context.Context, key string) (verdict, bool, error) {
	if v, ok := c.near.Get(key); ok {
		return v, true, nil
	}
	raw, err := c.answers.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		c.note(ctx, nil)
		return verdict{}, false, nil
	}
	if c.note(ctx, err); err != nil {
		return verdict{}, false, err
	}
	var v verdict
	if json.Unmarshal(raw, &v) != nil || len(v.Said) == 0 && v.Fallback == "" {
		return verdict{}, false, nil
	}
	c.remember(key, v)
	return v, true, nil
}

// remember keeps a verdict in memory, unless another replica may have it completed.
func (c *answerCache) remember(key string, v verdict) {
	if !v.Open {
		c.near.Add(key, v)
	}
}

// put keeps a verdict. It was paid for, so that a store that is away is tried again.
func (c *answerCache) put(ctx context.Context, key string, v verdict) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(keepTime))
	err = backoff.Retry(func() error {
		err := c.answers.Put(ctx, key, raw)
		c.note(ctx, err)
		return err
	}, backoff.WithContext(pace, ctx))
	if err == nil {
		c.remember(key, v)
	}
	return err
}

// rests reports whether the store has just failed: who need not, does not ask it.
func (c *answerCache) rests() bool {
	return c.store.Fails() && time.Since(time.Unix(0, c.failed.Load())) < restTime
}

func (c *answerCache) note(ctx context.Context, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return // who asked went away
	}
	if err != nil {
		c.metrics.storeErrors.Inc()
		c.failed.Store(time.Now().UnixNano())
	}
	c.store.Note(ctx, c.log, err, "standardizer: answers of the language model cannot be read or kept, documents wait", "standardizer: answers of the language model are kept again")
}
