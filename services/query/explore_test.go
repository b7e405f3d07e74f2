package query

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/schema"
)

// explored returns a service that explores, and twelve picks: ten used tools with
// scores from 20 down to 11, then a new one with 10 and one with 9.
func newExplorer(share float64) (*Service, *search, []pick) {
	used := map[string]float64{}
	var picks []pick
	for i := range 12 {
		id := fmt.Sprintf("used%02d", i)
		if i < 10 {
			used[id] = 1
		} else {
			id = fmt.Sprintf("new%02d", i)
		}
		c := tool(id, "", float64(20-i))
		picks = append(picks, pick{ref: c.Ref, by: &ranking.Ranked{Candidate: c, Score: float64(20 - i)}})
	}
	sr := &search{id: "some search", req: schema.SearchRequest{K: 10}, usage: &usage{table: schema.Usage{Prior: used}}}
	return &Service{cfg: Config{Exploration: share}}, sr, picks
}

func refsOf(picks []pick) (ids []string) {
	for _, p := range picks {
		ids = append(ids, p.ref.ID)
	}
	return ids
}

// A tool with 10 is within eight tenths of 12.5: of the scores 12 and 11, which
// stand at the last two places, and 9 only of 11.
func TestNewToolsStandWhereTheyAreNearEnough(t *testing.T) {
	s, sr, picks := newExplorer(0.5)
	at := map[string]map[int]int{}
	const searches = 4000
	for n := range searches {
		sr.id = fmt.Sprint("search ", n)
		got := s.explore(sr, picks)
		if again := s.explore(sr, picks); !slices.Equal(refsOf(again), refsOf(got)) {
			t.Fatalf("the same search shows %v, then %v", refsOf(got), refsOf(again))
		}
		if sorted := slices.Sorted(slices.Values(refsOf(got))); !slices.Equal(sorted, slices.Sorted(slices.Values(refsOf(picks)))) {
			t.Fatalf("something is lost or doubled: %v", sorted)
		}
		for place, p := range got[:10] {
			if p.explored && at[p.ref.ID] == nil {
				at[p.ref.ID] = map[int]int{}
			}
			if p.explored {
				at[p.ref.ID][place]++
			}
			if place < 8 && (p.explored || p.propensity != 0) {
				t.Fatalf("place %d: %+v", place, p)
			}
		}
	}
	for id, want := range map[string]map[int]float64{"new10": {8: 0.5, 9: 0.5 * 0.25}, "new11": {8: 0, 9: 0.25 * 0.5}} {
		for place, share := range want {
			if got := float64(at[id][place]) / searches; math.Abs(got-share) > 0.03 {
				t.Errorf("%s stands at place %d in %.3f of the searches, want about %.3f", id, place, got, share)
			}
		}
	}
	if picks[10].explored || picks[8].propensity != 0 {
		t.Error("the picks themselves are changed")
	}
}

// What stands at a place says how likely that was.
func TestPropensities(t *testing.T) {
	s, sr, picks := newExplorer(0.5)
	seen := map[string]bool{}
	for n := range 200 {
		sr.id = fmt.Sprint("search ", n)
		for place, p := range s.explore(sr, picks)[8:10] {
			key := fmt.Sprintf("%d %s %v", place+8, p.ref.ID, p.propensity)
			seen[key] = true
		}
	}
	// At place 8 it is the turn of used08 (12), which new10 alone is near; then
	// of used08 still, or of used09 (11), which both are near.
	want := []string{"8 new10 0.5", "8 used08 0.5", "9 new10 0.25", "9 new11 0.25", "9 used08 0", "9 used09 0.5"}
	for _, key := range want {
		if !seen[key] {
			t.Errorf("never %s", key)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("seen %v", seen)
	}
}

func TestWhatIsNotExplored(t *testing.T) {
	for name, change := range map[string]func(s *Service, sr *search, picks []pick){
		"nothing, where it is off": func(s *Service, _ *search, _ []pick) { s.cfg.Exploration = 0 },
		"nothing that is shown":    func(_ *Service, sr *search, _ []pick) { sr.req.K = 12 },
		"steps":                    func(_ *Service, sr *search, _ []pick) { sr.req.Stepwise = true },
		"the first place":          func(_ *Service, sr *search, _ []pick) { sr.req.K = 1 },
		"used tools": func(_ *Service, sr *search, _ []pick) {
			sr.usage.table.Prior["new10"], sr.usage.table.Prior["new11"] = 1, 1
		},
		"where nothing was used": func(_ *Service, sr *search, _ []pick) { clear(sr.usage.table.Prior) },
		"agents": func(_ *Service, _ *search, picks []pick) {
			picks[10].ref.Kind, picks[11].ref.Kind = schema.KindAgent, schema.KindAgent
		},
		"places of agents": func(_ *Service, _ *search, picks []pick) {
			picks[8].ref.Kind, picks[9].ref.Kind = schema.KindAgent, schema.KindAgent
		},
		"what is less similar": func(_ *Service, _ *search, picks []pick) {
			picks[10].by.Similarity, picks[11].by.Similarity = 0.01, 0.01
		},
		"what has too low a score":   func(_ *Service, _ *search, picks []pick) { picks[10].by.Score, picks[11].by.Score = 8, 8 },
		"where nothing scores a bit": func(_ *Service, _ *search, picks []pick) { picks[8].by.Score, picks[9].by.Score = 0, -1 },
	} {
		for n := range 50 {
			s, sr, picks := newExplorer(0.5)
			sr.id = fmt.Sprint("search ", n)
			change(s, sr, picks)
			for place, p := range s.explore(sr, picks) {
				if p.explored || p.propensity != 0 || p.ref != picks[place].ref {
					t.Fatalf("%s: place %d: %+v", name, place, p)
				}
			}
		}
	}
}

func TestAnExploredToolIsShownAndRecorded(t *testing.T) {
	var tools []index.Candidate
	table := schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Prior: map[string]float64{}}
	for i := range 8 {
		id := fmt.Sprint("t", i)
		tools = append(tools, tool(id, "", 100-float64(i)))
		if i < 4 {
			table.Prior[id] = 0.01
		}
	}
	b := newBench(t, tools...)
	b.build(t, Config{Exploration: MaxExploration})
	stop := b.start(t)
	b.watcher.put(t, "usage.default", table)
	for n := range 20 {
		b.deps.NewID = func() string { return fmt.Sprint("search ", n) }
		resp := b.search(t, schema.SearchRequest{K: 4})
		if got := ids(resp); got[0] != "t0" || len(got) != 4 {
			t.Fatalf("shown are %v", got)
		}
	}
	stop()
	shown, explored := 0, 0
	for _, i := range b.impressions(t) {
		for place, s := range i.Shown {
			fresh := s.ID >= "t4"
			if fresh != s.Explored || place > 0 && !fresh && s.Propensity != 0.5 || fresh && (s.Propensity < 0.1 || s.Propensity > 0.5) {
				t.Fatalf("place %d of %s is %+v", place, i.SearchID, s)
			}
			shown++
			if fresh {
				explored++
			}
		}
	}
	if shown != 80 || explored < 15 || explored > 45 {
		t.Errorf("%d of %d are explored", explored, shown)
	}
}

func TestExplorationIsBounded(t *testing.T) {
	for _, share := range []float64{-0.1, 0.6, math.NaN()} {
		if err := (Config{Exploration: share}).validate(); err == nil {
			t.Errorf("%g is taken", share)
		}
	}
}
