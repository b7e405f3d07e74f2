package static

import (
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/vector"
)

// Names judges tools by their names. A name is the shortest text that somebody wrote to
// say what a tool is for, and drowns among the words of its document. It may be used
// concurrently.
type Names struct{ model *Model }

// NewNames returns a judge of names by the vectors of a model.
func NewNames(m *Model) *Names { return &Names{m} }

// queryWords bounds what is read of a query, and unlike is the cosine that two words have
// by chance.
const (
	queryWords = 128
	unlike     = 0.4
)

// For returns a function that tells how much of a name a query says, in the same words or
// in others: the mean over the words of the name, from 0 to 1. A name is words in lower
// case with blanks between them. The function is for one goroutine.
func (n *Names) For(query string) func(name string) float64 {
	asked := n.asked(query)
	const nothing = -1           // of a word that says nothing itself
	said := map[string]float64{} // what the query says of a word: names share many
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
					x = nearest(word, asked.vectors)
				case asked.words[w]: // its letters tell nothing but that it is the same
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

// asked are the words of a query that say something, and the vectors of those that the
// model learned.
type asked struct {
	words   map[string]bool
	vectors [][]float32
}

func (n *Names) asked(query string) asked {
	a := asked{words: map[string]bool{}}
	for _, w := range Words(query) {
		if a.words[w] || text.StopWord(w) || text.Filler(w) || len(a.words) == queryWords {
			continue
		}
		a.words[w] = true
		if _, learned := n.model.words[w]; learned {
			a.vectors = append(a.vectors, n.model.Append(nil, w))
		}
	}
	return a
}

// nearest returns how near the nearest asked word is, from 0 for what is so by chance.
func nearest(word []float32, asked [][]float32) float64 {
	best := float64(unlike)
	for _, a := range asked {
		best = max(best, float64(vector.Dot(word, a)))
	}
	return (best - unlike) / (1 - unlike)
}

// empty reports whether a word of a name says nothing of the tool's subject: whoever
// asks for data says it in one of these words, and means the others as well.
func empty(word string) bool {
	switch word {
	case "get", "find", "fetch", "retrieve", "search", "show", "give", "tell", "provide":
		return true
	}
	return text.StopWord(word)
}
