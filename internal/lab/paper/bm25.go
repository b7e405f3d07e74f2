package paper

import (
	"math"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// The variant that arXiv 2602.05366 and its baselines report: an idf that is never negative, no
// constant factor, words of two characters and more in lower case without Lucene's English stop
// words, every occurrence in a query counting. It serves nothing (see internal/engine/lexical):
// published figures hold for exactly this.
const (
	k1 = 1.5
	b  = 0.75
)

// Corpus is a list of texts, ready to be searched. It does not change; any
// number of searches may use it at a time.
type Corpus struct {
	texts    int
	postings map[string][]posting
}

// posting is the addition to a text's score for each occurrence of the word in a query.
type posting struct {
	text  int
	score float64
}

// NewCorpus returns the corpus of texts. Empty texts count in the number of texts and in their
// mean length.
func NewCorpus(texts []string) *Corpus {
	c := &Corpus{texts: len(texts), postings: map[string][]posting{}}
	lengths := make([]float64, len(texts))
	var total float64
	for i, t := range texts {
		words := Tokens(t)
		lengths[i] = float64(len(words))
		total += lengths[i]
		for _, word := range words {
			list := c.postings[word]
			if last := len(list) - 1; last >= 0 && list[last].text == i {
				list[last].score++
				continue
			}
			c.postings[word] = append(list, posting{i, 1})
		}
	}
	for _, list := range c.postings {
		mean := total / float64(len(texts))
		df := float64(len(list))
		idf := math.Log1p((float64(c.texts) - df + 0.5) / (df + 0.5))
		for i, p := range list {
			norm := k1 * (1 - b + b*lengths[p.text]/mean)
			list[i].score = idf * p.score / (p.score + norm)
		}
	}
	return c
}

// Scores returns the score of every text for a query, in the order of the
// texts.
func (c *Corpus) Scores(query string) []float64 {
	scores := make([]float64, c.texts)
	for _, word := range Tokens(query) {
		for _, p := range c.postings[word] {
			scores[p.text] += p.score
		}
	}
	return scores
}

// Tokens returns the words of s: runs of at least two letters, digits and
// underscores, in lower case, without stop words. It is the pattern
// `\b\w\w+\b` of Python on Unicode text.
func Tokens(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)) })
	kept := words[:0]
	for _, word := range words {
		if several(word) && !text.StopWord(word) {
			kept = append(kept, word)
		}
	}
	return kept
}

// several reports whether a word has more than one character.
func several(word string) bool {
	for i := range word {
		if i > 0 {
			return true
		}
	}
	return false
}
