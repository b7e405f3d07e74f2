package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// vocabulary is the number of different words in made-up tools.
const vocabulary = 20_000

// maker makes up tools whose words are distributed as in prose: few are
// frequent, most are rare (Zipf, exponent 1.1).
type maker struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newMaker(seed uint64) *maker {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &maker{rng: rng, zipf: rand.NewZipf(rng, 1.1, 4, vocabulary-1)}
}

// word is a pronounceable word for a rank, the same for the same rank. It has two syllables
// or more: with "me" in it, half of the tools would be taken for requests and held back.
func word(rank uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for rank += 70; rank > 0; rank /= uint64(len(consonants) * len(vowels)) {
		syllable := rank % uint64(len(consonants)*len(vowels))
		b.WriteByte(consonants[syllable%uint64(len(consonants))])
		b.WriteByte(vowels[syllable/uint64(len(consonants))])
	}
	return b.String()
}

func (m *maker) words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = word(m.zipf.Uint64())
	}
	return strings.Join(out, " ")
}

// tools writes n made-up MCP tools as JSON Lines. The edition tells versions of
// the same tools apart.
func (m *maker) tools(n, edition int) []byte {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for i := range n {
		properties := map[string]any{}
		for range 1 + m.rng.IntN(5) {
			properties[word(m.zipf.Uint64())] = map[string]string{"type": "string", "description": m.words(4)}
		}
		// Only maps, strings and numbers: it always encodes.
		_ = lines.Encode(map[string]any{
			"id": fmt.Sprintf("bench/%d", i), "provider": fmt.Sprintf("provider %d", i/20),
			"document": map[string]any{
				"name":        fmt.Sprintf("%s_%s", word(m.zipf.Uint64()), word(m.zipf.Uint64())),
				"description": fmt.Sprintf("%s. Edition %d.", m.words(8+m.rng.IntN(20)), edition),
				"inputSchema": map[string]any{"type": "object", "properties": properties},
			},
		})
	}
	return b.Bytes()
}

func (m *maker) queries(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = m.words(8)
	}
	return out
}
