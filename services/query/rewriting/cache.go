package rewriting

import (
	"container/list"
	"fmt"
	"sync"
	"time"
)

// outcome is what came of a question: needs and arguments, or an error.
type outcome struct {
	Rewritten
	err error
}

// errBefore is wrapped by a failure that is known from before.
type errBefore struct{ error }

// Unwrap returns the failure.
func (e errBefore) Unwrap() error { return e.error }

// again returns the outcome to one who did not wait for it.
func (o outcome) again() (Rewritten, error) {
	if o.err != nil {
		return Rewritten{}, errBefore{fmt.Errorf("rewriting: a moment ago: %w", o.err)}
	}
	o.Rewritten.Cached = true
	return o.Rewritten, nil
}

// overhead is about what an outcome takes beside its texts, in bytes.
const overhead = 512

// cache keeps the outcomes that were used last, up to a size, each for a time.
type cache struct {
	limit int // bytes

	mu    sync.Mutex // guards what follows
	size  int
	order *list.List // of *kept, used last first
	at    map[string]*list.Element
}

type kept struct {
	outcome
	key   string
	until time.Time
}

func (k *kept) size() int {
	size := overhead + k.Rewritten.size()
	if k.err != nil {
		size += len(k.err.Error())
	}
	return size
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), at: map[string]*list.Element{}}
}

func (c *cache) get(key string) (outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[key]
	if !ok {
		return outcome{}, false
	}
	k := e.Value.(*kept)
	if !time.Now().Before(k.until) {
		c.drop(e)
		return outcome{}, false
	}
	c.order.MoveToFront(e)
	return k.outcome, true
}

func (c *cache) put(key string, o outcome, keep time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[key]; ok {
		c.drop(e)
	}
	k := &kept{outcome: o, key: key, until: time.Now().Add(keep)}
	c.at[key] = c.order.PushFront(k)
	for c.size += k.size(); c.size > c.limit; {
		c.drop(c.order.Back())
	}
}

// drop forgets an entry. The caller holds mu.
func (c *cache) drop(e *list.Element) {
	k := c.order.Remove(e).(*kept)
	delete(c.at, k.key)
	c.size -= k.size()
}
