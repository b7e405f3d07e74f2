package flat

import (
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// plan is the dense side of a lookup, made ready for the first pass: the
// questions whose answers have a weight, and nothing else.
type plan struct {
	questions []question
	bias      float32
}

// question is one dense feature: texts that are compared with the rows of one
// kind.
type question struct {
	kind   int
	weight float32
	texts  []vector.Query // the best match counts
	absent []vector.Query // asked of the name row of an entity that lacks the kind
	gate   *gate          // for arguments, where missing parameters cost something
}

// newPlan follows index.Score feature by feature.
func newPlan(l *index.Lookup, dimensions int) plan {
	p := plan{bias: float32(l.Model.Bias)}
	b := planner{plan: &p, model: &l.Model, dimensions: dimensions}
	query := b.queries(l.Probe.Query.Vector)
	for kind, feature := range []fusion.Feature{
		rowName: fusion.QueryDenseName, rowFlat: fusion.QueryDenseFlat, rowDescription: fusion.QueryDenseDescription,
		rowResponse: fusion.QueryDenseResponse, rowExamples: fusion.QueryDenseExamples, rowParameters: fusion.QueryDenseParameters,
	} {
		b.ask(kind, feature, query, query, nil)
	}
	whole, description, response, examples := b.needs(l.Probe.Needs)
	b.ask(rowName, fusion.NeedsDenseName, whole, nil, nil)
	b.ask(rowFlat, fusion.NeedsDenseFlat, whole, whole, nil)
	b.ask(rowDescription, fusion.NeedsDenseDescription, description, description, nil)
	b.ask(rowResponse, fusion.NeedsDenseResponse, response, response, nil)
	b.ask(rowExamples, fusion.NeedsDenseExamples, examples, examples, nil)
	b.ask(rowParameters, fusion.NeedsDenseParameters, b.arguments(l.Probe.Arguments), whole, newGate(&l.Model))
	return p
}

// planner builds a plan.
type planner struct {
	plan       *plan
	model      *fusion.Model
	dimensions int
}

func (b *planner) ask(kind int, feature fusion.Feature, texts, absent []vector.Query, g *gate) {
	weight := float32(b.model.Features[feature])
	if len(texts) == 0 || weight == 0 && g == nil {
		return
	}
	b.plan.questions = append(b.plan.questions, question{kind: kind, weight: weight, texts: texts, absent: absent, gate: g})
}

// queries quantises the vectors that can be compared with the index's.
func (b *planner) queries(vectors ...[]float32) []vector.Query {
	var out []vector.Query
	for _, v := range vectors {
		if len(v) > 0 && len(v) == b.dimensions {
			out = append(out, vector.NewQuery(v))
		}
	}
	return out
}

func (b *planner) needs(needs []index.Need) (whole, description, response, examples []vector.Query) {
	for i := range needs {
		n := &needs[i]
		whole = append(whole, b.queries(n.Whole.Vector)...)
		description = append(description, b.queries(n.Description.Vector)...)
		response = append(response, b.queries(n.Response.Vector)...)
		examples = append(examples, b.queries(n.Examples.Vector)...)
	}
	return whole, description, response, examples
}

func (b *planner) arguments(arguments []index.Argument) []vector.Query {
	var out []vector.Query
	for i := range arguments {
		out = append(out, b.queries(arguments[i].Text.Vector)...)
	}
	return out
}

// gateSteps is how finely a gate's table divides the scores from 0 to 1.
const gateSteps = 1024

// gate is the penalty of one parameter by its score: for the first pass, in
// which an exponential for every parameter of every tool would cost more than
// all the products.
type gate struct {
	optional, required [gateSteps + 1]float32
}

// newGate returns nil where a missing parameter costs nothing.
func newGate(m *fusion.Model) *gate {
	if m.Required == 0 && m.Optional == 0 {
		return nil
	}
	g := &gate{}
	for i := range g.required {
		shut := fusion.Gate(m.Alpha, m.Tau, float64(i)/gateSteps)
		g.optional[i], g.required[i] = float32(m.Optional*shut), float32(m.Required*shut)
	}
	return g
}

// cost returns what a parameter with that score, 0 or more, costs.
func (g *gate) cost(score float32, required bool) float32 {
	at := min(int(score*gateSteps+0.5), gateSteps)
	if required {
		return g.required[at]
	}
	return g.optional[at]
}
