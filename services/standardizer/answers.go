package standardizer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"

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
func answerKey(w Wanted, format, name string, raw []byte) string {
	h := sha256.New()
	for _, part := range []string{w.Prompt, w.Model, w.Language, format, name, string(raw)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answerCache is the verdicts on documents: those used last in memory, all in the
// store. A store that cannot be reached counts as empty.
type answerCache struct {
	near    *lru.Cache[string, verdict]
	answers Answers
	metrics *metrics
	log     *slog.Logger
	store   health.State
}

// remembered is how many verdicts are kept in memory.
const remembered = 4096

func newAnswerCache(answers Answers, m *metrics, log *slog.Logger) (*answerCache, error) {
	near, err := lru.New[string, verdict](remembered)
	return &answerCache{near: near, answers: answers, metrics: m, log: log}, err
}

func (c *answerCache) get(ctx context.Context, key string) (verdict, bool) {
	if v, ok := c.near.Get(key); ok {
		return v, true
	}
	raw, err := c.answers.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		c.note(ctx, nil)
		return verdict{}, false
	}
	if c.note(ctx, err); err != nil {
		return verdict{}, false
	}
	var v verdict
	if json.Unmarshal(raw, &v) != nil || len(v.Said) == 0 && v.Fallback == "" {
		return verdict{}, false
	}
	c.near.Add(key, v)
	return v, true
}

func (c *answerCache) put(ctx context.Context, key string, v verdict) {
	c.near.Add(key, v)
	raw, err := json.Marshal(v)
	if err == nil {
		err = c.answers.Put(ctx, key, raw)
	}
	c.note(ctx, err)
}

func (c *answerCache) note(ctx context.Context, err error) {
	if err != nil {
		c.metrics.storeErrors.Inc()
	}
	c.store.Note(ctx, c.log, err, "standardizer: answers of the language model cannot be stored, they will be paid for again",
		"standardizer: answers of the language model are stored again")
}
