package static

import (
	"math"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/kit/vector"
)

// Names scores tools by their names, which give the purpose of a tool in a few words and
// are lost among the words of its document. It may be used concurrently.
type Names struct{ model *Model }

// NewNames returns a judge of names by the vectors of a model.
func NewNames(m *Model) *Names { return &Names{m} }

// Learned reports whether the model learned a word of Words.
func (n *Names) Learned(word string) bool {
	_, learned := n.model.words[word]
	return learned
}

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
				default:
					x = n.together(w, vectors)
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

// together returns how much of a run-together word the query says: the squared mean of the square
// roots over its parts, so that the name of a product does not pass for one of its parts.
func (n *Names) together(word string, asked [][]float32) float64 {
	var roots, parts float64
	var vector []float32
	for _, part := range n.parts(word) {
		if !empty(part) {
			vector = n.model.Append(vector[:0], part)
			roots, parts = roots+math.Sqrt(nearest(vector, asked)), parts+1
		}
	}
	if parts == 0 {
		return 0
	}
	return roots / parts * roots / parts
}

const (
	longestWord = 40  // that is taken apart, in bytes
	longestPart = 14  // of it
	commonPairs = 100 // rows: other words of two letters are mostly fragments
	perPart     = 4   // added to the logarithm of a part's rank: fewer parts are likelier
)

// parts returns the likeliest learned words that make up a run-together word, the last first, or
// nil. The rows of a model are in the order of frequency, and the
// probability of a word is taken to fall with its rank.
func (n *Names) parts(word string) []string {
	if len(word) > longestWord {
		return nil
	}
	costs, starts := make([]float64, len(word)+1), make([]int, len(word)+1) // of the prefix of each length, and of its last part
	for end := 1; end <= len(word); end++ {
		costs[end] = math.Inf(1)
		for start := max(0, end-longestPart); start < end-1; start++ {
			row, learned := n.model.words[word[start:end]]
			if !learned || end-start == 2 && row > commonPairs {
				continue
			}
			if cost := costs[start] + perPart + math.Log(float64(row)+2); cost < costs[end] {
				costs[end], starts[end] = cost, start
			}
		}
	}
	if math.IsInf(costs[len(word)], 1) {
		return nil
	}
	var out []string
	for end := len(word); end > 0; end = starts[end] {
		out = append(out, word[starts[end]:end])
	}
	return out
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
