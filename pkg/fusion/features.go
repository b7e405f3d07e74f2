package fusion

import (
	"slices"
	"strconv"
)

// Feature is the position of one score in a feature vector. The order is part
// of the format of impressions: append, never insert.
type Feature int

// Every feature is measured twice: for the query as it was typed (Query...),
// and for its needs (Needs...): the rewritten ones, the caller's, or the
// query's sentences and clauses. Lexical features are raw BM25 scores, dense
// ones raw cosines; neither is normalised per query, so a score means the same
// whichever candidates it stands among.
const (
	QueryLexicalFlat Feature = iota // whole document, words as written
	QueryLexicalStem                // whole document, stemmed words
	QueryLexicalName                // name, title, description and tags
	QueryLexicalDescription
	QueryLexicalParameters
	QueryLexicalResponse
	QueryLexicalExamples
	QueryDenseName // name, title, description and tags
	QueryDenseFlat // whole document
	QueryDenseDescription
	QueryDenseParameters
	QueryDenseResponse
	QueryDenseExamples
	NeedsLexicalFlat
	NeedsLexicalStem
	NeedsLexicalName
	NeedsLexicalDescription
	NeedsLexicalParameters
	NeedsLexicalResponse
	NeedsLexicalExamples
	NeedsDenseName
	NeedsDenseFlat
	NeedsDenseDescription
	NeedsDenseParameters
	NeedsDenseResponse
	NeedsDenseExamples
	UsagePrior        // log(1 + decayed uses)
	UsageCoUse        // sum over the front runners of the share of their decayed uses that was together with it
	QueryLexicalPairs // pairs of neighbouring words in name, title, description and tags
	NeedsLexicalPairs
	UsageSimilar        // how much alike the nearest query is that the tool was used for, from 0 to 1
	RelatedOwner        // best score of a tool of the same owner, as a share of the best of all
	RelatedSupply       // mean lead of the front runners whose parameters it supplies, over all of them
	RelatedNeed         // best score of all, as far as it reaches the best for one of several needs
	QueryVerb           // 1 if the name has another action than the query: create, read, change, delete …
	RelatedName         // how much of its name the query says, in units of how far apart the scores of the front are
	RelatedProvider     // if providers are ranked: cosine of the query and the provider's own document
	RelatedProviderName // share of the names of providers in the query that its own provider has
	RelatedKnown        // best score of all, if the query is its name or id; less if they are spelt differently
	RelatedRare         // best score of all, times the cube of the share of the query that are words of few entities, it among them
	FeatureCount
)

// FrontRunners is how many of the best candidates UsageCoUse is counted with.
// Fewer miss tools used together with an answer that ranks low, more add tools
// used together with no answer; between five and seven it hardly matters.
const FrontRunners = 6

// Supplied is how many of the best candidates RelatedSupply is counted for.
const Supplied = 10

// Features holds one candidate's scores, by Feature. A field that the tool
// lacks holds a neutral value, never a punishment.
type Features [FeatureCount]float64

// names maps every feature to its name in weights, explanations and metrics.
var names = [FeatureCount]string{
	QueryLexicalFlat:        "query.lexical.flat",
	QueryLexicalStem:        "query.lexical.stem",
	QueryLexicalName:        "query.lexical.name",
	QueryLexicalDescription: "query.lexical.description",
	QueryLexicalParameters:  "query.lexical.parameters",
	QueryLexicalResponse:    "query.lexical.response",
	QueryLexicalExamples:    "query.lexical.examples",
	QueryDenseName:          "query.dense.name",
	QueryDenseFlat:          "query.dense.flat",
	QueryDenseDescription:   "query.dense.description",
	QueryDenseParameters:    "query.dense.parameters",
	QueryDenseResponse:      "query.dense.response",
	QueryDenseExamples:      "query.dense.examples",
	NeedsLexicalFlat:        "needs.lexical.flat",
	NeedsLexicalStem:        "needs.lexical.stem",
	NeedsLexicalName:        "needs.lexical.name",
	NeedsLexicalDescription: "needs.lexical.description",
	NeedsLexicalParameters:  "needs.lexical.parameters",
	NeedsLexicalResponse:    "needs.lexical.response",
	NeedsLexicalExamples:    "needs.lexical.examples",
	NeedsDenseName:          "needs.dense.name",
	NeedsDenseFlat:          "needs.dense.flat",
	NeedsDenseDescription:   "needs.dense.description",
	NeedsDenseParameters:    "needs.dense.parameters",
	NeedsDenseResponse:      "needs.dense.response",
	NeedsDenseExamples:      "needs.dense.examples",
	UsagePrior:              "usage.prior",
	UsageCoUse:              "usage.co_use",
	QueryLexicalPairs:       "query.lexical.pairs",
	NeedsLexicalPairs:       "needs.lexical.pairs",
	UsageSimilar:            "usage.similar",
	RelatedOwner:            "related.owner",
	RelatedSupply:           "related.supply",
	RelatedNeed:             "related.need",
	QueryVerb:               "query.verb",
	RelatedName:             "related.name",
	RelatedProvider:         "related.provider",
	RelatedProviderName:     "related.provider_name",
	RelatedKnown:            "related.known",
	RelatedRare:             "related.rare",
}

// String returns the feature's name, e.g. "needs.dense.description".
func (f Feature) String() string {
	if f < 0 || f >= FeatureCount {
		return "feature." + strconv.Itoa(int(f))
	}
	return names[f]
}

// Dense reports whether the feature is a cosine.
func (f Feature) Dense() bool {
	return f >= QueryDenseName && f <= QueryDenseExamples || f >= NeedsDenseName && f <= NeedsDenseExamples
}

// Usage reports whether the feature says how tools are used.
func (f Feature) Usage() bool { return f == UsagePrior || f == UsageCoUse || f == UsageSimilar }

// Related reports whether the feature says how a candidate stands to the
// others: it is known only once they are ranked without it.
func (f Feature) Related() bool {
	return f == UsageCoUse || f >= RelatedOwner && f <= RelatedNeed || f >= RelatedName && f <= RelatedRare
}

// FeatureNames returns the name of every feature, in the order of Features.
func FeatureNames() []string { return slices.Clone(names[:]) }

// FeatureNamed returns the feature of that name.
func FeatureNamed(name string) (Feature, bool) {
	i := slices.Index(names[:], name)
	return Feature(i), i >= 0
}

// ByName returns the features that are not zero, by name.
func (f *Features) ByName() map[string]float64 {
	out := make(map[string]float64)
	for i, x := range f {
		if x != 0 {
			out[names[i]] = x
		}
	}
	return out
}
