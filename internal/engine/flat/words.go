package flat

import (
	"context"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// words is the lexical side of a lookup: the texts that every field is asked by the query and by
// its needs. A text of both is asked once.
type words struct {
	snapshot *lexical.Snapshot
	asked    []asked
	query    [lexical.FieldCount][]int // places in asked: one, or none
	needs    [lexical.FieldCount][]int // the best one counts
	wholes   [][]int                   // of each need by itself, against the name and flat texts
}

// asked is a text to search in a field.
type asked struct {
	field lexical.Field
	text  string
	terms int
	query lexical.Query
}

func newWords(s *lexical.Snapshot, p *index.Probe) *words {
	w := &words{snapshot: s}
	for f := range lexical.FieldCount {
		w.ask(&w.query, p.Query.Words, f)
	}
	for i := range p.Needs {
		n := &p.Needs[i]
		var whole [lexical.FieldCount][]int
		w.ask(&whole, n.Whole.Words, lexical.Flat, lexical.Stem, lexical.Name, lexical.Pairs)
		w.wholes = append(w.wholes, slices.Concat(whole[:]...))
		w.ask(&w.needs, n.Whole.Words, lexical.Flat, lexical.Stem, lexical.Name, lexical.Pairs)
		w.ask(&w.needs, n.Description.Words, lexical.Description)
		w.ask(&w.needs, n.Response.Words, lexical.Response)
		w.ask(&w.needs, n.Examples.Words, lexical.Examples)
	}
	// A tool should take all arguments.
	texts := make([]string, len(p.Arguments))
	for i := range p.Arguments {
		texts[i] = p.Arguments[i].Text.Words
	}
	w.ask(&w.needs, strings.Join(texts, " "), lexical.Parameters)
	return w
}

// ask adds the question for a text to the questions of some fields. An equal question is looked up
// once.
func (w *words) ask(scope *[lexical.FieldCount][]int, text string, fields ...lexical.Field) {
	for _, f := range fields {
		at := slices.IndexFunc(w.asked, func(a asked) bool { return a.field == f && a.text == text })
		if at < 0 {
			at = len(w.asked)
			terms := w.snapshot.Analyze(f, text)
			w.asked = append(w.asked, asked{field: f, text: text, terms: len(terms), query: w.snapshot.Query(f, terms)})
		}
		if w.asked[at].terms > 0 && !slices.Contains(scope[f], at) {
			scope[f] = append(scope[f], at)
		}
	}
}

// holders calls found with the slots of entities that hold a rare word of the query or of a need.
func (w *words) holders(found func(slot uint32)) {
	for i := range w.asked {
		if w.asked[i].field == lexical.Stem {
			w.asked[i].query.Holders(found)
		}
	}
}

// exact is the lexical scores of one entity.
type exact struct {
	query, needs index.Lexical
	covered      float64   // share of the need that it covers best
	rare         float64   // the same, by the share of its documents that each word has it in
	apart        []float64 // the weighted sum of each need by itself
}

// exact returns the scores of some slots.
func (w *words) exact(slots []uint32) []exact {
	out := make([]exact, len(slots))
	n, all := len(slots), make([]float32, 6*len(slots))
	m := &lookedUp{all[:n], all[n : 2*n], all[2*n : 3*n], all[3*n : 4*n], all[4*n : 5*n], all[5*n:]}
	for f := range lexical.FieldCount {
		for i, score := range w.best(w.query[f], slots, m) {
			out[i].query[f], out[i].needs[f] = float64(score), float64(score)
		}
		if slices.Equal(w.query[f], w.needs[f]) {
			continue
		}
		for i := range out {
			out[i].needs[f] = 0
		}
		for i, score := range w.best(w.needs[f], slots, m) {
			out[i].needs[f] = float64(score)
		}
	}
	for i, share := range m.covered {
		out[i].covered, out[i].rare = float64(share), float64(m.rare[i])
	}
	return out
}

// apart sets the score of each need by itself on some slots.
func (w *words) apart(slots []uint32, out []exact, weights *fusion.Features) {
	sums, scores := make([]float64, len(slots)*len(w.wholes)), make([]float32, len(slots))
	for i := range out {
		out[i].apart = sums[i*len(w.wholes):][:len(w.wholes):len(w.wholes)]
	}
	for n, places := range w.wholes {
		for _, at := range places {
			_, feature := index.LexicalFeatures(int(w.asked[at].field))
			if weights[feature] == 0 {
				continue
			}
			w.asked[at].query.Scores(slots, scores)
			for i, score := range scores {
				out[i].apart[n] += weights[feature] * float64(score)
			}
		}
	}
}

// lookedUp holds the scores of some slots and their coverage by stems.
type lookedUp struct {
	best, covered, rare            []float32
	other, otherCovered, otherRare []float32 // of another text
}

// best returns the best score of each slot, nil if nothing is asked. The result is in m.
func (w *words) best(places []int, slots []uint32, m *lookedUp) []float32 {
	if len(places) == 0 {
		return nil
	}
	w.asked[places[0]].scores(slots, m.best, m.covered, m.rare)
	for _, at := range places[1:] {
		w.asked[at].scores(slots, m.other, m.otherCovered, m.otherRare)
		raise(m.best, m.other)
		if w.asked[at].field == lexical.Stem {
			raise(m.covered, m.otherCovered)
			raise(m.rare, m.otherRare)
		}
	}
	return m.best
}

// scores scores slots, and with stems also their coverage.
func (a *asked) scores(slots []uint32, out, covered, rare []float32) {
	if a.field == lexical.Stem {
		a.query.Cover(slots, out, covered, rare)
	} else {
		a.query.Scores(slots, out)
	}
}

func raise(to, from []float32) {
	for i, x := range from {
		to[i] = max(to[i], x)
	}
}

// sum is one weighted lexical feature, or two that ask the same.
type sum struct {
	weight  float32
	queries []lexical.Query // the best one counts
}

// sums returns the features that have a weight and something to ask.
func (w *words) sums(m *fusion.Model) []sum {
	var out []sum
	add := func(weight float64, places []int) {
		if weight == 0 || len(places) == 0 {
			return
		}
		queries := make([]lexical.Query, len(places))
		for i, at := range places {
			queries[i] = w.asked[at].query
		}
		out = append(out, sum{float32(weight), queries})
	}
	for f := range lexical.FieldCount {
		query, needs := index.LexicalFeatures(int(f))
		if slices.Equal(w.query[f], w.needs[f]) {
			add(m.Features[query]+m.Features[needs], w.query[f])
			continue
		}
		add(m.Features[query], w.query[f])
		add(m.Features[needs], w.needs[f])
	}
	return out
}

// accumulate returns arrays that add up to the weighted lexical scores of all
// slots: one for each worker that took part.
func (w *words) accumulate(ctx context.Context, m *fusion.Model) ([]*[]float32, error) {
	sums := w.sums(m)
	parts := make([]*[]float32, workers(len(sums)))
	for i := range parts {
		parts[i] = w.snapshot.Borrow()
	}
	split(len(sums), len(parts), func(worker, from, to int) {
		for i := from; i < to && ctx.Err() == nil; i++ {
			sums[i].add(w.snapshot, *parts[worker])
		}
	})
	return parts, ctx.Err()
}

// add adds the feature to the scores of all slots.
func (s *sum) add(x *lexical.Snapshot, scores []float32) {
	if len(s.queries) == 1 {
		s.queries[0].Accumulate(scores, s.weight)
		return
	}
	best, one := x.Borrow(), x.Borrow()
	defer x.Return(best)
	defer x.Return(one)
	s.queries[0].Accumulate(*best, 1)
	for _, q := range s.queries[1:] {
		clear(*one)
		q.Accumulate(*one, 1)
		raise(*best, *one)
	}
	for i, score := range *best {
		scores[i] += s.weight * score
	}
}
