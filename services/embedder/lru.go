package embedder

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// lru keeps the n entries that were used last.
type lru[K comparable, V any] struct {
	size int

	mu    sync.Mutex // guards all below
	order *list.List // of *entry[K, V], newest first
	at    map[K]*list.Element
	used  bool // since the last sweep
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, order: list.New(), at: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = true
	e, ok := c.at[k]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

func (c *lru[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = true // by a batch that may have to be tried again
	if e, ok := c.at[k]; ok {
		e.Value.(*entry[K, V]).value = v
		c.order.MoveToFront(e)
		return
	}
	c.at[k] = c.order.PushFront(&entry[K, V]{k, v})
	if c.order.Len() > c.size {
		oldest := c.order.Back()
		delete(c.at, oldest.Value.(*entry[K, V]).key)
		c.order.Remove(oldest)
	}
}

// sweep lets the entries go whenever nothing was looked up or added for as
// long as idle, until ctx ends.
func (c *lru[K, V]) sweep(ctx context.Context, idle time.Duration) {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.forgetUnused()
		}
	}
}

func (c *lru[K, V]) forgetUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used {
		c.order.Init()
		c.at = map[K]*list.Element{}
	}
	c.used = false
}
