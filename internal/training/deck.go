package training

import (
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// Deck is a set of queries, laid out for ranking it many times: of each query
// the candidates that any of several models ranks high.
type Deck struct {
	Name    string
	queries []hand
}

// hand is one query: the features of its candidates one after the other, and
// which of them each of its relevant ones is.
type hand struct {
	features []float32
	ids      []string
	relevant []int
	ideal    [2]float64 // at 5 and 10
}

// deep is how far down a candidate of a Deck may stand by each model.
const deep = 200

// NewDeck lays out samples. Candidates that are beyond the first 200 by words,
// by vectors and by both are left out: no weights in sight bring them into the
// first ten.
//
// Candidates stay related as m ranks them: how they are is no weight that Tune
// looks for.
func NewDeck(name string, samples []evaluation.Sample, m fusion.Model) *Deck {
	words, vectors := m, m
	for f := range m.Features {
		if fusion.Feature(f).Dense() {
			words.Features[f] = 0
		} else {
			vectors.Features[f] = 0
		}
	}
	d := &Deck{Name: name}
	for i := range samples {
		s := samples[i]
		s.Candidates = slices.Clone(s.Candidates)
		for j, features := range ranking.Features(s.Candidates, &m, s.Known()) {
			s.Candidates[j].Features = features
		}
		d.queries = append(d.queries, deal(&s, &m, &words, &vectors))
	}
	return d
}

func deal(s *evaluation.Sample, models ...*fusion.Model) hand {
	keep := make([]bool, len(s.Candidates))
	for i, relevance := range s.Relevance {
		keep[i] = relevance > 0
	}
	scores := make([]float64, len(s.Candidates))
	order := make([]int, len(s.Candidates))
	for _, m := range models {
		for i := range s.Candidates {
			scores[i], order[i] = m.Linear(&s.Candidates[i].Features), i
		}
		slices.SortFunc(order, func(a, b int) int {
			return fusion.Order(scores[a], s.Candidates[a].ID, scores[b], s.Candidates[b].ID)
		})
		for _, i := range order[:min(deep, len(order))] {
			keep[i] = true
		}
	}
	var h hand
	for i, c := range s.Candidates {
		if !keep[i] {
			continue
		}
		if s.Relevance[i] > 0 {
			h.relevant = append(h.relevant, len(h.ids))
		}
		h.ids = append(h.ids, c.ID)
		for _, x := range c.Features {
			h.features = append(h.features, float32(x))
		}
	}
	for i, k := range depths() {
		for rank := range min(k, max(len(relevant(&s.Query)), len(h.relevant))) {
			h.ideal[i] += discount(rank)
		}
	}
	return h
}

// depths are the cut-offs whose mean is the quality of a ranking.
func depths() [2]int { return [2]int{5, 10} }

func discount(rank int) float64 { return 1 / math.Log2(float64(rank+2)) }

// Quality returns the mean over the queries of NDCG@5 and NDCG@10 of the ranking
// by a model, with binary gains and without a penalty.
func (d *Deck) Quality(m *fusion.Model) float64 {
	var columns []int
	for f, w := range m.Features {
		if w != 0 {
			columns = append(columns, f)
		}
	}
	var sum float64
	var scores []float64
	for i := range d.queries {
		scores = d.queries[i].score(scores[:0], m, columns)
		sum += d.queries[i].quality(scores)
	}
	return sum / float64(len(d.queries))
}

func (h *hand) score(scores []float64, m *fusion.Model, columns []int) []float64 {
	for i := range h.ids {
		row := h.features[i*int(fusion.FeatureCount):]
		var sum float64
		for _, f := range columns {
			sum += m.Features[f] * float64(row[f])
		}
		scores = append(scores, sum)
	}
	return scores
}

// quality finds the ranks of the relevant ones by counting what is better.
func (h *hand) quality(scores []float64) float64 {
	var gains [2]float64
	for _, at := range h.relevant {
		rank := 0
		for i, score := range scores {
			if score >= scores[at] && (score > scores[at] || h.ids[i] > h.ids[at]) {
				rank++
			}
		}
		for j, k := range depths() {
			if rank < k {
				gains[j] += discount(rank)
			}
		}
	}
	var sum float64
	for j := range gains {
		if h.ideal[j] > 0 {
			sum += gains[j] / h.ideal[j] / float64(len(gains))
		}
	}
	return sum
}
