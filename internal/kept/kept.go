// Package kept remembers on disk what a watched store said last, so that a
// process that starts while the store is away goes on with what it knew.
package kept

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/stream"
)

// Source is the store that is watched.
type Source interface {
	// Follow calls fn with the newest value of every key that begins with
	// prefix, then current, then fn with each change, until ctx ends (nil) or
	// the store is lost. It waits for a store that is away.
	Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error
}

// Store is where values are kept: a trainerstore.Store.
type Store interface {
	// Load calls fn with every record. Key and value are fn's during the call
	// only.
	Load(fn func(key string, value []byte) error) error
	// Save writes records durably, and deletes those whose value is nil.
	Save(changes map[string][]byte) error
}

// Deps are what a Keeper works with.
type Deps struct {
	Source Source
	Store  Store
	Logger *slog.Logger
	// Good says why a value is not worth keeping: the good one before it stays
	// on disk. Nil keeps every one.
	Good func(key string, value []byte) error
}

// Keeper is a watch of the source that begins with what is on disk. It is a
// decorator: whoever watches it need not know. Its methods may be called
// concurrently.
type Keeper struct {
	deps Deps

	mu      sync.Mutex                   // guards what follows
	sums    map[string][sha256.Size]byte // of what is on disk, by key
	current map[string]bool              // whether the source was heard, by prefix that is watched
}

// New returns a keeper.
func New(deps Deps) (*Keeper, error) {
	if deps.Source == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("kept: a source, a store and a logger are wanted")
	}
	return &Keeper{deps: deps, sums: map[string][sha256.Size]byte{}, current: map[string]bool{}}, nil
}

// Watch calls fn with what is on disk of the keys that begin with prefix, then
// with what the source says of them, until ctx ends (nil), the source is lost,
// or fn fails (its error). A key that the source does not know, not even as
// deleted, stays: a store that lost its data takes nothing away.
func (k *Keeper) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	k.heard(ctx, prefix, false)
	defer k.heard(ctx, prefix, false)
	if err := k.replay(prefix, fn); err != nil {
		return err
	}
	return k.deps.Source.Follow(ctx, prefix, func(e stream.Entry) error {
		if err := fn(e); err != nil {
			return err
		}
		k.keep(e)
		return nil
	}, func() { k.heard(ctx, prefix, true) })
}

// Stale reports whether what the watches said may be behind the source: it is
// away, has not said everything yet, or nobody watches.
func (k *Keeper) Stale() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, current := range k.current {
		if !current {
			return true
		}
	}
	return len(k.current) == 0
}

func (k *Keeper) heard(ctx context.Context, prefix string, current bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch was := k.current[prefix]; {
	case current && !was:
		k.deps.Logger.Info("kept: the store is reached", "keys", prefix)
	case !current && was && ctx.Err() == nil:
		k.deps.Logger.Warn("kept: the store is away, what is on disk serves", "keys", prefix)
	}
	k.current[prefix] = current
}

// replay calls fn with what is on disk. Values that can not be read are not
// worth failing for: the source has them.
func (k *Keeper) replay(prefix string, fn func(stream.Entry) error) error {
	var failed error
	err := k.deps.Store.Load(func(key string, record []byte) error {
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		e, err := decode(key, record)
		if err != nil {
			return err
		}
		k.note(key, sha256.Sum256(record))
		failed = fn(e)
		return failed
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		k.deps.Logger.Warn("kept: values on disk can not be read", "keys", prefix, "error", err)
	}
	return nil
}

// keep writes what the source said to disk, if it is not there. Where that
// fails the process goes on: only its next start would know less.
func (k *Keeper) keep(e stream.Entry) {
	if e.Value != nil && k.deps.Good != nil {
		if err := k.deps.Good(e.Key, e.Value); err != nil {
			k.deps.Logger.Warn("kept: a value is not kept, the one before stays", "key", e.Key, "error", err)
			return
		}
	}
	record := encode(e)
	sum := sha256.Sum256(record)
	if k.noted(e.Key) == sum {
		return
	}
	if err := k.deps.Store.Save(map[string][]byte{e.Key: record}); err != nil {
		k.deps.Logger.Warn("kept: a value can not be kept", "key", e.Key, "error", err)
		return
	}
	k.note(e.Key, sum)
}

func (k *Keeper) note(key string, sum [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sums[key] = sum
}

func (k *Keeper) noted(key string) [sha256.Size]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sums[key]
}

// revisionSize is the length of the revision that stands before a value.
const revisionSize = 8

// encode returns the record of an entry, nil for a deleted key.
func encode(e stream.Entry) []byte {
	if e.Value == nil {
		return nil
	}
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, revisionSize+len(e.Value)), e.Revision), e.Value...)
}

func decode(key string, record []byte) (stream.Entry, error) {
	if len(record) < revisionSize {
		return stream.Entry{}, fmt.Errorf("record of %s has %d bytes", key, len(record))
	}
	return stream.Entry{
		Key: key, Revision: binary.BigEndian.Uint64(record), Value: bytes.Clone(record[revisionSize:]),
	}, nil
}
