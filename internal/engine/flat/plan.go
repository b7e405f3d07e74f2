package flat

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// plan is the dense side of a lookup, prepared for the first pass: only the questions whose
// answers have a weight. A question that several texts share is asked once: a query of one clause
// is its own need.
type plan struct {
	columns   []column
	questions []question // grouped by kind, so that the rows are still in the cache
	remaining []float32  // the most that each question and all later ones can add to a score
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
	names  int // the column that an entity that lacks the kind is asked instead, or none
}

// inexact exceeds the relative error of float32 sums.
const inexact = 1.0001

// mostOf returns more than the product of a text and any row of so many
// components: both are as long as quantising made them.
func mostOf(text *vector.Query, dimensions int) float32 {
	return float32(inexact * text.Length() * index.MaxNorm * vector.NormInflation(dimensions))
}

// none is the column of a question without a fallback.
const none = -1

// newPlan follows index.Score feature by feature.
func newPlan(l *index.Lookup, dimensions int) plan {
	b := planner{model: &l.Model, dimensions: dimensions}
	query := b.texts(l.Probe.Query.Vector)
	for kind, feature := range []fusion.Feature{
		rowName: fusion.QueryDenseName, rowFlat: fusion.QueryDenseFlat, rowDescription: fusion.QueryDenseDescription,
		rowResponse: fusion.QueryDenseResponse, rowExamples: fusion.QueryDenseExamples, rowParameters: fusion.QueryDenseParameters,
	} {
		b.ask(kind, feature, query, query)
	}
	whole, description, response, examples := b.needs(l.Probe.Needs)
	b.ask(rowName, fusion.NeedsDenseName, whole, nil)
	b.ask(rowFlat, fusion.NeedsDenseFlat, whole, whole)
	b.ask(rowDescription, fusion.NeedsDenseDescription, description, description)
	b.ask(rowResponse, fusion.NeedsDenseResponse, response, response)
	b.ask(rowExamples, fusion.NeedsDenseExamples, examples, examples)
	var vectors [][]float32
	for i := range l.Probe.Arguments {
		vectors = append(vectors, l.Probe.Arguments[i].Text.Vector)
	}
	if arguments := b.texts(vectors...); len(arguments) > 0 {
		b.ask(rowParameters, fusion.NeedsDenseParameters, arguments, whole)
	}
	// The questions are in the order of the rows, so that a scan is one stream.
	questions := b.plan.questions
	slices.SortStableFunc(questions, func(x, y question) int { return cmp.Compare(x.kind, y.kind) })
	b.plan.remaining = make([]float32, len(questions))
	var sum float32
	for i, q := range slices.Backward(questions) {
		most := b.plan.columns[q.column].most
		if q.names != none {
			most = max(most, b.plan.columns[q.names].most)
		}
		sum += most * max(q.weight, -q.weight)
		b.plan.remaining[i] = sum
	}
	return b.plan
}

// planner builds a plan. It knows texts by number: equal vectors have the same, and are
// quantised once.
type planner struct {
	plan       plan
	model      *fusion.Model
	dimensions int
	vectors    [][]float32
	queries    []vector.Query
}

func (b *planner) ask(kind int, feature fusion.Feature, texts, absent []int) {
	weight := float32(b.model.Features[feature])
	if len(texts) == 0 || weight == 0 {
		return
	}
	q := question{kind: kind, weight: weight, column: b.column(kind, texts), names: none}
	if kind != rowName && len(absent) > 0 {
		q.names = b.column(rowName, absent)
	}
	for i := range b.plan.questions {
		// Two questions with the same answer are one, whatever they weigh.
		if o := &b.plan.questions[i]; q.kind == o.kind && q.column == o.column && q.names == o.names {
			o.weight += weight
			return
		}
	}
	b.plan.questions = append(b.plan.questions, q)
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
			at := slices.IndexFunc(b.vectors, func(known []float32) bool { return slices.Equal(known, v) })
			if at < 0 {
				at = len(b.vectors)
				b.vectors, b.queries = append(b.vectors, v), append(b.queries, vector.NewQuery(v))
			}
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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

// scratch is the memory of one worker of a search.
type scratch struct {
	scores  [blockSize]float32
	block   *block
	answers []answers
}

// answers are a column's similarities with the rows of a block, or with those
// of some of its slots.
type answers struct {
	sims []float32
	of   *block
}

// reset turns to a block and sets the scores of its slots to their lexical
// ones.
func (s *scratch) reset(b *block, lexical []*[]float32, block int) {
	s.block = b
	clear(s.scores[:])
	from := block * blockSize
	for _, part := range lexical {
		if from < len(*part) {
			for i, x := range (*part)[from:min(from+blockSize, len(*part))] {
				s.scores[i] += x
			}
		}
	}
}

// sized returns buf with room for n values.
func sized(buf []float32, n int) []float32 {
	if cap(buf) < n {
		return make([]float32, n, 2*n)
	}
	return buf[:n]
}

// dense adds the plan's answers to the scores of the slots of the mask, and
// returns the slots that may still reach the least score. The other scores are incomplete.
func (p *plan) dense(s *scratch, mask uint64, least float32) uint64 {
	for i := range p.questions {
		mask = s.reaching(mask, least-p.remaining[i])
		if mask == 0 {
			return 0
		}
		p.questions[i].answer(p, s, mask)
	}
	return mask
}

// reaching returns the slots of the mask whose scores are at least the given one.
func (s *scratch) reaching(mask uint64, least float32) uint64 {
	var out uint64
	for i, score := range s.scores {
		var bit uint64
		if score >= least { // a move, not a jump
			bit = 1
		}
		out |= bit << i
	}
	return out & mask
}

func (q *question) answer(p *plan, s *scratch, mask uint64) {
	r := &s.block.rows[q.kind]
	has, sims := mask&^r.lacks, p.sims(q.column, s, mask)
	switch {
	case q.kind == rowParameters:
		q.cover(sims, has, s)
	case r.plain:
		q.add(sims, s)
	default:
		q.best(sims, has, s)
	}
	if lacks := mask & r.lacks &^ s.block.rows[rowName].lacks; lacks != 0 && q.names != none {
		q.fallBack(p.sims(q.names, s, mask), lacks, s)
	}
}

// few is how many slots are worth looking for one by one: the rows of more of
// them are faster read in one stream.
const few = 16

// sims returns the answers of a column on the slots of the mask, which are
// worked out when they are first asked for. Masks only lose slots.
func (p *plan) sims(n int, s *scratch, mask uint64) []float32 {
	if len(s.answers) < len(p.columns) {
		s.answers = make([]answers, len(p.columns))
	}
	a := &s.answers[n]
	if a.of != s.block {
		p.columns[n].compare(a, s.block, mask)
	}
	return a.sims
}

func (c *column) compare(a *answers, b *block, mask uint64) {
	r := &b.rows[c.kind]
	a.sims, a.of = sized(a.sims, len(r.scales)), b
	if bits.OnesCount64(mask) > few {
		c.compareRows(a.sims, r, 0, len(r.scales))
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		c.compareRows(a.sims, r, int(r.first[i]), int(r.first[i+1]))
	}
}

// compareRows compares a run of rows, and as many more as the kernels want.
func (c *column) compareRows(sims []float32, r *rows, from, to int) {
	if from == to {
		return
	}
	to = min(max(to, from+vector.MinRows), len(r.scales))
	from = max(0, min(from, to-vector.MinRows))
	stride := len(r.codes) / len(r.scales)
	sims, codes, scales := sims[from:to], r.codes[from*stride:to*stride], r.scales[from:to]
	c.texts[0].Similarities(sims, codes, scales)
	for i := 1; i < len(c.texts); i++ {
		c.texts[i].MaxInto(sims, codes, scales)
	}
}

// add adds the weighted similarity of each slot's only row.
func (q *question) add(sims []float32, s *scratch) {
	for i, sim := range sims[:blockSize] {
		s.scores[i] += q.weight * sim
	}
}

// best adds the weighted similarity of each slot's best row.
func (q *question) best(sims []float32, has uint64, s *scratch) {
	first := &s.block.rows[q.kind].first
	for ; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		of := sims[first[i]:first[i+1]]
		top := of[0]
		for _, sim := range of[1:] {
			top = max(top, sim)
		}
		s.scores[i] += q.weight * top
	}
}

// cover adds the weighted mean of each slot's parameters.
func (q *question) cover(sims []float32, has uint64, s *scratch) {
	first := &s.block.rows[rowParameters].first
	for ; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		of := sims[first[i]:first[i+1]]
		var sum float32
		for _, sim := range of {
			sum += max(sim, 0)
		}
		s.scores[i] += q.weight * sum / float32(len(of))
	}
}

// fallBack gives the slots that lack the kind the score of their name.
func (q *question) fallBack(names []float32, lacks uint64, s *scratch) {
	first := &s.block.rows[rowName].first
	for ; lacks != 0; lacks &= lacks - 1 {
		i := bits.TrailingZeros64(lacks)
		s.scores[i] += q.weight * names[first[i]]
	}
}
