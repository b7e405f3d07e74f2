package reindex

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/pkg/events"
)

// WeaviateGroup is the consumer group that writes vectors to Weaviate.
const WeaviateGroup = "weaviate"

// weaviateSink writes embedded changes to Weaviate. Members of the group share the
// partitions, so that each entity has one writer.
type weaviateSink struct {
	open func(context.Context) (*weaviate.Index, error)
	loop *stream.Loop

	mu    sync.Mutex // guards index, whose writes follow each other
	index *weaviate.Index
}

func newWeaviateSink(topic events.Topic, open func(context.Context) (*weaviate.Index, error), d stream.Deps) *weaviateSink {
	s := &weaviateSink{open: open}
	s.loop = stream.New(stream.Stage{Name: WeaviateGroup, Topic: topic, Handler: s.handle}, d)
	return s
}

// run writes changes until ctx ends. The class is made before there is a change for
// it, as soon as Weaviate answers: searches need it.
func (s *weaviateSink) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.loop.Run(ctx) })
	g.Go(func() error {
		pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(10*time.Second), backoff.WithMaxElapsedTime(0))
		_ = backoff.Retry(func() error { return s.apply(ctx, nil) }, backoff.WithContext(pace, ctx)) // the loop reports its failures
		return nil
	})
	return g.Wait()
}

// handle writes a batch. If Weaviate cannot be reached, the whole batch is tried again.
func (s *weaviateSink) handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	out := make([]stream.Outcome, len(msgs))
	var changes []events.Change
	var from []int // the place of each change in msgs
	for i, m := range msgs {
		if m.IsNull() {
			continue
		}
		change, err := events.Decode[events.Change](m.Value)
		if out[i].Err = stream.Permanent(stream.ReasonUndecodable, err); err == nil {
			changes, from = append(changes, change), append(from, i)
		}
	}
	err := s.apply(ctx, changes)
	for n, i := range from {
		if stream.Reason(err) != "" && len(changes) > 1 {
			out[i].Err = s.apply(ctx, changes[n:n+1]) // finds the change that fails
			continue
		}
		out[i].Err = err
	}
	return out
}

// forget drops the cached state of a tenant.
func (s *weaviateSink) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		s.index.Forget(tenant)
	}
}

func (s *weaviateSink) apply(ctx context.Context, changes []events.Change) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		if s.index, err = s.open(ctx); err != nil {
			return err
		}
	}
	return s.index.Apply(ctx, changes)
}
