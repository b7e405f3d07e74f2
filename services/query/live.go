package query

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/working"
)

// live holds, by owner, the newest good value that the store has of something,
// and the last good one when what arrives can not be used. A value is never changed once it is here: searches
// go on with the one they began with.
type live[T any] struct {
	what    string // in metrics and logs
	prefix  string // of its keys; the owner follows: a tenant, or a schema.ModelOwner
	decode  func(owner string, value []byte) (v T, epoch uint64, err error)
	log     *slog.Logger
	metrics *metrics

	mu       sync.RWMutex // guards all below
	values   map[string]epochal[T]
	refusals map[string]string // by owner, why what the store has now can not serve
}

// epochal is a value with the epoch that the next one must not be behind.
type epochal[T any] struct {
	value T
	epoch uint64
}

// of returns the value of the first of these owners that has one, else the
// fallback.
func (l *live[T]) of(fallback T, owners ...string) T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, owner := range owners {
		if v, ok := l.values[owner]; ok {
			return v.value
		}
	}
	return fallback
}

// learn takes what the store says of a key. A deleted key leaves no value.
func (l *live[T]) learn(key string, value []byte) {
	owner, ok := strings.CutPrefix(key, l.prefix)
	if !ok || owner == "" {
		return
	}
	if len(value) == 0 {
		l.forget(owner)
		return
	}
	v, epoch, err := l.decode(owner, value)
	switch {
	case err != nil:
		l.refuse(owner, refusedInvalid, err)
	case !l.swap(owner, epochal[T]{v, epoch}):
		l.refuse(owner, refusedOlder, fmt.Errorf("epoch %d is older than what serves", epoch))
	default:
		level := slog.LevelDebug // uses change all the time
		if l.prefix == weightsPrefix {
			level = slog.LevelInfo
		}
		l.log.Log(context.Background(), level, "query: new "+l.what, "owner", owner, "epoch", epoch)
	}
}

func (l *live[T]) forget(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.values, owner)
	delete(l.refusals, owner)
}

// epochs returns the sum of the epochs of all owners' values, which grows with
// every newer one.
func (l *live[T]) epochs() (sum uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, v := range l.values {
		sum += v.epoch
	}
	return sum
}

// refused returns why what the store has of these owners can not serve.
func (l *live[T]) refused(owners ...string) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []string
	for _, owner := range owners {
		if why, ok := l.refusals[owner]; ok {
			out = append(out, l.what+": "+why)
		}
	}
	return out
}

// swap makes next the owner's value unless its epoch is behind.
func (l *live[T]) swap(owner string, next epochal[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if next.epoch < l.values[owner].epoch {
		return false
	}
	if l.values == nil {
		l.values = map[string]epochal[T]{}
	}
	l.values[owner] = next
	delete(l.refusals, owner)
	return true
}

func (l *live[T]) refuse(owner, reason string, err error) {
	l.metrics.refused.WithLabelValues(l.what, reason).Inc()
	l.mu.Lock()
	if l.refusals == nil {
		l.refusals = map[string]string{}
	}
	l.refusals[owner] = err.Error()
	l.mu.Unlock()
	l.log.Warn("query: "+l.what+" refused, the last good value stays", "owner", owner, "reason", reason, "error", err)
}

// follow watches the keys until ctx ends. A store that is lost is watched
// again: until then searches go on with what is known.
func (l *live[T]) follow(ctx context.Context, w Watcher) error {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	var sight working.State
	note := func(err error) {
		sight.Note(ctx, l.log, err, "query: lost sight of the store of "+l.what+", the last ones serve", "query: the store of "+l.what+" is in sight again")
	}
	for {
		err := w.Watch(ctx, l.prefix, func(e stream.Entry) error {
			note(nil)
			pace.Reset()
			l.learn(e.Key, e.Value)
			return nil
		})
		if ctx.Err() != nil {
			return nil
		}
		note(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace.NextBackOff()):
		}
	}
}
