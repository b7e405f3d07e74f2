package app

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// proposalsName is the consumer group that carries what was embedded into Weaviate.
const proposalsName = "weaviate"

// proposals is what Weaviate is to propose candidates from. Members of the group
// share the partitions, so that each entity has one writer.
type proposals struct {
	open func(context.Context) (*weaviate.Index, error)
	loop *stream.Loop

	mu    sync.Mutex // guards index, whose writes follow each other
	index *weaviate.Index
	there chan struct{} // closed once index is open
}

func newProposals(topic events.Topic, open func(context.Context) (*weaviate.Index, error), d stream.Deps) (_ *proposals, err error) {
	p := &proposals{open: open, there: make(chan struct{})}
	p.loop, err = stream.New(stream.Stage{Name: proposalsName, Topic: topic, Handler: p}, d)
	return p, err
}

// run carries changes over until ctx ends, and looks after what is there. The
// class is made before there is a change for it, as soon as Weaviate answers: a
// search asks for it from the first tool on.
func (p *proposals) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.loop.Run(gctx) })
	g.Go(func() error {
		pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(10*time.Second), backoff.WithMaxElapsedTime(0))
		_ = backoff.Retry(func() error { return p.apply(gctx, nil) }, backoff.WithContext(pace, gctx)) // the loop says why it fails
		return nil
	})
	g.Go(func() error {
		select {
		case <-p.there:
			return p.index.Run(gctx)
		case <-gctx.Done():
			return nil
		}
	})
	return g.Wait()
}

// Handle writes a batch. Weaviate may be away at the start: then all of it is
// tried again.
func (p *proposals) Handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	out := make([]stream.Outcome, len(msgs))
	var changes []events.Change
	var from []int // the place of each change in msgs
	for i, m := range msgs {
		if m.IsNull() {
			continue
		}
		change, err := events.DecodeChange(m.Value)
		if out[i].Err = stream.Permanent(stream.ReasonUndecodable, err); err == nil {
			changes, from = append(changes, change), append(from, i)
		}
	}
	err := p.apply(ctx, changes)
	for n, i := range from {
		if stream.Reason(err) != "" && len(changes) > 1 {
			out[i].Err = p.apply(ctx, changes[n:n+1]) // whose fault it is
			continue
		}
		out[i].Err = err
	}
	return out
}

func (p *proposals) apply(ctx context.Context, changes []events.Change) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index == nil {
		if p.index, err = p.open(ctx); err != nil {
			return err
		}
		close(p.there)
	}
	if len(changes) == 0 {
		return nil
	}
	return p.index.Apply(ctx, changes, nil)
}

// close closes the index once nothing runs.
func (p *proposals) close() error {
	if p.index != nil {
		p.index.Close()
	}
	return nil
}
