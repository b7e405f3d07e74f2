package ranking

import (
	"maps"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/text"
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

// Naming returns a function that tells which of a provider's words a query says. Users
// name the product ("a card on my Trello board"), and the tools of others may say all the
// rest.
func Naming(query string) func(provider []string) []string {
	asked := map[string]bool{}
	for _, word := range text.Tokens(text.Split(query)) {
		if len(word) > 1 && !text.StopWord(word) && !text.Filler(word) {
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

// namedProviders sets which share of the words that name providers names that of each
// candidate. A word counts the more the fewer providers of the best tools have it: one that
// all of them have tells them apart no more than one that none has.
func namedProviders(rs []Ranked, best []*Ranked) {
	naming := map[string][]string{}
	for _, r := range best {
		if owner := Owner(&r.Candidate); owner != "" {
			naming[owner] = r.Naming
		}
	}
	weights := rarity(naming)
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

// rarity returns for each word how few of the keys have it: the logarithm of their number
// to that of those which do.
func rarity(words map[string][]string) map[string]float64 {
	out := map[string]float64{}
	for _, some := range words {
		for _, word := range some {
			out[word]++
		}
	}
	for word, having := range out {
		out[word] = math.Log(float64(len(words)) / having)
	}
	return out
}
