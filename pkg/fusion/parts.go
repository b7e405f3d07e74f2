package fusion

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// part is what several features measure together, in plain words. Its id is stable; that of
// a part with one feature is the feature's name.
type part struct {
	id, label string
	features  []Feature
}

// parts hold every feature once.
var parts = []part{
	{"words.document", "words of the whole document", []Feature{QueryLexicalFlat, QueryLexicalStem, NeedsLexicalFlat, NeedsLexicalStem}},
	{"words.name", "words of name, description and tags", []Feature{QueryLexicalName, QueryLexicalPairs, NeedsLexicalName, NeedsLexicalPairs}},
	{"words.description", "words of the description", []Feature{QueryLexicalDescription, NeedsLexicalDescription}},
	{"words.parameters", "words of the parameters", []Feature{QueryLexicalParameters, NeedsLexicalParameters}},
	{"words.response", "words of the response", []Feature{QueryLexicalResponse, NeedsLexicalResponse}},
	{"words.examples", "words of the examples", []Feature{QueryLexicalExamples, NeedsLexicalExamples}},
	{"meaning.document", "meaning of the whole document", []Feature{QueryDenseFlat, NeedsDenseFlat}},
	{"meaning.name", "meaning of name, description and tags", []Feature{QueryDenseName, NeedsDenseName}},
	{"meaning.description", "meaning of the description", []Feature{QueryDenseDescription, NeedsDenseDescription}},
	{"meaning.parameters", "meaning of the parameters", []Feature{QueryDenseParameters, NeedsDenseParameters}},
	{"meaning.response", "meaning of the response", []Feature{QueryDenseResponse, NeedsDenseResponse}},
	{"meaning.examples", "meaning of the examples", []Feature{QueryDenseExamples, NeedsDenseExamples}},
	{"usage.prior", "number of uses", []Feature{UsagePrior}},
	{"usage.co_use", "use together with other results", []Feature{UsageCoUse}},
	{"usage.similar", "use for similar queries", []Feature{UsageSimilar}},
	{"related.owner", "best tool of its provider", []Feature{RelatedOwner}},
	{"related.supply", "supply of what other results take", []Feature{RelatedSupply}},
	{"related.need", "answer to one of several needs", []Feature{RelatedNeed}},
	{"related.name", "likeness of name and query", []Feature{RelatedName}},
	{"query.verb", "other kind of action", []Feature{QueryVerb}},
	{"related.provider", "meaning of the provider's description", []Feature{RelatedProvider}},
	{"related.provider_name", "provider that the query names", []Feature{RelatedProviderName}},
	{"related.known", "name that is the query", []Feature{RelatedKnown}},
	{"related.rare", "rare words of the query", []Feature{RelatedRare}},
}

// missing is the part of the penalty.
var missing = part{id: "penalty", label: "missing parameters"}

// Parts takes a score apart: together with the bias the parts are the score of a candidate
// with these features and that penalty. Parts of 0 are left out; the order is always the
// same.
func (m *Model) Parts(f *Features, penalty float64) []schema.ScorePart {
	out := []schema.ScorePart{}
	for _, p := range parts {
		if value := p.sum(func(i Feature) float64 { return m.Features[i] * f[i] }); value != 0 {
			out = append(out, schema.ScorePart{Part: p.id, Label: p.label, Value: value})
		}
	}
	if penalty != 0 {
		out = append(out, schema.ScorePart{Part: missing.id, Label: missing.label, Value: -penalty})
	}
	return out
}

// sum adds up a number of each feature of the part.
func (p *part) sum(of func(Feature) float64) (sum float64) {
	for _, f := range p.features {
		sum += of(f)
	}
	return finite(sum)
}

// clearly is the size of a clear difference between two candidates. Magnitude, which scales
// learning, has the largest unit for features that are seldom learned.
func clearly(f Feature) float64 {
	switch f {
	case QueryVerb:
		return 1
	case RelatedProviderName:
		return 0.5
	case RelatedProvider:
		return 0.25
	}
	return Magnitude(f)
}

// The changes that are told of: the largest ones, and none that is less than a share of
// what all parts together bring.
const (
	maxChanges   = 5
	leastChange  = 0.01
	leastPrice   = 0.01 // of the best score, for a missing parameter
	leastClosely = 0.02 // of a match
)

// Changes says in words what counts more and what less in a model than in the one before,
// the largest change first. A factor on all weights changes no ranking, and is left out of
// account.
func Changes(before, after *Model) []string {
	points := func(m *Model) (out []float64) {
		for _, p := range parts {
			out = append(out, p.sum(func(f Feature) float64 { return m.Features[f] * clearly(f) }))
		}
		return out
	}
	was, is := points(before), points(after)
	scale, all := commonFactor(was, is), 0.
	for i := range is {
		was[i] *= scale
		all += math.Abs(is[i])
	}
	least := leastChange * all
	order := []int{}
	for i := range parts {
		if math.Abs(is[i]-was[i]) > least {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(is[b]-was[b]), math.Abs(is[a]-was[a]))
	})
	out := []string{}
	for _, i := range order[:min(len(order), maxChanges)] {
		out = append(out, changed(parts[i].label, was[i], is[i], least))
	}
	return append(out, pricesChanged(before, after)...)
}

// changed says how the contribution of a part has changed, given its points before and now.
// Points below least count as zero.
func changed(label string, was, is, least float64) string {
	verb := "counts"
	if strings.HasPrefix(label, "words") {
		verb = "count"
	}
	against := ""
	if is < 0 {
		against = " against a tool"
	}
	switch {
	case math.Abs(is) <= least:
		return fmt.Sprintf("the %s no longer %s", label, verb)
	case math.Abs(was) <= least || was*is < 0:
		return fmt.Sprintf("the %s now %s%s", label, verb, against)
	}
	more := "more"
	if math.Abs(is) < math.Abs(was) {
		more = "less"
	}
	return fmt.Sprintf("the %s %s %s%s (%+.0f%%)", label, verb, more, against, 100*(is/was-1))
}

// pricesChanged says what missing parameters cost, where both models price them alike.
func pricesChanged(before, after *Model) (out []string) {
	if before.Shares != after.Shares {
		return nil
	}
	price := func(what string, was, is float64) {
		if math.Abs(is-was) > leastPrice {
			out = append(out, fmt.Sprintf("a missing %s parameter costs %.2f instead of %.2f", what, is, was))
		}
	}
	price("required", before.Required, after.Required)
	price("optional", before.Optional, after.Optional)
	if math.Abs(after.Tau-before.Tau) > leastClosely {
		out = append(out, fmt.Sprintf("an argument fits a parameter from a match of %.2f on instead of %.2f", after.Tau, before.Tau))
	}
	return out
}

// commonFactor is by how much all numbers rose: the median of their ratios, each weighted
// by its first number.
func commonFactor(was, is []float64) float64 {
	type ratio struct{ by, weight float64 }
	var ratios []ratio
	half := 0.
	for i := range was {
		if was[i]*is[i] > 0 {
			ratios = append(ratios, ratio{is[i] / was[i], math.Abs(was[i])})
			half += math.Abs(was[i]) / 2
		}
	}
	slices.SortFunc(ratios, func(a, b ratio) int { return cmp.Compare(a.by, b.by) })
	for _, r := range ratios {
		if half -= r.weight; half <= 0 {
			return r.by
		}
	}
	return 1
}
