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

// denseWeight is the value of one unit of cosine similarity in raw BM25, over query and needs,
// names and whole documents together.
//
// It was measured best for a trained static embedder, and the optimum is flat:
// half or double costs less than .01 NDCG@10.
const denseWeight = 16

// ownerWeight is the bonus of the best tool of all for the other tools of its owner: about a
// third of its own score. Twice as much still gains if all relevant tools have one owner, and
// loses if they have several.
const ownerWeight = 8

// supplyWeight is the bonus of the front runners for a tool without a score of its own that
// alone supplies the parameters of all of them. More would gain if such tools are relevant, and
// lose if names are shared by chance.
const supplyWeight = 40

// needWeight is the bonus for the best tool for one of several needs, as a share of the best
// score of all. More gains little if relevant tools have several owners, and nothing otherwise.
const needWeight = 0.4

// The weights of a tool's name: nameWeight is for one spread of the scores, so that it means
// the same in every registry. verbWeight is the penalty for another action on the same thing.
const (
	nameWeight = 0.3
	verbWeight = -4
)

// providerWeight is the weight of the cosine of the query and a provider's own document if
// providers are ranked. Twice as much gains for single steps and loses for long texts.
const providerWeight = 2 * denseWeight

// providerNameWeight is the bonus for tools of the provider that the query names. A third less
// finds fewer of them, and a third more finds no others.
const providerNameWeight = 6

// knownWeight puts a tool whose name is the query before all others. With rareWeight a word that
// one tool alone has outweighs resemblance if it is the whole query.
const (
	knownWeight = 2
	rareWeight  = 1
)

// The bonuses for use, as soon as feedback reports any: use for the same query counts about as
// much as the texts can, and use together with a front runner a fraction of that. With every
// label counted this is nearly the whole gain of learning from labels, on every set that was
// measured; half as much again finds more if the same is asked often, and loses if it seldom is.
const (
	similarWeight = 20
	coUseWeight   = 3
)

// Builtin returns the weights that serve until something is learned.
//
// Raw BM25 of the whole document, words as written and stemmed, and of the
// name, at .4, .4 and .2, and of pairs of neighbouring words in the name at .3;
// the same again for the best clause of the query, which finds the tools of
// requests that need several; and the cosine of name and whole document, half
// for the whole query and half for its best clause.
//
// Further features compare the names of tool and provider, and relate a tool to the others: the
// best score of its owner's tools, the parameters that it supplies to the front runners, and
// how near it comes to the best for one of several needs.
//
// Use for similar queries, and together with the front runners, counts from the first use on.
// The number of uses by itself does not count.
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
	m.Features[RelatedKnown], m.Features[RelatedRare] = knownWeight, rareWeight
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
// as `toolstream-lab tune` makes them: a file for a tier, named after what the names
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
// name, until something is learned: the weights of its tier, or Builtin without a tier.
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
