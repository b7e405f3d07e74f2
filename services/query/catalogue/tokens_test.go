package catalogue

import (
	"strings"
	"sync"
	"testing"
)

// The figures are those that OpenAI's cookbook, "How to count tokens with tiktoken", has for
// o200k_base.
func TestTokensAreCountedAsOpenAICounts(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "tiktoken is great!": 6, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 8,
	} {
		if got := CountTokens(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}

// A text without breaks, which nobody writes but to be slow, is counted all the same, by several
// at once.
func TestLongWordsAreCounted(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, letter := range []string{"a", "é", "=", " ", "\xff"} {
				if n := CountTokens(strings.Repeat(letter, 20_000)); n < 100 || n > 20_000 {
					t.Errorf("%d tokens of %q", n, letter)
				}
			}
		})
	}
	wg.Wait()
}
