package grounding

import (
	"context"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// Vectors tells by unit vectors what texts are about: nil for one that it cannot
// read.
type Vectors interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Below these a text shares too little with the source, if it has no word of it
// either. They stand below what good answers of the corpus reach.
const (
	leastDescription = 0.35 // cosine of a description
	leastClause      = 0.3  // of a clause that adds something to it
	leastExample     = 0.08 // of a request, which may use other words altogether
)

// fewWords are too few to tell whether they are about something.
const fewWords = 3

// manyWords are enough to tell by words alone: a good description of a short
// source may have none of its.
const manyWords = 8

// meaning is what a source is about: its parts, one by one and together.
type meaning struct {
	vectors Vectors
	parts   [][]float32
	words   map[string]bool // stems
}

func (s *Source) readMeaning(v Vectors) {
	d := s.doc
	about := text.Split(d.Name) + ". " + d.Title + ". " + d.Description
	all := []string{about, d.Response}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		all = append(all, text.Split(p.Name)+": "+p.Description+" "+strings.Join(p.Enum, " "))
	}
	all = append(append(all, strings.Join(all, " ")), text.Sentences(d.Description)...)
	s.meaning = meaning{vectors: v, words: map[string]bool{}}
	if v != nil {
		s.meaning.parts, _ = v.Embed(context.Background(), all) // fails with its context only
	}
	for _, w := range s.stems(s.text + " " + text.Split(s.original)) {
		s.meaning.words[w] = true
	}
}

// stems returns the stems of the words of a text that say something, in the language of the source.
func (s *Source) stems(said string) (out []string) {
	language := text.Language(s.doc.Language)
	if language == "" {
		language = text.English
	}
	for _, w := range text.Words(said) {
		if !text.StopWord(w.Text) && !text.Filler(w.Text) && !w.FunctionWord(language) {
			stem := []rune(w.StemIn(language))
			if language != text.English { // stemmers differ in what they take off, and compounds in what follows
				stem = stem[:min(len(stem), 5)]
			}
			out = append(out, string(stem))
		}
	}
	return out
}

// strange reports whether a text has no word of the source, and is by its vector
// further from all of its parts, and from others, than least. Where there are no
// vectors, words decide unless they may be other ones for the same.
func (s *Source) strange(said string, least float64, byWords int, others ...string) bool {
	words := s.stems(said)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return s.meaning.words[w] }) {
		return false
	}
	if s.meaning.vectors == nil {
		return byWords > 0 && len(words) >= byWords
	}
	vectors, err := s.meaning.vectors.Embed(context.Background(), append([]string{said}, others...))
	if err != nil {
		return false
	}
	readable := false
	for _, part := range append(slices.Clone(s.meaning.parts), vectors[1:]...) {
		if len(part) == 0 || len(vectors[0]) == 0 {
			continue
		}
		readable = true
		if cosine(part, vectors[0]) >= least {
			return false
		}
	}
	return readable || byWords > 0 && len(words) >= byWords
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// and begins a clause that adds something.
var and = []string{"and ", "und ", "et ", "y ", "e ", "en ", "i ", "ve ", "oraz ", "还", "并", "同时", "また"}

// sharesTooLittle returns what a description says that the source, in the same
// language, has nothing of.
func (c *checker) sharesTooLittle(said string) string {
	s := c.source
	if languageOf(said, s.language()) != s.language() {
		return ""
	}
	if len(s.stems(s.doc.Description)) >= fewWords && s.strange(said, leastDescription, manyWords) {
		return said
	}
	for _, clause := range text.Clauses(said) {
		adds := slices.ContainsFunc(and, func(w string) bool { return strings.HasPrefix(strings.ToLower(clause), w) })
		if adds && len(s.stems(clause)) > fewWords && s.strange(clause, leastClause, fewWords+1) {
			return clause
		}
	}
	return ""
}

var instructed = threes(prompts.System())

// echoes reports whether a text repeats the instructions of the prompt.
func echoes(said string) bool {
	n, of := 0, 0
	for three := range threes(said) {
		if of++; instructed[three] {
			n++
		}
	}
	return n >= 3 && n*10 >= of*3
}

func threes(s string) map[[3]string]bool {
	words := text.Words(s)
	out := map[[3]string]bool{}
	for i := 2; i < len(words); i++ {
		out[[3]string{words[i-2].Text, words[i-1].Text, words[i].Text}] = true
	}
	return out
}
