package trainer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

// samples returns the clusters as labelled queries. A tool is relevant if its odds are above
// even. The usage of a tool for a cluster is how often the cluster showed it,
// however few users looked that far down, faded by half in a half-life.
func (t *tenantState) samples(r *relevance, now time.Time, halfLife time.Duration) (out []clusterSample) {
	for _, c := range t.byAge() {
		out = append(out, clusterSample{c, c.sample(r.odds[c.id], now, halfLife)})
	}
	return out
}

type clusterSample struct {
	*cluster
	fitting.Sample
}

// sample leaves out providers, which have the features of the tool that they were shown
// for, as candidates, and tools known only by the features of a step.
func (c *cluster) sample(odds []float64, now time.Time, halfLife time.Duration) fitting.Sample {
	s := fitting.Sample{ID: c.id, Uses: map[string]float64{}}
	for _, x := range c.Vector {
		s.Vector = append(s.Vector, float32(x))
	}
	shown, called := make([]float64, len(c.Tools)), make([]bool, len(c.Tools))
	for i := range c.Sessions {
		for _, tool := range c.Sessions[i].Shown {
			shown[tool] += faded(now.Sub(c.Sessions[i].At), halfLife)
		}
		for _, tool := range c.Sessions[i].Called {
			called[tool] = true
		}
	}
	for i, tool := range c.Tools {
		if tool.Kind == schema.KindProvider {
			continue
		}
		relevance := 0.0
		if odds[i] > 0 && called[i] {
			relevance = 1
			s.Relevant = append(s.Relevant, tool.ID)
			s.Uses[tool.ID] = shown[i]
			if !c.confirmed(i, true) {
				s.Hints = append(s.Hints, tool.ID)
			}
		}
		if tool.Step > 0 {
			continue
		}
		s.Candidates = append(s.Candidates, index.Candidate{
			Ref: schema.Ref{Kind: schema.KindTool, ID: tool.ID}, Provider: tool.Provider, Features: tool.Features.features(), Matches: tool.Matches,
		})
		s.Relevance = append(s.Relevance, relevance)
	}
	return s
}

// faded is the rest of a count of 1 after a time.
func faded(age, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, age.Seconds()) / halfLife.Seconds())
}

// leastUses is the count below which usage is not published.
const leastUses = 0.01

// makeUsage returns the tenant's usage for searches by a model, the most used tools first
// as far as the budget of bytes reaches: a third of it for the counts, for pairs and for
// queries each.
func (t *tenantState) makeUsage(model string, now time.Time, halfLife time.Duration, budget int) *schema.Usage {
	r := t.relevance()
	var samples []fitting.Sample
	list := t.samples(r, now, halfLife)
	for _, s := range list {
		if s.Model != model {
			s.Sample.Vector = nil // vectors of two models do not compare
		}
		samples = append(samples, s.Sample)
	}
	u := fitting.Usage(samples)
	u.Tenant, u.Epoch, u.Updated, u.Withheld, u.Model = t.name, t.record.UsageEpoch, now, t.record.Withheld, model
	tools := slices.SortedFunc(maps.Keys(u.Prior), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.Prior[b], u.Prior[a]), cmp.Compare(a, b))
	})
	counts, pairs, queries := spender(budget/3), spender(budget/3), spender(budget/3)
	all := *u
	u.Prior, u.CoUse, u.Asked = map[string]float64{}, map[string]map[string]float64{}, map[string][]schema.Direction{}
	for _, tool := range tools {
		if all.Prior[tool] < math.Log1p(leastUses) {
			break
		}
		if counts(entrySize(tool)) {
			u.Prior[tool] = all.Prior[tool]
		}
		if with := all.CoUse[tool]; len(with) > 0 && pairs(entrySize(tool)*(1+len(with))) {
			u.CoUse[tool] = with
		}
		if asked := all.Asked[tool]; len(asked) > 0 && queries(entrySize(tool)+len(asked)*directionSize(asked[0])) {
			u.Asked[tool] = asked
		}
	}
	outcomes := spender(budget)
	for _, s := range slices.Backward(list) {
		if s.Model != model || len(s.cluster.Vector) == 0 {
			continue
		}
		o := s.outcome(r.evidence[s.id], now, halfLife)
		size := directionSize(o.Query)
		for tool := range o.Tools {
			size += entrySize(tool)
		}
		if len(o.Tools) > 0 && outcomes(size) {
			u.Came = append(u.Came, o)
		}
	}
	return u
}

// spender returns a function that takes a size from a budget, and reports whether it fits.
func spender(budget int) func(size int) bool {
	return func(size int) bool {
		budget -= size
		return budget >= 0
	}
}

// entrySize bounds the size of an entry in JSON: the name with its quotes and escapes,
// and a number.
func entrySize(name string) int { return 2*len(name) + 28 }

// directionSize is the size of a direction in JSON, with quotes and a comma.
func directionSize(d schema.Direction) int { return (len(d)+2)/3*4 + 3 }

// leastEvidence is the smallest log likelihood ratio of a cluster that matters.
const leastEvidence = 0.2

// outcome returns the evidence of the cluster about its tools, which fades like usage.
func (c *cluster) outcome(evidence []float64, now time.Time, halfLife time.Duration) schema.Outcome {
	fresh := faded(now.Sub(c.newest()), halfLife)
	out := schema.Outcome{Query: c.Vector, Tools: map[string]float64{}}
	for i, x := range evidence {
		x = math.Round(100*fresh*x) / 100
		if math.Abs(x) >= leastEvidence && c.Tools[i].Kind != schema.KindProvider && c.confirmed(i, x > 0) {
			out.Tools[c.Tools[i].ID] = x
		}
	}
	return out
}
