package ranking

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
)

func TestNaming(t *testing.T) {
	naming := Naming("put a new card on the board of my Trello")
	for provider, want := range map[string][]string{
		"@delorenj/mcp-server-trello": {"trello"},
		"boardsOfTrello":              {"board", "trello"},
		"on-my-a":                     nil,
		"github":                      nil,
		"new-put":                     nil,
		"":                            nil,
	} {
		if got := naming(ProviderWords(provider)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", provider, got, want)
		}
	}
}

func TestANamedProviderCountsTheMoreTheFewerAreNamedAlike(t *testing.T) {
	candidates := []index.Candidate{
		tool("a", "trello server", 4), tool("b", "miro server", 3), tool("c", "trello server", 2), tool("d", "github", 1), tool("e", "", 1),
	}
	related := func(query string) []float64 {
		naming, out := Naming(query), []float64(nil)
		for i := range candidates {
			candidates[i].Naming = naming(ProviderWords(candidates[i].Provider))
		}
		for _, f := range Features(candidates, &fusion.Model{}, Signals{}) {
			out = append(out, f[fusion.RelatedProviderName])
		}
		return out
	}
	if got := related("a card for Trello"); !slices.Equal(got, []float64{1, 0, 1, 0, 0}) {
		t.Errorf("one provider is named: %v", got)
	}
	if got := related("the card server of Trello"); got[0] != 1 || got[1] <= 0 || got[1] >= .5 || got[3] != 0 {
		t.Errorf("servers are more than Trello's: %v", got)
	}
	if got := related("a card"); slices.Max(got) != 0 {
		t.Errorf("none is named: %v", got)
	}
	candidates = candidates[:1]
	if got := related("a card for Trello"); got[0] != 0 {
		t.Errorf("there is but one provider: %v", got)
	}
}
