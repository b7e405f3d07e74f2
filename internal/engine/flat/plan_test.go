package flat

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// uneven makes tools some of which lack fields, with more or fewer examples
// and parameters.
func (m *maker) uneven(i *Index, t *testing.T, n int) {
	changes := m.tools("a", n)
	for at := range changes {
		m.examples, m.parameters = m.rng.IntN(4), m.rng.IntN(6)
		c := m.tool("a", changes[at].ID)
		if m.rng.IntN(3) == 0 {
			c.Vectors.Response, c.Document.Response = nil, ""
		}
		if m.rng.IntN(5) == 0 {
			c.Vectors.Flat, c.Vectors.Description = nil, nil
		}
		changes[at] = c
	}
	apply(t, i, 1, changes...)
}

// startSearch makes a search as Candidates does.
func startSearch(i *Index, l *index.Lookup) *search { return newSearch(i.tenants.find(l.Tenant), l) }

// unpruned returns what the first pass would find if it read every row of
// every slot.
func (s *search) unpruned(t *rapid.T, size int) []lexical.Hit {
	words := check.Value(s.words.accumulate(t.Context(), &s.lookup.Model))(t)
	p := newPlan(s.lookup, s.dimensions())
	best := top{lexical.NewTop(size)}
	for n, b := range s.blocks {
		var m scratch
		m.reset(b, words, n)
		for i := range p.questions {
			p.questions[i].answer(&p, &m, b.live)
		}
		best.offerAll(&m.scores, s.masks[n], n*blockSize)
	}
	for _, part := range words {
		s.lexical.Return(part)
	}
	return best.Sorted()
}

// TestFirstPassReadsNoLessThanItNeeds compares the hits of the first pass,
// which leaves out rows that cannot matter, with those of a full one.
func TestFirstPassReadsNoLessThanItNeeds(t *testing.T) {
	for _, dimensions := range []int{16, 65, 384} {
		t.Run(fmt.Sprint(dimensions), func(t *testing.T) {
			m := newMaker(uint64(dimensions))
			m.dimensions = dimensions
			i := open(t, t.TempDir())
			m.uneven(i, t, 777)
			rapid.Check(t, func(r *rapid.T) {
				l := m.drawLookup(r)
				s := startSearch(i, &l)
				size := rapid.SampledFrom([]int{1, 7, 64, 300}).Draw(r, "size")
				p := newPlan(&l, m.dimensions)
				got := check.Value(s.firstPass(r.Context(), &p, size))(r)
				if want := s.unpruned(r, size); !slices.EqualFunc(got, want, closeHits) {
					r.Fatalf("hits %v, want %v", got, want)
				}
			})
		})
	}
}

// closeHits allows for sums of words that were added in another order.
func closeHits(a, b lexical.Hit) bool {
	return math.Abs(float64(a.Score-b.Score)) < 1e-5*math.Max(1, math.Abs(float64(b.Score)))
}

// drawLookup draws weights of either sign, most of them 0, and needs some of
// which are the query.
func (m *maker) drawLookup(r *rapid.T) index.Lookup {
	l := index.Lookup{Tenant: "a", Probe: m.probe(), N: 10}
	l.Model = fusion.Model{Version: "test", Alpha: 15, Tau: rapid.Float64Range(0, 0.5).Draw(r, "tau")}
	for f := range fusion.FeatureCount {
		if rapid.IntRange(0, 2).Draw(r, "weighs") == 0 {
			l.Model.Features[f] = rapid.Float64Range(-1, 2).Draw(r, "weight")
		}
	}
	for range rapid.IntRange(0, 3).Draw(r, "needs") {
		need := m.probe().Needs[0]
		if rapid.Bool().Draw(r, "same") {
			need.Whole, need.Description = l.Probe.Query, l.Probe.Query
		}
		l.Probe.Needs = append(l.Probe.Needs, need)
	}
	if rapid.Bool().Draw(r, "filter") {
		l.Filters.Providers = []string{"provider1", "provider2"}
	}
	return l
}

func candidates(t *testing.T, i *Index, l index.Lookup) []index.Candidate {
	t.Helper()
	return check.Value(i.Candidates(t.Context(), l))(t)
}

// spiked returns a unit vector of one large component and n small ones, each
// just above k steps and a half of its quantised form, so that all are rounded
// up.
func spiked(dimensions, n, k int) []float32 {
	v := make([]float32, dimensions)
	v[0] = 127
	square := 127.0 * 127
	for i := 1; i <= n; i++ {
		v[i] = float32(k) + 0.52
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

// Quantising may make vectors longer, the more the more components there are.
// What they add to a score is never taken to be less.
func TestLengthenedVectorsAreNotPruned(t *testing.T) {
	for dimensions, k := range map[int]int{384: 5, 1024: 3, 4096: 1} {
		m := newMaker(1)
		m.dimensions = dimensions
		i := open(t, t.TempDir())
		changes := m.tools("a", 256)
		for at := range changes {
			changes[at].Vectors = &events.Vectors{Model: "test", Dimensions: dimensions, Flat: spiked(dimensions, dimensions*19/20, k)}
		}
		changes[255].Vectors.Flat = spiked(dimensions, dimensions-1, k)
		apply(t, i, 1, changes...)
		l := index.Lookup{Tenant: "a", Probe: index.Probe{Query: index.Text{Vector: spiked(dimensions, dimensions-1, k)}}, N: 1}
		l.Model.Features[fusion.QueryDenseFlat] = 1
		p := newPlan(&l, dimensions)
		hits := check.Value(startSearch(i, &l).firstPass(t.Context(), &p, 64))(t)
		if at := i.tenants.entity(changes[255].Ref).slot; hits[0].Slot != at {
			t.Errorf("%d dimensions: slot %d is first, with %v, not %d", dimensions, hits[0].Slot, hits[0].Score, at)
		}
	}
}
