package llm

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/kit/vector"
)

// Vectors returns unit vectors of texts, with nil for a text without known words.
type Vectors interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Reference is the texts of a request, to compare an answer with: the vectors of their parts, and
// the words of all.
type Reference struct {
	language text.Language
	vectors  Vectors
	parts    [][]float32
	words    map[string]bool // stems
}

// NewReference returns a reference for texts in a language, "" for English: their words, and the vectors
// of their parts. Without vectors, only words count.
func NewReference(v Vectors, language text.Language, words string, parts ...string) *Reference {
	if language == "" {
		language = text.English
	}
	r := &Reference{language: language, vectors: v, words: map[string]bool{}}
	if v != nil {
		r.parts, _ = v.Embed(context.Background(), parts) // fails with its context only
	}
	for _, w := range r.Stems(words) {
		r.words[w] = true
	}
	return r
}

// Stems returns the stems of the content words of a text, in the language of the reference.
func (r *Reference) Stems(said string) (out []string) {
	for _, w := range text.Words(said) {
		if !text.StopWord(w.Text) && !text.Filler(w.Text) && !w.FunctionWord(r.language) {
			stem := []rune(w.StemIn(r.language))
			if r.language != text.English { // stemmers remove different endings, and compounds continue differently
				stem = stem[:min(len(stem), 5)]
			}
			out = append(out, string(stem))
		}
	}
	return out
}

// Unrelated reports whether a text shares no word with the reference and its cosine to all parts
// of the reference, and to others, is below least. Without vectors, a text of at least byWords
// words is strange by its words alone; never if byWords is 0, because different words may mean
// the same.
func (r *Reference) Unrelated(said string, least float64, byWords int, others ...string) bool {
	words := r.Stems(said)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return r.words[w] }) {
		return false
	}
	if r.vectors == nil {
		return byWords > 0 && len(words) >= byWords
	}
	vectors, err := r.vectors.Embed(context.Background(), append([]string{said}, others...))
	if err != nil {
		return false
	}
	readable := false
	for _, part := range append(slices.Clone(r.parts), vectors[1:]...) {
		if len(part) == 0 || len(vectors[0]) == 0 {
			continue
		}
		readable = true
		if float64(vector.Dot(part, vectors[0])) >= least {
			return false
		}
	}
	return readable || byWords > 0 && len(words) >= byWords
}

// HighestCosine returns the highest cosine of a text to others, at least 0, and false without vectors.
func (r *Reference) HighestCosine(said string, others ...string) (most float64, ok bool) {
	if r.vectors == nil {
		return 0, false
	}
	vectors, err := r.vectors.Embed(context.Background(), append([]string{said}, others...))
	if err != nil || len(vectors[0]) == 0 {
		return 0, false
	}
	for _, v := range vectors[1:] {
		if len(v) > 0 {
			most, ok = max(most, float64(vector.Dot(v, vectors[0]))), true
		}
	}
	return most, ok
}

// Trigrams are the runs of three words of a prompt.
type Trigrams map[[3]string]bool

// TrigramsOf returns the trigrams of a text.
func TrigramsOf(s string) Trigrams {
	words := text.Words(s)
	out := Trigrams{}
	for i := 2; i < len(words); i++ {
		out[[3]string{words[i-2].Text, words[i-1].Text, words[i].Text}] = true
	}
	return out
}

// Repeats reports whether at least n trigrams of a text, and three in ten, occur in the prompt.
func (p Trigrams) Repeats(said string, n int) bool {
	found, of := 0, 0
	for run := range TrigramsOf(said) {
		if of++; p[run] {
			found++
		}
	}
	return found >= n && found*10 >= of*3
}
