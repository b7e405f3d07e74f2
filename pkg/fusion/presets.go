package fusion

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// The named presets.
const (
	BuiltinName   = "builtin"
	HeuristicName = "heuristic"
)

// steepness is alpha of the gate, fixed in arXiv 2602.05366.
const steepness = 15

// denseWeight is what one unit of cosine similarity is worth against raw BM25,
// over query and needs, names and whole documents together.
//
// It was measured best for a trained static embedder, and the optimum is flat:
// half or double costs less than .01 NDCG@10.
const denseWeight = 16

// ownerWeight is what the best tool of all lends to the others of its owner:
// about a third of its own score. Twice as much still gains where all tools that
// are wanted are of one owner, and loses where they are of several.
const ownerWeight = 8

// supplyWeight is what the front runners lend to a tool that alone supplies what
// all of them take, were it worth nothing by itself. More would gain where such
// tools are wanted and lose where a name is shared by chance.
const supplyWeight = 40

// needWeight is what being the best for one of several needs lends to a tool, as a
// share of the best score of all. More gains little where tools of several owners are
// wanted, and nothing elsewhere.
const needWeight = 0.4

// What the name of a tool says: nameWeight is for one spread of the scores, so it means
// the same in every registry. verbWeight is what a tool
// costs that does something else with the same thing.
const (
	nameWeight = 0.3
	verbWeight = -4
)

// providerWeight is what a unit of the cosine of the query and a provider's own document
// is worth where providers are ranked. Twice as much gains for single steps and loses for
// long texts.
const providerWeight = 2 * denseWeight

// providerNameWeight is what being of the provider that the query names lends to a tool. A
// third less finds fewer of them, and a third more finds no others.
const providerNameWeight = 6

// What use lends to a tool, as soon as feedback tells of any: having been used for
// the same query, about what its texts can, and being used whenever a front runner
// is, a fraction of that. With every label counted this is nearly all that learning
// from them brings, on every set that was measured; half as much again finds more
// where the same is asked often and loses where it seldom is.
const (
	similarWeight = 20
	coUseWeight   = 3
)

// Builtin returns the weights that serve as long as nothing is learned.
//
// Raw BM25 of the whole document, words as written and stemmed, and of the
// name, at .4, .4 and .2, and of pairs of neighbouring words in the name at .3;
// the same again for the best clause of the query, which finds the tools of
// requests that need several; and the cosine of name and whole document, half
// for the whole query and half for its best clause.
//
// Beside them stand what the names of tool and provider say, and three that relate a tool to the others: the best
// score among those of its owner, what it supplies to the front runners, and how near it comes
// to the best for one of several needs.
//
// What is used for alike queries, and together with the front runners, counts from
// the first use on. How much a tool is used by itself does not.
//
// Whole-document features lead: without labels they rank better than the four
// fields apart, on every set that was measured.
//
// Arguments that a caller states bring the penalty in: a missing required parameter
// costs a quarter of the best score, an optional one decides between equals.
func Builtin() schema.Weights {
	m := Model{Version: BuiltinName, Tau: 0.3, Alpha: steepness, Required: 0.25, Optional: 0.001, Shares: true}
	for _, lexical := range [][4]Feature{
		{QueryLexicalFlat, QueryLexicalStem, QueryLexicalName, QueryLexicalPairs},
		{NeedsLexicalFlat, NeedsLexicalStem, NeedsLexicalName, NeedsLexicalPairs},
	} {
		for i, weight := range []float64{0.4, 0.4, 0.2, 0.3} {
			m.Features[lexical[i]] = weight
		}
	}
	// The best measured form takes the better of name and whole document; a
	// linear model comes closest to it by sharing the weight between them.
	for _, f := range []Feature{QueryDenseName, QueryDenseFlat, NeedsDenseName, NeedsDenseFlat} {
		m.Features[f] = denseWeight / 4.
	}
	m.Features[RelatedOwner], m.Features[RelatedSupply], m.Features[RelatedNeed] = ownerWeight, supplyWeight, needWeight
	m.Features[RelatedName], m.Features[QueryVerb] = nameWeight, verbWeight
	m.Features[RelatedProvider], m.Features[RelatedProviderName] = providerWeight, providerNameWeight
	m.Features[UsageSimilar], m.Features[UsageCoUse] = similarWeight, coUseWeight
	return preset(m, "measured default: whole documents, query and best clause")
}

// Heuristic returns the weights that the authors of arXiv 2602.05366 publish
// for use without training, on the dense scores of the rewritten needs.
func Heuristic() schema.Weights {
	m := Model{Version: HeuristicName, Tau: 0.5, Alpha: steepness, Required: 1, Optional: 0.3}
	m.Features[NeedsDenseDescription] = 0.35
	m.Features[NeedsDenseExamples] = 0.25
	m.Features[NeedsDenseParameters] = 0.25
	m.Features[NeedsDenseResponse] = 0.15
	return preset(m, "published heuristic of arXiv 2602.05366")
}

// tiers holds the weights that were searched for with one embedding model each,
// as `toolstream tune` makes them: a file for a tier, named after what the names
// of its models hold.
//
//go:embed presets/*.json
var tiers embed.FS

// tierNames returns the tiers that have weights of their own, in string order.
func tierNames() []string {
	entries, _ := tiers.ReadDir("presets") // embedded: it is there
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	return names
}

// BuiltinFor returns the weights that serve with an embedding model, by its
// name, as long as nothing is learned: those of its tier, or Builtin where it is
// of none.
func BuiltinFor(model string) schema.Weights {
	for _, name := range tierNames() {
		if strings.Contains(model, name) {
			return tier(name)
		}
	}
	return Builtin()
}

// tier reads the weights of a tier; every one is read in a test. What the file
// does not say, the penalty, is as in Builtin.
func tier(name string) schema.Weights {
	w := Builtin()
	w.Features = nil
	raw, _ := tiers.ReadFile(path.Join("presets", name+".json"))
	_ = json.Unmarshal(raw, &w)
	w.Version = BuiltinName
	w.Hash, _ = w.ContentHash()
	return w
}

// Preset returns the preset of that name: builtin, heuristic, or the weights of
// a tier of embedding models.
func Preset(name string) (schema.Weights, error) {
	switch {
	case name == BuiltinName:
		return Builtin(), nil
	case name == HeuristicName:
		return Heuristic(), nil
	case slices.Contains(tierNames(), name):
		return tier(name), nil
	}
	known := append([]string{BuiltinName, HeuristicName}, tierNames()...)
	return schema.Weights{}, fmt.Errorf("no preset %q: have %s", name, strings.Join(known, ", "))
}

// preset seals a model of this file; every one of them is sealed in a test.
func preset(m Model, source string) schema.Weights {
	w := m.Weights()
	w.Source = source
	w.Hash, _ = w.ContentHash() // fails on numbers that are not finite only
	return w
}
