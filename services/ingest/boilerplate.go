package ingest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/boilerplate"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// outdated are the keys of tools whose newest records do not say what is boilerplate by
// now. Its methods may be called concurrently.
type outdated struct {
	mu    sync.Mutex // guards keys
	keys  map[string]bool
	there chan struct{} // holds something while there may be keys
}

func newOutdated() *outdated {
	return &outdated{keys: map[string]bool{}, there: make(chan struct{}, 1)}
}

func (o *outdated) add(keys []string) {
	if len(keys) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		o.keys[key] = true
	}
	select {
	case o.there <- struct{}{}:
	default:
	}
}

// forget drops the keys of a tenant.
func (o *outdated) forget(tenant string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.keys, func(key string, _ bool) bool { return strings.HasPrefix(key, tenant+"/") })
}

// take waits for keys and returns all, in order.
func (o *outdated) take(ctx context.Context) ([]string, error) {
	select {
	case <-o.there:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []string
	for key := range o.keys {
		keys = append(keys, key)
	}
	clear(o.keys)
	slices.Sort(keys)
	return keys, nil
}

// toolIn returns what is counted of the tool in a message, nil where there is none.
func toolIn(m stream.Message, c *events.Change) *boilerplate.Tool {
	i := bytes.Index(m.Value, []byte(rawMember))
	if c.Op != events.OpUpsert || c.Kind != schema.KindTool || i < 0 {
		return nil
	}
	t := boilerplate.ToolOf(c, boilerplate.Sentences(m.Value[i+len(rawMember):len(m.Value)-1]))
	return &t
}

// sentences returns what is counted of the document of a change.
func (c *change) sentences() []string {
	if c.Kind != schema.KindTool || c.deletes() {
		return nil
	}
	return boilerplate.Sentences(c.raw)
}

// mark has a change say what is boilerplate in its document, counts it, and returns the
// keys of the tools that do not say so.
func (s *Service) mark(c *change) (outdated []string) {
	c.Boilerplate = s.counter.Of(c.Tenant, c.said)
	return s.counter.Add(boilerplate.ToolOf(&c.Change, c.said))
}

// markAgain writes the newest records of tools once more that came before it was known
// what is boilerplate in them, until ctx ends.
func (s *Service) markAgain(ctx context.Context) error {
	select {
	case <-s.loaded:
	case <-ctx.Done():
		return nil
	}
	for {
		keys, err := s.outdated.take(ctx)
		if err != nil {
			return nil
		}
		for some := range slices.Chunk(keys, groupItems) {
			pace := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx)
			_ = backoff.RetryNotify(func() error { return s.markSome(ctx, some) }, pace, func(err error, _ time.Duration) {
				s.log.Warn("ingest: cannot leave boilerplate out of tools, trying again", "error", err)
			}) // ends with ctx: the table finds them again
		}
	}
}

func (s *Service) markSome(ctx context.Context, keys []string) error {
	if err := s.catchUp(ctx); err != nil { // so that the places of their records are known
		return err
	}
	r := &request{}
	for _, key := range keys {
		known, there, _ := s.table.get(key)
		if !there || known.deleted || known.offset == 0 {
			continue
		}
		m, found, err := stream.ReadAt(ctx, s.follower, events.ToolsRaw, known.partition, known.offset)
		if err != nil {
			return unavailable(err)
		}
		c, ok := decodeChange(key, m.Value)
		if !found || !ok || c.Revision != known.Revision {
			continue // there is a newer one, which is counted when it is read
		}
		again(ctx, r, key, c, &Outcome{}).marks = known.Revision
	}
	if len(r.Items) == 0 {
		return nil
	}
	if err := s.submit(ctx, r); errors.Is(err, ErrUnavailable) {
		return err
	}
	return nil
}
