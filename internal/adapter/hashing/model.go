// Package hashing embeds texts without any model file: words and their letter
// n-grams are hashed into a fixed number of signed dimensions (feature hashing:
// Weinberger et al. 2009, "Feature hashing for large scale multitask
// learning"). It knows spelling and no meaning: it finds inflected, compounded
// and misspelt words, and lets every other part of the system run with vectors
// where nothing better is installed.
//
// Tokens and stems are made here and not with the rest of the text handling,
// because they are part of what the model's name promises: the same text has
// the same vector as long as the name is the same.
package hashing

import (
	"context"
	"math"
	"slices"
	"sync"
)

const (
	name       = "hashing-256-v1"
	dimensions = 256

	wordDims = 4    // dimensions that a word is spread over
	gramMass = 0.75 // weight of all n-grams of a word against the word itself
	damped   = 0.1  // weight of a word that says nothing by itself
	minGram  = 3
	maxGram  = 5
)

// Model is the hashing embedder. It is pure and may be used concurrently.
type Model struct {
	scratch sync.Pool // of *scratch
}

// New returns the model.
func New() *Model {
	return &Model{scratch: sync.Pool{New: func() any { return new(scratch) }}}
}

// Name identifies the model and everything its vectors depend on.
func (m *Model) Name() string { return name }

// Dimensions is the length of every vector.
func (m *Model) Dimensions() int { return dimensions }

// Embed returns a unit vector for each text, nil for a text without a letter
// or digit. It fails only when ctx has ended.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = s.embed(text)
	}
	return out, nil
}

// scratch is the memory of one call.
type scratch struct {
	letters []byte // of all words of a text, one after the other
	words   []word
	sums    [dimensions]float64
}

// word is a stemmed word of the text that is being embedded.
type word struct {
	hash       uint64
	start, end int // in letters
}

// embed sums the features of every distinct word. Words are taken in the order
// of their hashes, so that the sum does not depend on the order of the text.
func (s *scratch) embed(text string) []float32 {
	s.letters, s.words = s.letters[:0], s.words[:0]
	s.sums = [dimensions]float64{}
	s.split(text)
	slices.SortFunc(s.words, func(a, b word) int {
		if a.hash < b.hash {
			return -1
		}
		if a.hash > b.hash {
			return 1
		}
		return 0
	})
	for i := 0; i < len(s.words); {
		n := i + 1
		for n < len(s.words) && s.words[n].hash == s.words[i].hash {
			n++
		}
		s.add(s.words[i], n-i)
		i = n
	}
	return s.unit()
}

// add adds a word that occurs n times: 1 + ln n, as the tenth mention says
// little more than the ninth.
func (s *scratch) add(w word, n int) {
	letters := s.letters[w.start:w.end]
	weight := 1 + math.Log(float64(n))
	if stopWord(string(letters)) {
		weight *= damped
	}
	h := w.hash
	for range wordDims {
		s.put(h, weight/math.Sqrt(wordDims))
		h = mix(h)
	}
	if grams := countGrams(letters); grams > 0 {
		s.addGrams(letters, weight*gramMass/math.Sqrt(float64(grams)))
	}
}

// addGrams adds each n-gram of the word between its marks, "<word>", with the
// given weight. The word as a whole is not among them: it has its own feature.
func (s *scratch) addGrams(letters []byte, weight float64) {
	for size := minGram; size <= maxGram; size++ {
		for g := range grams(letters, size) {
			s.put(g, weight)
		}
	}
}

// put adds weight at the dimension and with the sign that h chooses.
func (s *scratch) put(h uint64, weight float64) {
	if h&(1<<63) != 0 {
		weight = -weight
	}
	s.sums[h%dimensions] += weight
}

// unit returns the sums at length 1, nil where there are none. Signed features
// can cancel each other out exactly; then too nothing is left to compare.
func (s *scratch) unit() []float32 {
	var square float64
	for _, x := range s.sums {
		square += x * x
	}
	if square == 0 {
		return nil
	}
	norm := math.Sqrt(square)
	out := make([]float32, dimensions)
	for i, x := range s.sums {
		out[i] = float32(x / norm)
	}
	return out
}
