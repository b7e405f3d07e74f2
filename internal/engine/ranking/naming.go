package ranking

import (
	"maps"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// ProviderWords returns the stems of the words of a provider's id, each once. That takes
// microseconds, and a search meets a hundred providers: callers keep them.
func ProviderWords(id string) []string {
	var out []string
	for _, word := range text.Tokens(text.Split(id)) {
		if stem := text.Stem(word); !slices.Contains(out, stem) {
			out = append(out, stem)
		}
	}
	return out
}

// Naming returns a function that returns the words of a provider that a query contains. Users name
// the product ("a card on my Trello board"), and the tools of others may match all the rest. Words
// for actions do not name a provider: "open a ticket" does not mean Open Banking.
func Naming(query string) func(provider []string) []string {
	asked := map[string]bool{}
	for _, word := range text.Tokens(text.Split(query)) {
		if len(word) > 1 && !text.StopWord(word) && !text.Filler(word) && verbs[word] == nil && heads[word] == nil {
			asked[text.Stem(word)] = true
		}
	}
	return func(provider []string) (said []string) {
		for _, word := range provider {
			if asked[word] {
				said = append(said, word)
			}
		}
		return said
	}
}

// setNamedProviders sets, for each candidate, its share of the words that name providers. A word
// counts the more the fewer providers of the best tools have it: a word that all of them have
// distinguishes them no more than a word that no provider has.
func setNamedProviders(rs []Ranked, best []*Ranked) {
	naming := map[string][]string{}
	for _, r := range best {
		if owner := Owner(&r.Candidate); owner != "" {
			naming[owner] = r.Naming
		}
	}
	having := map[string]float64{} // providers, by word
	for _, words := range naming {
		for _, word := range words {
			having[word]++
		}
	}
	weights := map[string]float64{}
	for word, n := range having {
		weights[word] = math.Log(float64(len(naming)) / n)
	}
	var all float64
	for _, word := range slices.Sorted(maps.Keys(weights)) {
		all += weights[word]
	}
	if all == 0 {
		return
	}
	for i := range rs {
		for _, word := range rs[i].Naming {
			rs[i].Features[fusion.RelatedProviderName] += weights[word] / all
		}
	}
}
