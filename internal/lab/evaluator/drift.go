package evaluator

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The size of a drift, and the quality that counts as recovered.
const (
	changing  = 3   // one in so many of the labelled tools hands its labels over
	near      = 50  // lowest rank of a successor
	recovered = 0.9 // of the quality before
)

// Drift describes how learning follows a change of the labels at half time: a third of the
// labelled tools become wrong, and each is replaced by a tool that ranks near it. NDCG@10,
// means over the seeds.
type Drift struct {
	Before     float64  `json:"before"`              // at half time, by the labels until then
	After      float64  `json:"after"`               // at half time, by the labels from then on
	End        float64  `json:"end"`                 // in the end
	FullLabels float64  `json:"full_labels"`         // learned from all labels as they are from then on
	Recovered  *float64 `json:"recovered,omitempty"` // feedback events from half time until 90 % of Before; nil: not so far

	Curve []LearningPoint `json:"-"` // half time is there twice
}

// settle reads from the curve when the lost quality is back.
func (d *Drift) settle(half int) {
	d.Before, d.After, d.End = atEnd(d.Curve[:half+1]), d.Curve[half+1].NDCG, atEnd(d.Curve)
	for _, p := range d.Curve[half+1:] {
		if p.NDCG >= recovered*d.Before {
			after := p.Events - d.Curve[half].Events
			d.Recovered = &after
			break
		}
	}
}

// drift describes how learning follows with one seed: its curve, and the NDCG by all labels.
func (s *simulator) drift(ctx context.Context, seed uint64, base *fusion.Model, at split) (*Drift, error) {
	to := successors(slices.Concat(at.train, at.test), rand.New(rand.NewPCG(seed, 1<<33)))
	later := &split{relabelled(at.train, to), relabelled(at.test, to)}
	full, err := s.labelled(ctx, base, *later)
	if err != nil {
		return nil, err
	}
	t, err := s.simulate(ctx, seed, at, later, simulation.Scenario{})
	return &Drift{FullLabels: full, Curve: t.curve}, err
}

// successors chooses a third of the tools that queries ask for, and a successor for each. The
// successor is the best ranked tool for the same queries that stays and that none of them asks
// for.
func successors(samples []Sample, rng *rand.Rand) map[string]string {
	asking := map[string][]int{} // by tool, the samples
	var tools []string
	for i := range samples {
		for _, label := range samples[i].Query.Labels {
			if label.Relevance <= 0 {
				continue // it is said not to be asked for
			}
			if asking[label.ID] == nil {
				tools = append(tools, label.ID)
			}
			asking[label.ID] = append(asking[label.ID], i)
		}
	}
	slices.Sort(tools)
	rng.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
	tools = tools[:(len(tools)+changing-1)/changing]
	to := map[string]string{}
	taken := map[string]bool{}
	for _, tool := range tools {
		taken[tool] = true
	}
	for _, tool := range tools {
		if next := successor(samples, asking[tool], taken); next != "" {
			to[tool], taken[next] = next, true
		}
	}
	return to
}

// successor returns the best ranked tool of the samples, by the sum of 1/rank, that none of
// them asks for. It returns "" if no such tool is near.
func successor(samples []Sample, asking []int, taken map[string]bool) string {
	asked := map[string]bool{}
	for _, i := range asking {
		for _, label := range samples[i].Query.Labels {
			asked[label.ID] = true
		}
	}
	score, best := map[string]float64{}, ""
	for _, i := range asking {
		for rank, c := range samples[i].Candidates[:min(near, len(samples[i].Candidates))] {
			if c.Kind != schema.KindTool || asked[c.ID] || taken[c.ID] {
				continue
			}
			score[c.ID] += 1 / float64(rank+1)
			if best == "" || score[c.ID] > score[best] || score[c.ID] == score[best] && c.ID < best {
				best = c.ID
			}
		}
	}
	return best
}

// relabelled returns the samples with others in place of the tools that they ask for.
func relabelled(samples []Sample, to map[string]string) []Sample {
	out := slices.Clone(samples)
	for i := range out {
		s := &out[i]
		s.Query.Labels = slices.Clone(s.Query.Labels)
		for j, label := range s.Query.Labels {
			if next := to[label.ID]; next != "" {
				s.Query.Labels[j] = relevance.Label{ID: next, Relevance: label.Relevance}
			}
		}
		judged := relevance.JudgeTools(s.Query.Labels)
		s.Relevance = make([]float64, len(s.Candidates))
		for j, c := range s.Candidates {
			if c.Kind == schema.KindTool {
				s.Relevance[j] = judged.Gain(c.ID)
			}
		}
	}
	return out
}
