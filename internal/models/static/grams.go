package static

import "unicode/utf8"

// The lengths in characters of the n-grams of a word between its marks,
// "<word>".
const (
	minGram = 3
	maxGram = 5
)

// Buckets returns which of n buckets the n-grams of a word fall into, in order;
// there is at least one.
func Buckets(word string, n int) []uint32 {
	var g grams
	return g.buckets([]byte(word), n)
}

// grams hashes the n-grams of words. It keeps its memory from word to word.
type grams struct {
	marked []byte
	starts []int // of the characters in marked, and its end
	out    []uint32
}

// buckets is Buckets; its result is valid until the next call.
func (g *grams) buckets(word []byte, n int) []uint32 {
	g.marked = append(append(append(g.marked[:0], '<'), word...), '>')
	g.starts, g.out = g.starts[:0], g.out[:0]
	for i := range g.marked {
		if utf8.RuneStart(g.marked[i]) {
			g.starts = append(g.starts, i)
		}
	}
	g.starts = append(g.starts, len(g.marked))
	for size := minGram; size <= maxGram; size++ {
		for i := 0; i+size < len(g.starts); i++ {
			g.out = append(g.out, bucket(g.marked[g.starts[i]:g.starts[i+size]], n))
		}
	}
	if len(g.out) == 0 {
		g.out = append(g.out, bucket(g.marked, n))
	}
	return g.out
}

// bucket is FNV-1a's 32-bit hash, modulo n.
func bucket(b []byte, n int) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h % uint32(n)
}
