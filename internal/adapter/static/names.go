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
	asked := n.vectors(query, queryWords, func(w string) bool { return text.StopWord(w) || text.Filler(w) })
	scores := make([]float64, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(s, ". ")
		scores[i] = said(n.vectors(name, nameWords, empty), asked)
	}
	return scores, nil
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

// vectors returns the vectors of the first words of a text, but for those to leave out.
func (n *Names) vectors(s string, limit int, leaveOut func(string) bool) [][]float32 {
	words := slices.DeleteFunc(Words(s), leaveOut)
	out := make([][]float32, 0, limit)
	for _, w := range words[:min(len(words), limit)] {
		out = append(out, n.model.Append(nil, w))
	}
	return out
}

// said returns the mean over the words of a name of how near the nearest asked one is.
func said(name, asked [][]float32) float64 {
	var sum float64
	for _, word := range name {
		best := float64(unlike)
		for _, a := range asked {
			if len(a) == len(word) { // a word of nothing has no vector
				best = max(best, float64(vector.Dot(word, a)))
			}
		}
		sum += (best - unlike) / (1 - unlike)
	}
	return min(1, sum/float64(max(1, len(name)))) // a float32 may say that a word is more than itself
}
