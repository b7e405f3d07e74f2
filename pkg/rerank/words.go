package rerank

import (
	"hash/fnv"
	"iter"
	"math"
	"slices"
)

// Words is a set of words, each by its 32-bit FNV-1a hash, in rising order: the
// texts of two tools are compared thousands of times in a search, and kept for
// the next one.
type Words []uint32

// WordsOf returns the set of these words.
func WordsOf(words []string) Words {
	out := make(Words, len(words))
	for i, w := range words {
		h := fnv.New32a()
		h.Write([]byte(w)) // never fails
		out[i] = h.Sum32()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Has reports whether a word is in the set.
func (w Words) Has(word string) bool {
	_, found := slices.BinarySearch(w, WordsOf([]string{word})[0])
	return found
}

// common runs through the words that both hold.
func (w Words) common(other Words) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, j := 0, 0; i < len(w) && j < len(other); {
			switch {
			case w[i] < other[j]:
				i++
			case w[i] > other[j]:
				j++
			case !yield(w[i]):
				return
			default:
				i, j = i+1, j+1
			}
		}
	}
}

// shared returns how many words both hold.
func (w Words) shared(other Words) (n int) {
	for range w.common(other) {
		n++
	}
	return n
}

// similarity is the cosine of two sets of words.
func similarity(a, b Words) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return float64(a.shared(b)) / math.Sqrt(float64(len(a))*float64(len(b)))
}
