package static

import (
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/kit/vector"
)

// Names scores tools by their names, which give the purpose of a tool in a few words and
// are lost among the words of its document. It may be used concurrently.
type Names struct{ model *Model }

// NewNames returns a judge of names by the vectors of a model.
func NewNames(m *Model) *Names { return &Names{m} }

// queryWords bounds the words of a query, and unlike is the cosine of two words by chance.
const (
	queryWords = 128
	unlike     = 0.4
)

// For returns a function that scores how much of a name a query says, in the same words or
// in others: the mean over the words of the name, from 0 to 1. A name is words in lower
// case with blanks between them. The function is for one goroutine.
func (n *Names) For(query string) func(name string) float64 {
	asked := map[string]bool{} // the meaningful words of the query
	var vectors [][]float32    // of the asked words that the model learned
	for _, w := range Words(query) {
		if asked[w] || text.StopWord(w) || text.Filler(w) || len(asked) == queryWords {
			continue
		}
		asked[w] = true
		if _, learned := n.model.words[w]; learned {
			vectors = append(vectors, n.model.Append(nil, w))
		}
	}
	const nothing = -1           // of an empty word
	said := map[string]float64{} // scores of words: names share many
	var word []float32
	return func(name string) float64 {
		var sum, words float64
		for w := range strings.SplitSeq(name, " ") {
			x, known := said[w]
			if !known {
				switch _, learned := n.model.words[w]; {
				case w == "" || empty(w):
					x = nothing
				case learned:
					word = n.model.Append(word[:0], w)
					x = nearest(word, vectors)
				case asked[w]: // its letters tell nothing but that it is the same
					x = 1
				}
				said[w] = x
			}
			if x != nothing {
				sum, words = sum+x, words+1
			}
		}
		return min(1, sum/max(1, words)) // a float32 may say that a word is more than itself
	}
}

// nearest returns the similarity of the nearest asked word, from 0 for chance to 1.
func nearest(word []float32, vectors [][]float32) float64 {
	best := float64(unlike)
	for _, a := range vectors {
		best = max(best, float64(vector.Dot(word, a)))
	}
	return (best - unlike) / (1 - unlike)
}

// empty reports whether a word of a name says nothing about the tool's subject: these
// words all ask for data.
func empty(word string) bool {
	switch word {
	case "get", "find", "fetch", "retrieve", "search", "show", "give", "tell", "provide":
		return true
	}
	return text.StopWord(word)
}
