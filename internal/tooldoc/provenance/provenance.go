// Package provenance compares a raw document with the standardized document that was made
// of it: where in the source each sentence of a field comes from, which texts of the source
// are in no field, and why.
//
// It works from the two documents alone. Nothing of it is stored except the share of the
// prose that is covered.
//
// source.go walks the raw document, reasons.go says what belongs in no field, finder.go
// finds texts in the standardized document, and trace.go and where.go join the two.
package provenance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// minWords is how many words make a text that must not be lost.
const minWords = 3

// maxText bounds how many bytes of one string are searched.
const maxText = 64 << 10

// Sentences returns the sentences of a source's text as fields have them.
func Sentences(s string) []string { return text.Sentences(text.Clean(text.Truncate(s, maxText))) }

// WithoutRepeats returns a text without the sentences of three words or more that it has a
// second time, by themselves or inside a longer sentence.
func WithoutRepeats(s string) string {
	sentences := text.Sentences(s)
	if len(sentences) < 2 {
		return s
	}
	all := []byte{0}
	words := make([][]byte, len(sentences))
	for i, sentence := range sentences {
		words[i] = appendWords(nil, sentence)
		all = append(append(all, words[i]...), 0)
	}
	repeated := false
	for i := len(sentences) - 1; i >= 0; i-- {
		if count(words[i]) >= minWords && bytes.Count(all, words[i]) > 1 {
			whole := slices.Concat([]byte{0}, words[i], []byte{0})
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
