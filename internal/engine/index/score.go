package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Lexical holds the raw BM25 scores of one entity by lexical.Field. 0 is both
// "no word matches" and "the tool lacks the field": no evidence either way, so
// it is neutral.
type Lexical [lexicalFields]float64

const lexicalFields = 8

// LexicalFeatures returns the features of a field, of the query and of the needs.
func LexicalFeatures(field int) (query, needs fusion.Feature) {
	if field == lexicalFields-1 {
		return fusion.QueryLexicalPairs, fusion.NeedsLexicalPairs
	}
	return fusion.QueryLexicalFlat + fusion.Feature(field), fusion.NeedsLexicalFlat + fusion.Feature(field)
}

// Entry is an entity to be scored.
type Entry struct {
	Vectors  *events.Vectors // nil: not embedded, every dense feature is 0
	Required []bool          // for each parameter, in the document's order
	Query    Lexical         // scores of the query's words
	Needs    Lexical         // the best score over the needs, field by field
}

// Scores are the exact scores of one entity.
type Scores struct {
	Features   fusion.Features // without usage
	Matches    []schema.Match  // one per parameter; empty without arguments
	BestArg    []int           // index of the argument given to each parameter, -1 for none
	Similarity float64         // best cosine against the name or the whole document
}

// Score returns an entity's exact scores. Only this function turns cosines into features, so every
// deployment ranks alike.
//
// If the tool lacks a field, the field scores like its name text for the same question: the worth
// of the tool as a whole, neither an invented match nor a punishment. A question without a vector
// scores 0 on every entity alike.
func Score(p *Probe, e Entry) Scores {
	var s Scores
	for field := range lexicalFields {
		query, needs := LexicalFeatures(field)
		s.Features[query], s.Features[needs] = e.Query[field], e.Needs[field]
	}
	if e.Vectors == nil {
		return s
	}
	s.scoreQuery(p, e.Vectors)
	s.scoreNeeds(p, e.Vectors)
	s.scoreArguments(p, e)
	s.Similarity = p.similarity(&s.Features)
	return s
}

func (s *Scores) scoreQuery(p *Probe, v *events.Vectors) {
	q, f := p.Query.Vector, &s.Features
	if len(q) == 0 {
		return
	}
	name := cosine(q, v.Name)
	f[fusion.QueryDenseName] = name
	f[fusion.QueryDenseFlat] = cosineOr(q, v.Flat, name)
	f[fusion.QueryDenseDescription] = cosineOr(q, v.Description, name)
	f[fusion.QueryDenseResponse] = cosineOr(q, v.Response, name)
	f[fusion.QueryDenseExamples] = bestOr(q, v.Examples, name)
	f[fusion.QueryDenseParameters] = name
	if len(v.Parameters) > 0 {
		f[fusion.QueryDenseParameters] = coverage(v.Parameters, func(parameter []float32) float64 { return cosine(q, parameter) })
	}
}

// scoreNeeds scores each field by the need that asks for it best.
func (s *Scores) scoreNeeds(p *Probe, v *events.Vectors) {
	f := &s.Features
	whole := func(n *Need) []float32 { return n.Whole.Vector }
	f[fusion.NeedsDenseName] = bestNeed(p, whole, func(q []float32) float64 { return cosine(q, v.Name) })
	for _, field := range []struct {
		at  fusion.Feature
		ask func(*Need) []float32
		doc events.Vector
	}{
		{fusion.NeedsDenseFlat, whole, v.Flat},
		{fusion.NeedsDenseDescription, func(n *Need) []float32 { return n.Description.Vector }, v.Description},
		{fusion.NeedsDenseResponse, func(n *Need) []float32 { return n.Response.Vector }, v.Response},
	} {
		f[field.at] = bestNeed(p, field.ask, func(q []float32) float64 {
			return cosineOr(q, field.doc, cosine(q, v.Name))
		})
	}
	examples := func(n *Need) []float32 { return n.Examples.Vector }
	f[fusion.NeedsDenseExamples] = bestNeed(p, examples, func(q []float32) float64 {
		return bestOr(q, v.Examples, cosine(q, v.Name))
	})
}

// bestNeed returns the largest phi over the needs that ask, or 0.
func bestNeed(p *Probe, ask func(*Need) []float32, phi func(q []float32) float64) float64 {
	var best float64
	asked := false
	for i := range p.Needs {
		q := ask(&p.Needs[i])
		if len(q) == 0 {
			continue
		}
		if score := phi(q); !asked || score > best {
			best, asked = score, true
		}
	}
	return best
}

// scoreArguments matches parameters with arguments: S_param, the mean of each one's best
// (arXiv 2602.05366, equation 2), and what the penalty is made of. There, other than in
// the paper, an argument is given to one parameter only. Without arguments there are no
// matches, and every entity has 0.
func (s *Scores) scoreArguments(p *Probe, e Entry) {
	if !slices.ContainsFunc(p.Arguments, func(a Argument) bool { return len(a.Text.Vector) > 0 }) {
		return
	}
	params := e.Vectors.Parameters
	params = params[:min(len(params), len(e.Required))]
	if len(params) == 0 {
		s.Features[fusion.NeedsDenseParameters] = s.Features[fusion.NeedsDenseName]
		return
	}
	var pairs []pair
	at := 0
	s.Features[fusion.NeedsDenseParameters] = coverage(params, func(parameter []float32) float64 {
		best := math.Inf(-1)
		for i := range p.Arguments {
			if a := p.Arguments[i].Text.Vector; len(a) > 0 {
				match := cosine(a, parameter)
				best = max(best, match)
				pairs = append(pairs, pair{match, at, i})
			}
		}
		at++
		return best
	})
	s.assign(pairs, e.Required[:len(params)], p.Tau)
}

// pair is an argument that may be given to a parameter.
type pair struct {
	match               float64
	parameter, argument int
}

// assign gives arguments to parameters, the best match first: a call needs a value for each,
// and one city is not two. Required parameters come before others, unless the argument is
// not for them.
func (s *Scores) assign(pairs []pair, required []bool, tau float64) {
	s.Matches, s.BestArg = make([]schema.Match, len(required)), make([]int, len(required))
	for i := range required {
		s.Matches[i].Required, s.BestArg[i] = required[i], -1
	}
	urgent := func(p pair) int {
		if required[p.parameter] && p.match >= tau {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(urgent(a), urgent(b)), cmp.Compare(b.match, a.match))
	})
	given := map[int]bool{}
	for _, p := range pairs {
		if s.BestArg[p.parameter] < 0 && !given[p.argument] {
			given[p.argument] = true
			s.BestArg[p.parameter], s.Matches[p.parameter].Score = p.argument, max(p.match, 0)
		}
	}
}

// coverage returns the mean over the parameters of max(0, phi).
func coverage(params []events.Vector, phi func(parameter []float32) float64) float64 {
	var sum float64
	for _, parameter := range params {
		sum += max(0, phi(parameter))
	}
	return sum / float64(len(params))
}

// AddNeeds adds the score of each need's vector to the score of its words.
func AddNeeds(scores []float64, p *Probe, v *events.Vectors, w *fusion.Features) {
	for i := range p.Needs {
		q := p.Needs[i].Whole.Vector
		name := cosine(q, v.Name)
		scores[i] += w[fusion.NeedsDenseName]*name + w[fusion.NeedsDenseFlat]*cosineOr(q, v.Flat, name)
	}
}

// similarity is the best cosine that was measured against name or whole
// document.
func (p *Probe) similarity(f *fusion.Features) float64 {
	query := max(f[fusion.QueryDenseName], f[fusion.QueryDenseFlat])
	needs := max(f[fusion.NeedsDenseName], f[fusion.NeedsDenseFlat])
	asks := func(n Need) bool { return len(n.Whole.Vector) > 0 }
	switch {
	case len(p.Query.Vector) == 0:
		return needs
	case !slices.ContainsFunc(p.Needs, asks):
		return query
	}
	return max(query, needs)
}

// cosine returns the inner product of two unit vectors, 0 if one is absent
// or has other dimensions.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	return float64(vector.Dot(a, b))
}

func cosineOr(q, doc []float32, absent float64) float64 {
	if len(doc) == 0 {
		return absent
	}
	return cosine(q, doc)
}

func bestOr(q []float32, docs []events.Vector, absent float64) float64 {
	if len(docs) == 0 {
		return absent
	}
	best, _ := fusion.Best(len(docs), func(i int) float64 { return cosine(q, docs[i]) })
	return best
}
