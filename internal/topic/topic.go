// Package topic tells whether a text is about what other texts are about: by the words
// that they share and by their vectors. What a language model says is held against what
// it was asked about.
package topic

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/vector"
)

// Vectors tells by unit vectors what texts are about: nil for one that it cannot
// read.
type Vectors interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Topic is what some texts are about: their parts, one by one, and the words of all.
type Topic struct {
	language text.Language
	vectors  Vectors
	parts    [][]float32
	words    map[string]bool // stems
}

// New returns the topic of texts in a language, "" for English, by their words and the
// vectors of their parts. Without vectors, words alone tell it.
func New(v Vectors, language text.Language, words string, parts ...string) *Topic {
	if language == "" {
		language = text.English
	}
	t := &Topic{language: language, vectors: v, words: map[string]bool{}}
	if v != nil {
		t.parts, _ = v.Embed(context.Background(), parts) // fails with its context only
	}
	for _, w := range t.Stems(words) {
		t.words[w] = true
	}
	return t
}

// Stems returns the stems of the words of a text that say something, in the language of
// the topic.
func (t *Topic) Stems(said string) (out []string) {
	for _, w := range text.Words(said) {
		if !text.StopWord(w.Text) && !text.Filler(w.Text) && !w.FunctionWord(t.language) {
			stem := []rune(w.StemIn(t.language))
			if t.language != text.English { // stemmers differ in what they take off, and compounds in what follows
				stem = stem[:min(len(stem), 5)]
			}
			out = append(out, string(stem))
		}
	}
	return out
}

// Strange reports whether a text has no word of the topic, and is by its vector further
// from all of its parts, and from others, than the cosine least. Where there are no
// vectors, a text of byWords words is strange by them alone; none is where that is 0, as
// they may be other words for the same.
func (t *Topic) Strange(said string, least float64, byWords int, others ...string) bool {
	words := t.Stems(said)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return t.words[w] }) {
		return false
	}
	if t.vectors == nil {
		return byWords > 0 && len(words) >= byWords
	}
	vectors, err := t.vectors.Embed(context.Background(), append([]string{said}, others...))
	if err != nil {
		return false
	}
	readable := false
	for _, part := range append(slices.Clone(t.parts), vectors[1:]...) {
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

// Alike returns the highest cosine of a text to others, at least 0, and false where no
// vectors can tell.
func (t *Topic) Alike(said string, others ...string) (most float64, ok bool) {
	if t.vectors == nil {
		return 0, false
	}
	vectors, err := t.vectors.Embed(context.Background(), append([]string{said}, others...))
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

// Prompt is the runs of three words of what a language model is told.
type Prompt map[[3]string]bool

// PromptOf returns those of a text.
func PromptOf(s string) Prompt {
	words := text.Words(s)
	out := Prompt{}
	for i := 2; i < len(words); i++ {
		out[[3]string{words[i-2].Text, words[i-1].Text, words[i].Text}] = true
	}
	return out
}

// Repeats reports whether at least n runs of a text, and three in ten, are the prompt's.
func (p Prompt) Repeats(said string, n int) bool {
	found, of := 0, 0
	for run := range PromptOf(said) {
		if of++; p[run] {
			found++
		}
	}
	return found >= n && found*10 >= of*3
}
