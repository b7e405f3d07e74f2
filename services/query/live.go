package query

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
)

// live holds, by tenant, the newest good value that the store has of
// something: the fallback until one arrives, and the last good one when what
// arrives can not be used. A value is never changed once it is here: searches
// go on with the one they began with.
type live[T any] struct {
	what     string // in metrics and logs
	prefix   string // of its keys; the tenant follows
	fallback T
	decode   func(tenant string, value []byte) (v T, epoch uint64, err error)
	log      *slog.Logger
	metrics  *metrics

	mu     sync.RWMutex // guards values
	values map[string]epochal[T]
}

// epochal is a value with the epoch that the next one must not be behind.
type epochal[T any] struct {
	value T
	epoch uint64
}

// of returns the tenant's value.
func (l *live[T]) of(tenant string) T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if v, ok := l.values[tenant]; ok {
		return v.value
	}
	return l.fallback
}

// learn takes what the store says of a key. A deleted key brings the fallback
// back.
func (l *live[T]) learn(key string, value []byte) {
	tenant, ok := strings.CutPrefix(key, l.prefix)
	if !ok || tenant == "" {
		return
	}
	if len(value) == 0 {
		l.forget(tenant)
		return
	}
	v, epoch, err := l.decode(tenant, value)
	switch {
	case err != nil:
		l.refuse(tenant, "invalid", err)
	case !l.swap(tenant, epochal[T]{v, epoch}):
		l.refuse(tenant, "older_epoch", nil)
	default:
		l.log.Info("query: new "+l.what, "tenant", tenant, "epoch", epoch)
	}
}

func (l *live[T]) forget(tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.values, tenant)
}

// swap makes next the tenant's value unless its epoch is behind.
func (l *live[T]) swap(tenant string, next epochal[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if next.epoch < l.values[tenant].epoch {
		return false
	}
	if l.values == nil {
		l.values = map[string]epochal[T]{}
	}
	l.values[tenant] = next
	return true
}

func (l *live[T]) refuse(tenant, reason string, err error) {
	l.metrics.refused.WithLabelValues(l.what, reason).Inc()
	l.log.Warn("query: "+l.what+" refused, the last good value stays", "tenant", tenant, "reason", reason, "err", err)
}

// follow watches the keys until ctx ends. A store that is lost is watched
// again: until then searches go on with what is known.
func (l *live[T]) follow(ctx context.Context, w Watcher) error {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	for {
		err := w.Watch(ctx, l.prefix, func(e stream.Entry) error {
			pace.Reset()
			l.learn(e.Key, e.Value)
			return nil
		})
		if ctx.Err() != nil {
			return nil
		}
		l.log.Warn("query: lost sight of the store of "+l.what, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace.NextBackOff()):
		}
	}
}
