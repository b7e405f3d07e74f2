package localkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// Source is the store that is watched.
type Source interface {
	// Follow calls fn with the newest value of every key that begins with prefix, then
	// current, then fn with each change, until ctx ends (nil) or the store is lost. It
	// waits for a store that is away.
	Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error
}

// Records is the store of a cache: a Store.
type Records interface {
	// Load calls fn with every record. Key and value are fn's during the call only.
	Load(fn func(key string, value []byte) error) error
	// Get returns one record, nil if the key is missing.
	Get(key string) ([]byte, error)
	// Save writes records durably, and deletes the ones with a nil value.
	Save(changes map[string][]byte) error
	// Erase deletes the records whose keys match, without leaving their bytes on disk.
	Erase(match func(key string) bool) error
}

// CacheDeps are the dependencies of a Cache.
type CacheDeps struct {
	Source Source
	Store  Records
	Logger *slog.Logger
	// Usable returns an error if a value cannot be used: the usable one before it stays on disk.
	Usable func(key string, value []byte) error
}

// Cache is a watch of the source that begins with the values on disk. Its methods may be called
// concurrently.
type Cache struct {
	deps CacheDeps

	mu      sync.Mutex      // guards current
	current map[string]bool // whether the source has said everything, by prefix that is watched
}

// NewCache returns a cache.
func NewCache(deps CacheDeps) *Cache { return &Cache{deps: deps, current: map[string]bool{}} }

// Watch calls fn with the values on disk of the keys with a prefix, then with the values of the
// source, until ctx ends (nil), the source is lost, or fn fails (its error). A key that the
// source does not know, not even as deleted, stays: a source that lost its data removes
// nothing.
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
			c.deps.Logger.Warn("localkv: a value was not saved, the one before stays", "key", e.Key, "error", err)
		}
		return nil
	}, func() { c.setCurrent(ctx, prefix, true) })
}

// Erase takes values from the disk.
func (c *Cache) Erase(match func(key string) bool) error { return c.deps.Store.Erase(match) }

// Stale reports whether the values may be older than the source: the source is away, a watch has
// not delivered everything yet, or nothing is watched.
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
		c.deps.Logger.Info("localkv: the store is reached", "keys", prefix)
	case !current && was && ctx.Err() == nil:
		c.deps.Logger.Warn("localkv: the store is away, the values on disk serve", "keys", prefix)
	}
	c.current[prefix] = current
}

// revisionSize is the length of the revision before a value on disk.
const revisionSize = 8

// replay calls fn with the values on disk. An unreadable disk is not an error: the source has
// the values.
func (c *Cache) replay(prefix string, fn func(stream.Entry) error) (failed error) {
	err := c.deps.Store.Load(func(key string, record []byte) error {
		if !strings.HasPrefix(key, prefix) || len(record) < revisionSize {
			return nil
		}
		failed = fn(stream.Entry{Key: key, Revision: binary.BigEndian.Uint64(record), Value: bytes.Clone(record[revisionSize:])})
		return failed
	})
	if err != nil && failed == nil {
		c.deps.Logger.Warn("localkv: values on disk cannot be read", "keys", prefix, "error", err)
	}
	return failed
}

// save writes an entry of the source to disk, if it is not there.
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
