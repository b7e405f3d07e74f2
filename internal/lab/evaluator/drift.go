package evaluator

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// How what is right changes.
const (
	changing  = 3   // one in so many of the tools that are asked for hands that over
	near      = 50  // rank up to which another tool is near
	recovered = 0.9 // of the quality before
)

// Drift is how learning follows when what is right changes at half time: of the
// tools that are asked for a third is not right any more, and for each another one
// is that ranks near it. NDCG@10, means over the seeds.
type Drift struct {
	Before     float64  `json:"before"`              // at half time, of what was right until then
	After      float64  `json:"after"`               // at half time, of what is right from then on
	End        float64  `json:"end"`                 // in the end
	FullLabels float64  `json:"full_labels"`         // learned from all labels as they are from then on
	Recovered  *float64 `json:"recovered,omitempty"` // feedback events from half time until 90 % of Before; nil: not so far

	Curve []LearningPoint `json:"-"` // half time is there twice
}

// settle reads from the curve when what was lost is back.
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

// drift is how learning follows with one seed: its curve, and what all labels bring.
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

// successors chooses a third of the tools that are asked for, and for each the tool
// that takes its place: of those that stay and are not asked for beside it, the one
// that ranks first where it is asked for.
func successors(samples []evaluation.Sample, rng *rand.Rand) map[string]string {
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

// successor returns the tool that stands nearest to the top of the samples, by the
// sum of 1/rank, and that none of them asks for; empty where none is near.
func successor(samples []evaluation.Sample, asking []int, taken map[string]bool) string {
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
func relabelled(samples []evaluation.Sample, to map[string]string) []evaluation.Sample {
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
