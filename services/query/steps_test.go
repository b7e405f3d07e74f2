package query

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// byWords is an index that finds for a text what a test names, by a word of it.
type byWords struct {
	*fakeIndex
	found map[string][]index.Candidate

	mu    sync.Mutex
	needs []string
	asked []index.Lookup
}

func (b *byWords) Candidates(_ context.Context, l index.Lookup) ([]index.Candidate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, l)
	for _, n := range l.Probe.Needs {
		b.needs = append(b.needs, n.Whole.Words)
	}
	for word, found := range b.found {
		if l.N > 0 && strings.Contains(l.Probe.Query.Words, word) { // its providers have no documents
			return found, b.err
		}
	}
	return nil, b.err
}

// newTravel returns a service that knows trains, hotels and maps. A hotel's
// tools match hotels far better than anything matches trains.
func newTravel(t *testing.T) (*bench, *byWords) {
	t.Helper()
	b := newBench(t, tool("book", "rail", 3), tool("times", "rail", 2), tool("reserve", "inn", 30), tool("rooms", "inn", 20), tool("route", "maps", 1))
	found := map[string][]index.Candidate{
		"train": {tool("book", "rail", 3), tool("times", "rail", 2), tool("route", "maps", 1)},
		"hotel": {tool("reserve", "inn", 30), tool("rooms", "inn", 20), tool("route", "maps", 10)},
	}
	ix := &byWords{fakeIndex: b.index, found: found}
	b.ix = ix
	b.build(t, Config{})
	return b, ix
}

func TestStepsTakeTurns(t *testing.T) {
	b, _ := newTravel(t)
	stop := b.start(t)
	resp := b.search(t, schema.SearchRequest{Query: "plan my journey", Steps: []string{" a train ticket", "a hotel bed"}})
	stop()
	recorded := b.impressions(t)[0]
	if got, want := ids(resp), []string{"reserve", "book", "rooms", "times", "route"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, step := range []int{2, 1, 2, 1, 2} {
		if got, kept := resp.Results[i].Step, recorded.Shown[i].Step; got != step || kept != step {
			t.Errorf("place %d is from step %d, recorded as %d, want %d", i, got, kept, step)
		}
	}
	if resp.Rewrite != schema.RewriteGiven || len(recorded.Vector) == 0 || recorded.Query != "plan my journey" {
		t.Errorf("rewrite %q, recorded as %q by %v", resp.Rewrite, recorded.Query, recorded.Vector)
	}
	if calls := b.embedder.calls; len(calls) != 1 || !slices.Contains(calls[0], "plan my journey") || !slices.Contains(calls[0], "a train ticket") {
		t.Errorf("embedded %q", calls)
	}
}

// Providers stand in turns too: rail and inn come first in one step each, maps
// comes second in both and names its tool once.
func TestProvidersOfSteps(t *testing.T) {
	b, _ := newTravel(t)
	resp := b.search(t, schema.SearchRequest{Rank: schema.RankProviders, Steps: []string{"a train ticket", "a hotel bed"}, Explain: true})
	if got, want := ids(resp), []string{"inn", "rail", "maps"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	maps := resp.Results[2]
	if len(maps.SupportingTools) != 1 || maps.SupportingTools[0].Step != 2 || maps.SupportingTools[0].Rank != 3 || maps.Step != 2 {
		t.Errorf("maps is %+v", maps)
	}
	if s := resp.Searched; len(s.Needs) != 2 || s.Needs[1].UserIntent != "a hotel bed" {
		t.Errorf("searched for %+v", s)
	}
}
