package static

import (
	"context"
	"slices"
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

// nameWeight was sought on two of three labelled sets and measured on the third:
// decision 0018.
const nameWeight = 0.4

// Weight returns how many standard deviations of the scores one of Score counts: a name
// alone decides nothing.
func (n *Names) Weight() float64 { return nameWeight }

// Bounds of what is compared, and the cosine that two words have by chance.
const (
	nameWords  = 12
	queryWords = 128
	unlike     = 0.4
)

// Score returns for each text, in order, how much of its name the query says, in the
// same words or in others: the mean over the words of the name, from 0 to 1. The name
// is what stands before the first full stop. It fails only when ctx has ended.
func (n *Names) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	asked := n.asked(query)
	said := map[string]float64{} // what the query says of a word: names share many
	scores := make([]float64, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(s, ". ")
		words := firstWords(name, nameWords, empty)
		var sum float64
		for _, w := range words {
			x, known := said[w]
			if !known {
				x = nearest(n.model.Append(nil, w), asked)
				said[w] = x
			}
			sum += x
		}
		scores[i] = min(1, sum/float64(max(1, len(words)))) // a float32 may say that a word is more than itself
	}
	return scores, nil
}

// asked returns the vectors of the words of a query that say something, each once.
func (n *Names) asked(query string) [][]float32 {
	words := firstWords(query, queryWords, func(w string) bool { return text.StopWord(w) || text.Filler(w) })
	slices.Sort(words)
	var out [][]float32
	for _, w := range slices.Compact(words) {
		out = append(out, n.model.Append(nil, w))
	}
	return out
}

// nearest returns how near the nearest asked word is, from 0 for what is so by chance.
func nearest(word []float32, asked [][]float32) float64 {
	best := float64(unlike)
	for _, a := range asked {
		if len(a) == len(word) { // a word of nothing has no vector
			best = max(best, float64(vector.Dot(word, a)))
		}
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

// firstWords returns the first words of a text, but for those to leave out.
func firstWords(s string, limit int, leaveOut func(string) bool) []string {
	words := slices.DeleteFunc(Words(s), leaveOut)
	return words[:min(len(words), limit)]
}
