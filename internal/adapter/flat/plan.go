package flat

import (
	"cmp"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// plan is the dense side of a lookup, made ready for the first pass: the
// questions whose answers have a weight, and nothing else. What several
// questions need is asked once: a query of one clause is its own need.
type plan struct {
	columns   []column
	questions []question // those of one kind side by side, so that its rows are still near
	ahead     []float32  // what each question and those behind it can add to a score at most
}

// column is the similarity of each row of one kind with the best of some texts.
type column struct {
	kind  int
	texts []vector.Query
	known []int   // the texts by their place in the planner, rising
	most  float32 // more than any similarity
}

// question is one dense feature, or several that ask the same.
type question struct {
	kind   int
	weight float32
	column int
	names  int   // the column that an entity that lacks the kind is asked instead, or nobody
	gate   *gate // for arguments, where missing parameters cost something
}

// reach returns what a question can add to a score at most. A gate only takes
// off.
func (p *plan) reach(q *question) float32 {
	most := p.columns[q.column].most
	if q.names != nobody {
		most = max(most, p.columns[q.names].most)
	}
	return most * max(q.weight, -q.weight)
}

// inexact is more than what sums of float32 are off by.
const inexact = 1.0001

// mostOf returns more than the product of a text and any row of so many
// components: both are as long as quantising made them.
func mostOf(text *vector.Query, dimensions int) float32 {
	return float32(inexact * text.Length() * index.MaxNorm * vector.Stretch(dimensions))
}

// nobody stands for the column of a question that an entity need not answer.
const nobody = -1

// newPlan follows index.Score feature by feature.
func newPlan(l *index.Lookup, dimensions int) plan {
	b := planner{model: &l.Model, dimensions: dimensions}
	query := b.texts(l.Probe.Query.Vector)
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
	if arguments := b.arguments(l.Probe.Arguments); len(arguments) > 0 {
		b.ask(rowParameters, fusion.NeedsDenseParameters, arguments, whole, newGate(&l.Model))
	}
	b.order()
	return b.plan
}

// order puts the questions in the order in which rows lie, so that a scan is one
// stream, and says what is ahead of each.
func (b *planner) order() {
	questions := b.plan.questions
	slices.SortStableFunc(questions, func(x, y question) int { return cmp.Compare(x.kind, y.kind) })
	b.plan.ahead = make([]float32, len(questions))
	var sum float32
	for i, q := range slices.Backward(questions) {
		sum += b.plan.reach(&q)
		b.plan.ahead[i] = sum
	}
}

// planner builds a plan. It knows texts by number: equal vectors have the same.
type planner struct {
	plan       plan
	model      *fusion.Model
	dimensions int
	vectors    [][]float32
	queries    []vector.Query
}

func (b *planner) ask(kind int, feature fusion.Feature, texts, absent []int, g *gate) {
	weight := float32(b.model.Features[feature])
	if len(texts) == 0 || weight == 0 && g == nil {
		return
	}
	q := question{kind: kind, weight: weight, column: b.column(kind, texts), names: nobody, gate: g}
	if kind != rowName && len(absent) > 0 && weight != 0 {
		q.names = b.column(rowName, absent)
	}
	for i := range b.plan.questions {
		if b.plan.questions[i].asksLike(&q) {
			b.plan.questions[i].weight += weight
			return
		}
	}
	b.plan.questions = append(b.plan.questions, q)
}

// asksLike reports whether two questions have the same answer, whatever it
// weighs. What missing parameters cost is counted once.
func (q *question) asksLike(o *question) bool {
	return q.kind == o.kind && q.column == o.column && q.names == o.names && q.gate == nil && o.gate == nil
}

// column returns the place of the column of these texts.
func (b *planner) column(kind int, texts []int) int {
	at := slices.IndexFunc(b.plan.columns, func(c column) bool { return c.kind == kind && slices.Equal(c.known, texts) })
	if at >= 0 {
		return at
	}
	c := column{kind: kind, known: texts}
	for _, n := range texts {
		c.texts = append(c.texts, b.queries[n])
		c.most = max(c.most, mostOf(&b.queries[n], b.dimensions))
	}
	b.plan.columns = append(b.plan.columns, c)
	return len(b.plan.columns) - 1
}

// texts returns the numbers of the vectors that can be compared with the
// index's, each once, rising.
func (b *planner) texts(vectors ...[]float32) []int {
	var out []int
	for _, v := range vectors {
		if len(v) > 0 && len(v) == b.dimensions {
			out = append(out, b.number(v))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// number returns the place of a vector, which it quantises when it is new.
func (b *planner) number(v []float32) int {
	at := slices.IndexFunc(b.vectors, func(known []float32) bool { return slices.Equal(known, v) })
	if at < 0 {
		at = len(b.vectors)
		b.vectors, b.queries = append(b.vectors, v), append(b.queries, vector.NewQuery(v))
	}
	return at
}

func (b *planner) needs(needs []index.Need) (whole, description, response, examples []int) {
	var vectors [4][][]float32
	for i := range needs {
		for field, text := range [4]*index.Text{&needs[i].Whole, &needs[i].Description, &needs[i].Response, &needs[i].Examples} {
			vectors[field] = append(vectors[field], text.Vector)
		}
	}
	return b.texts(vectors[0]...), b.texts(vectors[1]...), b.texts(vectors[2]...), b.texts(vectors[3]...)
}

func (b *planner) arguments(arguments []index.Argument) []int {
	var vectors [][]float32
	for i := range arguments {
		vectors = append(vectors, arguments[i].Text.Vector)
	}
	return b.texts(vectors...)
}

// gateSteps is how finely a gate's table divides the scores from 0 to 1.
const gateSteps = 1024

// gate is the penalty of one parameter by its score: for the first pass, in
// which an exponential for every parameter of every tool would cost more than
// all the products.
type gate struct {
	costs [2][gateSteps + 1]float32 // of an optional parameter, and of a required one
}

// newGate returns nil where a missing parameter costs nothing. A price is
// never negative.
func newGate(m *fusion.Model) *gate {
	if m.Required == 0 && m.Optional == 0 {
		return nil
	}
	g := &gate{}
	for i := range g.costs[0] {
		shut := fusion.Gate(m.Alpha, m.Tau, float64(i)/gateSteps)
		g.costs[0][i], g.costs[1][i] = float32(m.Optional*shut), float32(m.Required*shut)
	}
	return g
}

// total returns what parameters with these scores cost together.
func (g *gate) total(scores []float32, required []bool) float32 {
	var sum float32
	required = required[:len(scores)]
	for i, score := range scores {
		table := &g.costs[0]
		if required[i] {
			table = &g.costs[1]
		}
		sum += table[min(uint32(max(score, 0)*gateSteps+0.5), gateSteps)]
	}
	return sum
}
