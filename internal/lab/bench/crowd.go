package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// comeAgain is for how long a caller whose search was refused waits: Retry-After.
const comeAgain = time.Second

// saturate searches with more callers than processors, and compares their longest times with a
// fair share: with each caller served in turn, all of them would take as long as the mean.
func (r *run) saturate(ctx context.Context, queries []string) error {
	for _, callers := range []int{16, 64, 1024} {
		c := crowd{run: r, queries: queries}
		begin := time.Now()
		if err := c.search(ctx, callers); err != nil {
			return err
		}
		rate := float64(len(c.took)) / time.Since(begin).Seconds()
		slices.Sort(c.took)
		name := fmt.Sprintf("%d callers, ", callers)
		r.add(name+"searches", rate, "1/s")
		r.add(name+"median", at(c.took, 0.5), "ms")
		if len(c.refused) == 0 {
			r.compare(name+"99th percentile", at(c.took, 0.99), "ms", float64(callers)/rate*1000, "a fair share: callers by searches a second")
			continue
		}
		r.add(name+"99th percentile of those that were answered", at(c.took, 0.99), "ms")
		r.add(name+"refused", float64(len(c.refused)), "searches")
		r.add(name+"refused, 99th percentile", at(slices.Sorted(slices.Values(c.refused)), 0.99), "ms")
	}
	return nil
}

// crowd is callers that search at once.
type crowd struct {
	*run
	queries []string

	mu      sync.Mutex
	took    []time.Duration // of the searches that were answered
	refused []time.Duration
}

// search has each caller search one query after the other, until all of them together have had
// several answers to each.
func (c *crowd) search(ctx context.Context, callers int) error {
	const answers = 8 // to each query
	g, ctx := errgroup.WithContext(ctx)
	for caller := range callers {
		g.Go(func() error {
			for i := caller; c.answered() < answers*len(c.queries); i++ {
				if err := c.once(ctx, c.queries[i%len(c.queries)]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *crowd) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.took)
}

// once searches, and waits if the search is refused.
func (c *crowd) once(ctx context.Context, q string) error {
	begin := time.Now()
	_, err := c.embedded.SearchAs(ctx, planner, schema.SearchRequest{Query: q, K: 10})
	took := time.Since(begin)
	c.mu.Lock()
	busy := errors.Is(err, search.ErrBusy)
	if err == nil {
		c.took = append(c.took, took)
	} else if busy {
		c.refused = append(c.refused, took)
	}
	c.mu.Unlock()
	if !busy {
		return err
	}
	select {
	case <-time.After(comeAgain):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
