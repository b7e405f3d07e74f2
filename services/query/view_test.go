package query

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// gated is an index whose answers wait.
type gated struct {
	search.Index
	asked chan struct{}
	open  chan struct{}
}

func (g gated) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	g.asked <- struct{}{}
	<-g.open
	return g.Index.Candidates(ctx, l)
}

func (b *bench) snapshotOf(model string) search.Snapshot {
	return search.Snapshot{Model: model, Index: b.index, Catalogue: b.catalogue, Embedder: b.embedder}
}

// A search that has begun ends with the snapshot that it began with, and that is not
// let go before.
func TestASearchKeepsItsSnapshot(t *testing.T) {
	old, next := newBench(t, tool("old", "", 1)), newBench(t, tool("next", "", 1))
	slow := gated{old.index, make(chan struct{}), make(chan struct{})}
	old.ix = slow
	old.build(t, Config{})
	found := make(chan []string)
	go func() { found <- ids(old.search(t, schema.SearchRequest{})) }()
	<-slow.asked
	wait := check.Value(old.Switch(next.snapshotOf("n")))(t)
	if got := ids(old.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"next"}) {
		t.Errorf("after the switch: %v", got)
	}
	waited := make(chan struct{})
	go func() { wait(); close(waited) }()
	select {
	case <-waited:
		t.Error("the snapshot is let go while it is searched")
	default:
	}
	close(slow.open)
	if got := <-found; !slices.Equal(got, []string{"old"}) {
		t.Errorf("the search of before: %v", got)
	}
	<-waited
}

// Weights and queries of one model serve its searches alone, and serve them again after a
// step back.
func TestEachModelHasItsOwnWeightsAndExemplars(t *testing.T) {
	b := newBench(t, tool("wordy", "", 5), tool("asked", "", 1))
	b.model = "m"
	b.build(t, Config{})
	b.learn(t, "weights.live."+schema.ModelOwner(testTenant, "m"), mustJSON(sealed(1, bySimilar)))
	b.learn(t, "weights.live."+schema.ModelOwner(testTenant, "n"), mustJSON(sealed(2, bySimilar)))
	u := askedFor(map[string]schema.Direction{"asked": {127, 0}})
	u.Prior["asked"] = 1
	b.learn(t, "usage."+testTenant, u)
	for _, tc := range []struct{ model, weights, similar string }{
		{"m", "w1", "asked"}, {"n", "w2", ""}, {"unheard", fusion.BuiltinName, ""}, {"m", "w1", "asked"},
	} {
		check.Value(b.Switch(b.snapshotOf(tc.model)))(t)
		resp := b.search(t, schema.SearchRequest{Explain: true})
		if resp.Weights != tc.weights {
			t.Errorf("%s ranks by %s", tc.model, resp.Weights)
		}
		for _, r := range resp.Results {
			if lifted := r.Explanation.Features["usage.similar"] > 0; lifted != (r.ID == tc.similar) {
				t.Errorf("%s: %s lifted %v", tc.model, r.ID, lifted)
			}
		}
		if also := b.alsoOf(t); tc.similar != "" && !slices.Contains(also, tc.similar) {
			t.Errorf("%s: %v take part", tc.model, also)
		}
	}
}

func TestSwitchingUnderLoad(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	ctx, stop := context.WithCancel(t.Context())
	var searchers sync.WaitGroup
	for range 4 {
		searchers.Go(func() {
			for ctx.Err() == nil {
				if _, err := b.Search(context.Background(), testCaller, schema.SearchRequest{Query: "q"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		closed := &closing{Index: b.index}
		wait := check.Value(b.Switch(search.Snapshot{Model: "m", Index: closed, Catalogue: b.catalogue, Embedder: b.embedder}))(t)
		wait()
		next := check.Value(b.Switch(b.snapshotOf("n")))(t)
		next()
		closed.close()
	}
	stop()
	searchers.Wait()
}

// closing is an index that fails once it is closed.
type closing struct {
	search.Index
	mu     sync.Mutex
	closed bool
}

func (c *closing) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *closing) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, context.Canceled
	}
	return c.Index.Candidates(ctx, l)
}
