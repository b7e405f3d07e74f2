package streamtest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// KV is a store of small values in memory, as one process is connected to it. It fails on
// demand.
type KV struct {
	*values
	cut atomic.Bool
}

type values struct {
	mu       sync.Mutex // guards all below
	away     error
	failing  int  // writes until one fails; 0: none does
	takes    bool // the store takes the write that fails
	ttl      time.Duration
	entries  map[string]stream.Entry // without a value if deleted
	written  map[string]time.Time
	revision uint64
	changed  chan struct{} // closed at the next write
}

// NewKV returns an empty store.
func NewKV() *KV {
	kv := &KV{values: &values{changed: make(chan struct{})}}
	kv.Clear()
	return kv
}

// Connect returns another connection to the store.
func (kv *KV) Connect() *KV { return &KV{values: kv.values} }

// Cut ends this connection: calls fail from now on.
func (kv *KV) Cut() { kv.cut.Store(true) }

// Fail makes the calls of all connections fail with err; nil ends the faults.
func (kv *KV) Fail(err error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.away = err
}

// FailWrite makes the n-th write from now fail, counted from 1. With takes, the store takes it,
// and only its answer is lost.
func (kv *KV) FailWrite(n int, takes bool) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.failing, kv.takes = n, takes
}

// Expire hides keys from Keys once their values are as old as ttl.
func (kv *KV) Expire(ttl time.Duration) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.ttl = ttl
}

// Clear empties the store, and its revisions begin again, as in a new store.
func (kv *KV) Clear() {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.entries, kv.written, kv.revision = map[string]stream.Entry{}, map[string]time.Time{}, 0
}

// Writes returns how many writes the store has taken.
func (kv *KV) Writes() uint64 {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	return kv.revision
}

// failure returns why calls fail. It is called with mu held.
func (kv *KV) failure() error {
	if kv.cut.Load() {
		return errors.New("the connection is cut")
	}
	return kv.away
}

func (kv *KV) write(key string, value []byte, may func(old stream.Entry) bool) (uint64, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if err := kv.failure(); err != nil {
		return 0, err
	}
	if !may(kv.entries[key]) {
		return 0, stream.ErrConflict
	}
	fails := kv.failing == 1
	kv.failing = max(0, kv.failing-1)
	if fails && !kv.takes {
		return 0, errWrite
	}
	kv.revision++
	kv.entries[key] = stream.Entry{Key: key, Value: value, Revision: kv.revision}
	kv.written[key] = time.Now()
	close(kv.changed)
	kv.changed = make(chan struct{})
	if fails {
		return 0, errWrite
	}
	return kv.revision, nil
}

// errWrite is the error of a write that FailWrite makes fail.
var errWrite = errors.New("the store did not answer")

// Put stores a value.
func (kv *KV) Put(_ context.Context, key string, value []byte) (uint64, error) {
	return kv.write(key, append([]byte{}, value...), func(stream.Entry) bool { return true })
}

// Create stores a value under a new or a deleted key.
func (kv *KV) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return kv.write(key, append([]byte{}, value...), func(old stream.Entry) bool { return old.Value == nil })
}

// Update stores a value under a key of that revision.
func (kv *KV) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return kv.write(key, append([]byte{}, value...), func(old stream.Entry) bool { return old.Revision == revision })
}

// Delete removes a value.
func (kv *KV) Delete(_ context.Context, key string) error {
	_, err := kv.write(key, nil, func(stream.Entry) bool { return true })
	return err
}

// Get returns the value of a key.
func (kv *KV) Get(_ context.Context, key string) (stream.Entry, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	e := kv.entries[key]
	if e.Value == nil {
		return stream.Entry{}, cmp.Or(kv.failure(), stream.ErrNotFound)
	}
	return e, kv.failure()
}

// Keys returns the keys with a prefix.
func (kv *KV) Keys(_ context.Context, prefix string) (keys []string, err error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	for key, e := range kv.entries {
		if strings.HasPrefix(key, prefix) && e.Value != nil && (kv.ttl == 0 || time.Since(kv.written[key]) < kv.ttl) {
			keys = append(keys, key)
		}
	}
	return keys, kv.failure()
}

// Watch calls fn for the present values of keys with a prefix, and for every later change.
func (kv *KV) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	return kv.Follow(ctx, prefix, fn, func() {})
}

// Follow is Watch, and calls current after the present values.
func (kv *KV) Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error {
	var last uint64
	for first := true; ; first = false {
		kv.mu.Lock()
		fresh := slices.SortedFunc(maps.Values(kv.entries), func(a, b stream.Entry) int { return cmp.Compare(a.Revision, b.Revision) })
		changed := kv.changed
		kv.mu.Unlock()
		for _, e := range fresh {
			if e.Revision > last && strings.HasPrefix(e.Key, prefix) {
				last = e.Revision
				if err := fn(e); err != nil {
					return err
				}
			}
		}
		if first {
			current()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Answers keeps answers by key in memory. It fails on demand.
type Answers struct {
	mu   sync.Mutex // guards all below
	kept map[string][]byte
	away error
}

// Fail makes all calls fail with err; nil ends the faults.
func (a *Answers) Fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = err
}

// Get returns the answer of a key.
func (a *Answers) Get(_ context.Context, key string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if value, there := a.kept[key]; there || a.away != nil {
		return value, a.away
	}
	return nil, stream.ErrNotFound
}

// Put keeps an answer.
func (a *Answers) Put(_ context.Context, key string, value []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil {
		return a.away
	}
	if a.kept == nil {
		a.kept = map[string][]byte{}
	}
	a.kept[key] = value
	return nil
}

// Kept returns all answers by key.
func (a *Answers) Kept() map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.kept)
}
