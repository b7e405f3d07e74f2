package standardizer

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

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

// defaultRemembered is how many verdicts are kept in memory.
const defaultRemembered = 4096

// memory is the verdicts on documents: those used last here, all behind it. A
// store that can not be reached counts as empty.
type memory struct {
	size    int
	answers Answers
	metrics *metrics
	log     *slog.Logger

	mu    sync.Mutex // guards all below
	order *list.List // of *remembered, newest first
	at    map[string]*list.Element
	away  bool // the store failed last
}

type remembered struct {
	key   string
	value verdict
}

func newMemory(size int, answers Answers, m *metrics, log *slog.Logger) *memory {
	if size == 0 {
		size = defaultRemembered
	}
	return &memory{size: size, answers: answers, metrics: m, log: log, order: list.New(), at: map[string]*list.Element{}}
}

func (m *memory) get(ctx context.Context, key string) (verdict, bool) {
	if v, ok := m.near(key); ok {
		return v, true
	}
	raw, err := m.answers.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		m.tell(nil)
		return verdict{}, false
	}
	if m.tell(err); err != nil {
		return verdict{}, false
	}
	var v verdict
	if json.Unmarshal(raw, &v) != nil || v.Answer == nil && v.Fallback == "" {
		return verdict{}, false // written by another version: asked again
	}
	m.keep(key, v)
	return v, true
}

func (m *memory) put(ctx context.Context, key string, v verdict) {
	m.keep(key, v)
	raw, err := json.Marshal(v)
	if err == nil {
		err = m.answers.Put(ctx, key, raw)
	}
	m.tell(err)
}

func (m *memory) near(key string) (verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[key]
	if !ok {
		return verdict{}, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*remembered).value, true
}

func (m *memory) keep(key string, v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.at[key]; ok {
		e.Value.(*remembered).value = v
		m.order.MoveToFront(e)
		return
	}
	m.at[key] = m.order.PushFront(&remembered{key, v})
	if m.order.Len() > m.size {
		last := m.order.Back()
		delete(m.at, last.Value.(*remembered).key)
		m.order.Remove(last)
	}
}

// tell counts failures of the store; the log hears of the first and of the
// recovery.
func (m *memory) tell(err error) {
	if err != nil {
		m.metrics.storeErrors.Inc()
	}
	m.mu.Lock()
	changed := m.away != (err != nil)
	m.away = err != nil
	m.mu.Unlock()
	switch {
	case changed && err != nil:
		m.log.Warn("standardizer: answers of the language model can not be kept, they are paid for again", "error", err)
	case changed:
		m.log.Info("standardizer: answers of the language model are kept again")
	}
}
