package lexical

import (
	"slices"

	"github.com/toolstream/toolstream/internal/text"
)

// What begins with one of these bytes is no word, but says something of one.
const (
	forward  = "\x01" // a word that may be a compound
	backward = "\x02" // the same, read from its end
	spoken   = "\x03" // a language that the document has words of
)

// minCompound is the length in bytes from which a word may be a compound.
const minCompound = 8

// document is what is indexed of one.
type document struct {
	slot    uint32
	terms   [FieldCount]Terms
	lengths [FieldCount]int
}

// read makes a document of its texts. stem is text.Stem.
func (c Config) read(slot uint32, texts *[FieldCount]string, stem func(string) string) *document {
	d := &document{slot: slot}
	var words [FieldCount][]text.Word
	for f, s := range texts {
		if Field(f) != Stem && Field(f) != Pairs {
			words[f] = c.words(s)
		}
	}
	words[Stem], words[Pairs] = words[Flat], words[Name]
	r := reader{config: c, stem: stem}
	if c.Tokens == nil {
		r.languages, _ = text.Detect(longest(words[:]))
	}
	for f := range words {
		d.terms[f], d.lengths[f] = r.field(Field(f), words[f])
	}
	return d
}

// longest returns the longest of some texts: it says most of its language.
func longest(texts [][]text.Word) []text.Word {
	return slices.MaxFunc(texts, func(a, b []text.Word) int { return len(a) - len(b) })
}

// words cuts a text into its words.
func (c Config) words(s string) []text.Word {
	if c.Tokens == nil {
		return text.Words(s)
	}
	tokens := c.Tokens(s)
	words := make([]text.Word, len(tokens))
	for i, t := range tokens {
		words[i] = text.Word{Text: t, Plain: t}
	}
	return words
}

// reader turns the words of one document into terms.
type reader struct {
	config    Config
	stem      func(string) string
	languages text.Languages

	at     map[string]int
	terms  Terms
	length int
}

// field returns the distinct terms of a field, and how many words it has.
func (r *reader) field(f Field, words []text.Word) (Terms, int) {
	r.at, r.terms, r.length = make(map[string]int, len(words)), make(Terms, 0, len(words)), 0
	if f == Pairs {
		r.config.pairs(words, r.own, r.count)
		return r.terms, r.length
	}
	for i := range words {
		w := &words[i]
		if !r.config.KeepStopWords && text.StopWord(w.Text) {
			continue
		}
		if r.config.Stemmed[f] && w.Spaced() {
			r.stems(f, w)
			continue
		}
		r.count(w.Text)
		if w.Plain != w.Text {
			r.count(w.Plain)
		}
		var next *text.Word
		if i+1 < len(words) {
			next = &words[i+1]
		}
		first, second := w.Singles(next)
		r.beside(first)
		r.beside(second)
	}
	return r.terms, r.length
}

// own returns the stem of a word in the language of the document.
func (r *reader) own(w *text.Word) string {
	if l := r.languages[w.Script]; l != "" && l != text.English {
		return w.StemIn(l)
	}
	return r.stem(w.Plain)
}

// stems adds the stems of a word, and what finds it as a compound.
func (r *reader) stems(f Field, w *text.Word) {
	own := r.own(w)
	r.count(own)
	l := r.languages[w.Script]
	if l == "" || l == text.English {
		return
	}
	if plain := w.PlainStemIn(l); plain != own {
		r.beside(plain)
	}
	if english := r.stem(w.Plain); english != own {
		r.beside(english)
	}
	if f == Stem {
		r.once(spoken + string(l))
	}
	if l.Compounds() && len(own) >= minCompound {
		r.beside(forward + own)
		r.beside(backward + reversed(own))
	}
}

func (r *reader) count(term string) {
	r.beside(term)
	r.length++
}

// beside adds a term that does not make the field longer, if it is one.
func (r *reader) beside(term string) {
	if term == "" {
		return
	}
	i, seen := r.at[term]
	if !seen {
		i = len(r.terms)
		r.at[term] = i
		r.terms = append(r.terms, Term{Text: term})
	}
	r.terms[i].Count++
}

func (r *reader) once(term string) {
	if _, seen := r.at[term]; !seen {
		r.beside(term)
	}
}

// reversed returns s from its last character to its first.
func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}
