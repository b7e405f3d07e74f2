package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// replica tells when the index of a query service has caught up with what was
// on the bus when it started.
type replica struct {
	bus    stream.Follower
	fleet  *fleet
	first  *generation // that the process began with; a later one is complete before it is searched
	target atomic.Pointer[map[int]uint64]
}

// run asks for the end of the bus until it answers.
func (r *replica) run(ctx context.Context) error {
	err := backoff.Retry(func() error {
		ends, err := r.bus.End(ctx, events.Embedded(r.first.Number))
		if err == nil {
			r.target.Store(&ends)
		}
		return err
	}, backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx))
	if err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (r *replica) ready() error {
	live := r.fleet.Live()
	if plan, _ := r.fleet.planner.Plan(); !plan.Has(live.Number) {
		return fmt.Errorf("generation %d was retired before this process left it: what is searched is not kept up to date", live.Number)
	}
	if live != r.first {
		return nil
	}
	target := r.target.Load()
	if target == nil {
		return errors.New("the bus has not answered yet")
	}
	at := r.first.index.Positions()
	for partition, end := range *target {
		if at[partition] < end {
			return fmt.Errorf("the index is at %d of %d in partition %d", at[partition], end, partition)
		}
	}
	return nil
}
