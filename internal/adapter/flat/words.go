package flat

import (
	"context"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// words is the lexical side of a lookup: what every field is asked, by the
// query and by its needs.
type words struct {
	snapshot *lexical.Snapshot
	query    [lexical.FieldCount][]lexical.Query // one, or none
	needs    [lexical.FieldCount][]lexical.Query // the best one counts
}

func newWords(s *lexical.Snapshot, p *index.Probe) *words {
	w := &words{snapshot: s}
	for f := range lexical.FieldCount {
		w.ask(&w.query, p.Query.Words, f)
	}
	for i := range p.Needs {
		n := &p.Needs[i]
		w.ask(&w.needs, n.Whole.Words, lexical.Flat, lexical.Stem, lexical.Name)
		w.ask(&w.needs, n.Description.Words, lexical.Description)
		w.ask(&w.needs, n.Response.Words, lexical.Response)
		w.ask(&w.needs, n.Examples.Words, lexical.Examples)
	}
	w.ask(&w.needs, argumentWords(p), lexical.Parameters)
	return w
}

// argumentWords joins the arguments: a tool is to take all of them.
func argumentWords(p *index.Probe) string {
	texts := make([]string, len(p.Arguments))
	for i := range p.Arguments {
		texts[i] = p.Arguments[i].Text.Words
	}
	return strings.Join(texts, " ")
}

func (w *words) ask(scope *[lexical.FieldCount][]lexical.Query, text string, fields ...lexical.Field) {
	for _, f := range fields {
		if terms := w.snapshot.Analyze(f, text); len(terms) > 0 {
			scope[f] = append(scope[f], w.snapshot.Query(f, terms))
		}
	}
}

// exact is the lexical scores of one entity.
type exact struct{ query, needs index.Lexical }

// exact returns the scores of some slots.
func (w *words) exact(slots []uint32) []exact {
	out := make([]exact, len(slots))
	scores := make([]float32, len(slots))
	for f := range lexical.FieldCount {
		for i, score := range best(w.query[f], slots, scores) {
			*field(&out[i].query, f) = float64(score)
		}
		for i, score := range best(w.needs[f], slots, scores) {
			*field(&out[i].needs, f) = float64(score)
		}
	}
	return out
}

// best returns the best score of each slot in out, nothing where nothing is
// asked.
func best(queries []lexical.Query, slots []uint32, out []float32) []float32 {
	if len(queries) == 0 {
		return nil
	}
	queries[0].Scores(slots, out)
	if len(queries) == 1 {
		return out
	}
	one := make([]float32, len(slots))
	for _, q := range queries[1:] {
		q.Scores(slots, one)
		raise(out, one)
	}
	return out
}

func raise(to, from []float32) {
	for i, x := range from {
		to[i] = max(to[i], x)
	}
}

// field returns where the score of a field is kept.
func field(l *index.Lexical, f lexical.Field) *float64 {
	return [lexical.FieldCount]*float64{
		lexical.Flat: &l.Flat, lexical.Stem: &l.Stem, lexical.Name: &l.Name, lexical.Description: &l.Description,
		lexical.Parameters: &l.Parameters, lexical.Response: &l.Response, lexical.Examples: &l.Examples,
	}[f]
}

// lexicalFeatures returns the features of a field, of the query and of the
// needs.
func lexicalFeatures(f lexical.Field) (query, needs fusion.Feature) {
	at := [lexical.FieldCount]fusion.Feature{
		lexical.Flat: fusion.QueryLexicalFlat, lexical.Stem: fusion.QueryLexicalStem, lexical.Name: fusion.QueryLexicalName,
		lexical.Description: fusion.QueryLexicalDescription, lexical.Parameters: fusion.QueryLexicalParameters,
		lexical.Response: fusion.QueryLexicalResponse, lexical.Examples: fusion.QueryLexicalExamples,
	}[f]
	return at, at - fusion.QueryLexicalFlat + fusion.NeedsLexicalFlat
}

// sum is one weighted lexical feature.
type sum struct {
	weight  float32
	queries []lexical.Query // the best one counts
}

// sums returns the features that have a weight and something to ask.
func (w *words) sums(m *fusion.Model) []sum {
	var out []sum
	for f := range lexical.FieldCount {
		query, needs := lexicalFeatures(f)
		for _, s := range []sum{{float32(m.Features[query]), w.query[f]}, {float32(m.Features[needs]), w.needs[f]}} {
			if s.weight != 0 && len(s.queries) > 0 {
				out = append(out, s)
			}
		}
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
		s.queries[0].AccumulateScaled(scores, s.weight)
		return
	}
	best, one := x.Borrow(), x.Borrow()
	defer x.Return(best)
	defer x.Return(one)
	s.queries[0].Accumulate(*best)
	for _, q := range s.queries[1:] {
		clear(*one)
		q.Accumulate(*one)
		raise(*best, *one)
	}
	for i, score := range *best {
		scores[i] += s.weight * score
	}
}
