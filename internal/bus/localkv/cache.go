// Package snapshot keeps on disk what a watched store said last, so that a process that
// starts while the store is away goes on with what it knew.
package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/stream"
)

// Source is the store that is watched.
type Source interface {
	// Follow calls fn with the newest value of every key that begins with prefix, then
	// current, then fn with each change, until ctx ends (nil) or the store is lost. It
	// waits for a store that is away.
	Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error
}

// Store is where values are kept: a trainerstore.Store.
type Store interface {
	// Load calls fn with every record. Key and value are fn's during the call only.
	Load(fn func(key string, value []byte) error) error
	// Get returns one record, nil if there is none.
	Get(key string) ([]byte, error)
	// Save writes records durably, and deletes those whose value is nil.
	Save(changes map[string][]byte) error
	// Erase deletes the records whose keys match, and leaves nothing of them behind.
	Erase(match func(key string) bool) error
}

// Deps are what a Cache works with.
type Deps struct {
	Source Source
	Store  Store
	Logger *slog.Logger
	// Usable says why a value cannot serve: the usable one before it stays on disk.
	Usable func(key string, value []byte) error
}

// Cache is a watch of the source that begins with what is on disk. Its methods may be
// called concurrently.
type Cache struct {
	deps Deps

	mu      sync.Mutex      // guards current
	current map[string]bool // whether the source has said everything, by prefix that is watched
}

// New returns a cache.
func New(deps Deps) *Cache { return &Cache{deps: deps, current: map[string]bool{}} }

// Watch calls fn with what is on disk of the keys that begin with prefix, then with what
// the source says of them, until ctx ends (nil), the source is lost, or fn fails (its
// error). A key that the source does not know, not even as deleted, stays: a store that
// lost its data takes nothing away.
func (c *Cache) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	c.setCurrent(ctx, prefix, false)
	defer c.setCurrent(ctx, prefix, false)
	if err := c.replay(prefix, fn); err != nil {
		return err
	}
	return c.deps.Source.Follow(ctx, prefix, func(e stream.Entry) error {
		if err := fn(e); err != nil {
			return err
		}
		if err := c.save(e); err != nil { // only the next start would know less
			c.deps.Logger.Warn("snapshot: a value was not saved, the one before stays", "key", e.Key, "error", err)
		}
		return nil
	}, func() { c.setCurrent(ctx, prefix, true) })
}

// Erase takes values from the disk.
func (c *Cache) Erase(match func(key string) bool) error { return c.deps.Store.Erase(match) }

// Stale reports whether what the watches said may be behind the source: it is away, has
// not said everything yet, or there is no watch.
func (c *Cache) Stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, current := range c.current {
		if !current {
			return true
		}
	}
	return len(c.current) == 0
}

func (c *Cache) setCurrent(ctx context.Context, prefix string, current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch was := c.current[prefix]; {
	case current && !was:
		c.deps.Logger.Info("snapshot: the store is reached", "keys", prefix)
	case !current && was && ctx.Err() == nil:
		c.deps.Logger.Warn("snapshot: the store is away, what is on disk serves", "keys", prefix)
	}
	c.current[prefix] = current
}

// revisionSize is the length of the revision that stands before a value on disk.
const revisionSize = 8

// replay calls fn with what is on disk. A disk that cannot be read fails nothing: the
// source has the values.
func (c *Cache) replay(prefix string, fn func(stream.Entry) error) (failed error) {
	err := c.deps.Store.Load(func(key string, record []byte) error {
		if !strings.HasPrefix(key, prefix) || len(record) < revisionSize {
			return nil
		}
		failed = fn(stream.Entry{Key: key, Revision: binary.BigEndian.Uint64(record), Value: bytes.Clone(record[revisionSize:])})
		return failed
	})
	if err != nil && failed == nil {
		c.deps.Logger.Warn("snapshot: values on disk cannot be read", "keys", prefix, "error", err)
	}
	return failed
}

// save writes what the source said to disk, if it is not there.
func (c *Cache) save(e stream.Entry) error {
	var record []byte
	if e.Value != nil {
		if err := c.deps.Usable(e.Key, e.Value); err != nil {
			return err
		}
		record = append(binary.BigEndian.AppendUint64(nil, e.Revision), e.Value...)
	}
	if known, err := c.deps.Store.Get(e.Key); err == nil && bytes.Equal(known, record) {
		return nil
	}
	return c.deps.Store.Save(map[string][]byte{e.Key: record})
}
