// Package provenance compares raw documents with the standardized ones that were
// made of them: where in the source each sentence of a field comes from, which
// texts of the source stand in no field, and why.
//
// It is computed from the two documents alone. Nothing of it is stored but the
// share of the prose that is covered.
package provenance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxText bounds how many bytes of one string are looked for.
const maxText = 64 << 10

// Finder finds the texts of a source in a document.
type Finder struct{ index *index }

// NewFinder returns a finder for the document as it is.
func NewFinder(doc *schema.Document) *Finder { return &Finder{newIndex(doc)} }

// Add makes a text that a field is given known.
func (f *Finder) Add(s string) { f.index.add("added", -1, s) }

// Count returns how many words s has, and whether they stand in a field in a row.
func (f *Finder) Count(s string) (words int, found bool) {
	found = f.index.find(s) >= 0
	return count(f.index.buf), found
}

// Sentences returns the sentences of a source's text as they stand in fields.
func Sentences(s string) []string { return text.Sentences(text.Clean(text.Truncate(s, maxText))) }

// FoldWords returns the words of a text in lower case: texts that differ in nothing else
// are the same.
func FoldWords(s string) string { return string(appendWords(nil, s)) }

// FoldedSet returns the set of what FoldWords makes of texts.
func FoldedSet(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, s := range texts {
		set[FoldWords(s)] = true
	}
	return set
}

// Missing returns the sentences of s, cleaned, that may stand in a field and do not. That
// s may as a whole is known.
func (f *Finder) Missing(s string) (lost []string) {
	sentences := Sentences(s)
	for _, sentence := range sentences {
		if !f.index.holds(sentence) && (len(sentences) == 1 || ReasonOf(sentence) == "") {
			lost = append(lost, sentence)
		}
	}
	return lost
}

// WithoutRepeats returns a text without the sentences of three words or more that stand
// in it once more, by themselves or inside a longer one.
func WithoutRepeats(s string) string {
	sentences := text.Sentences(s)
	if len(sentences) < 2 {
		return s
	}
	all := []byte{0}
	kept := make([][]byte, len(sentences))
	for i, sentence := range sentences {
		kept[i] = appendWords(nil, sentence)
		all = append(append(all, kept[i]...), 0)
	}
	repeated := false
	for i := len(sentences) - 1; i >= 0; i-- {
		if count(kept[i]) >= minWords && bytes.Count(all, kept[i]) > 1 {
			whole := slices.Concat([]byte{0}, kept[i], []byte{0})
			at := bytes.LastIndex(all, whole)
			all = slices.Delete(all, at, at+len(whole)-1)
			sentences[i], repeated = "", true
		}
	}
	if !repeated {
		return s
	}
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// clauses splits a sentence where it is taken apart when it is standardized.
func clauses(sentence string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(sentence, " - ", ";"), func(r rune) bool {
		return strings.ContainsRune(":;,()[]|`\"“”«»{}=<>*•–—", r)
	})
}

// holds reports whether a sentence stands in the document, as a whole or taken apart.
func (x *index) holds(sentence string) bool {
	if !Says(sentence) || x.holdsClause(sentence) {
		return true
	}
	for _, clause := range clauses(sentence) {
		if !x.holdsClause(clause) {
			return false
		}
	}
	return true
}

// holdsClause reports whether a clause stands in the document, or is nothing but whole
// texts of it and words that mark them: "city The name of the city Returns".
func (x *index) holdsClause(clause string) bool {
	if x.find(clause) >= 0 {
		return true
	}
	words := bytes.Clone(x.buf[1:])
	for len(words) > 0 {
		n := x.wholeText(words)
		if n == 0 {
			if n = bytes.IndexByte(words, ' ') + 1; !marks[string(words[:n-1])] {
				return false
			}
		}
		words = words[n:]
	}
	return true
}

// marks are the words by which texts say which part of the document follows.
var marks = text.WordSet("args arg arguments argument parameters parameter params param inputs input returns yields response output outputs " +
	"examples example keyword required optional default defaults type types description name value note notes usage " +
	"yes no int integer str string float number bool boolean list dict array object any none null of or")
