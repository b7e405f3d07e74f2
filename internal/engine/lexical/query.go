package lexical

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// Analyze returns the terms of a query for the field: the terms of its words as indexed, without
// words that only phrase a request. A query that has only such words keeps them. The terms are
// valid for this snapshot: the variants of a word depend on its documents.
func (s *Snapshot) Analyze(f Field, query string) Terms {
	a := inquiry{snapshot: s, field: f}
	words := text.Words(text.Split(query))
	a.languages, a.sure = text.Detect(words)
	said := slices.DeleteFunc(slices.Clone(words), func(w text.Word) bool {
		return text.StopWord(w.Text) || w.Filler() || a.sure[w.Script] && w.FunctionWord(a.languages[w.Script])
	})
	if len(said) == 0 {
		said = words
	}
	if f != Pairs {
		return a.terms(said)
	}
	d := newDistinct(len(said))
	pairs(said, a.stem, func(term string) {
		if !d.there[term] {
			d.add(Term{Text: term})
		}
	})
	return d.terms
}

// inquiry is one query on its way to terms.
type inquiry struct {
	snapshot  *Snapshot
	field     Field
	languages text.Languages
	sure      text.Sure
}

// distinct are terms, each once.
type distinct struct {
	terms Terms
	there map[string]bool
}

func newDistinct(room int) distinct {
	return distinct{make(Terms, 0, room), make(map[string]bool, room)}
}

// add adds a term that is not there.
func (d *distinct) add(t Term) {
	d.there[t.Text] = true
	d.terms = append(d.terms, t)
}

// terms returns the distinct terms of the words.
func (a *inquiry) terms(words []text.Word) Terms {
	d := newDistinct(len(words))
	add := func(term string, w *text.Word) {
		if !d.there[term] {
			d.add(Term{Text: term, Also: a.variants(term, w)})
		}
	}
	for i := range words {
		w := &words[i]
		switch {
		case text.StopWord(w.Text):
		case a.field.stemmed() && w.Spaced():
			add(a.stem(w), w)
		default:
			add(w.Text, w)
			if w.Plain != w.Text {
				add(w.Plain, w)
			}
		}
	}
	return d.terms
}

// stem returns the term that a word has first in a stemmed field.
func (a *inquiry) stem(w *text.Word) string {
	if l := a.languages[w.Script]; l != "" {
		return w.StemIn(l)
	}
	return text.Stem(w.Plain)
}

// variants returns other forms of a word in the documents, or nil for an index of English
// documents and for an English query.
func (a *inquiry) variants(term string, w *text.Word) []Variant {
	if len(a.snapshot.languages) == 0 || !w.Spaced() || a.sure[w.Script] && a.languages[w.Script] == text.English {
		return nil
	}
	v := variants{seen: []string{term}}
	if spelt := umlauts.Replace(w.Plain); spelt != w.Plain {
		a.spelt(&v, text.Word{Text: spelt, Plain: spelt, Script: w.Script})
	}
	if w.Text != w.Plain {
		spelt := unfolded.Replace(w.Text)
		a.spelt(&v, text.Word{Text: spelt, Plain: spelt, Script: w.Script})
	}
	if !a.field.stemmed() {
		return v.list
	}
	for _, l := range a.candidates(w) {
		own := term
		if l != a.languages[w.Script] {
			own = w.StemIn(l)
			v.add(own, 1)
		}
		if w.Plain != w.Text {
			v.add(w.PlainStemIn(l), 1)
		}
		if l.Compounds() {
			a.compounds(&v, w, own, l)
		}
	}
	v.add(text.Stem(w.Plain), 1)
	return v.list
}

// spelt adds a word in another spelling if the index knows it.
func (a *inquiry) spelt(v *variants, w text.Word) {
	if !a.field.stemmed() {
		if a.snapshot.knows(w.Text) {
			v.add(w.Text, 1)
		}
		return
	}
	for _, l := range a.candidates(&w) {
		if stem := w.StemIn(l); a.snapshot.knows(stem) {
			v.add(stem, 1)
		}
	}
}

// German is also typed without umlauts.
var (
	umlauts  = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")
	unfolded = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")
)

// maxCandidates bounds the languages that a query is taken to be in.
const maxCandidates = 6

// candidates returns the languages that a word of the query may be in: the
// query's, or all languages of the index if the query's is unclear.
func (a *inquiry) candidates(w *text.Word) []text.Language {
	if a.sure[w.Script] {
		return []text.Language{a.languages[w.Script]}
	}
	var out []text.Language
	for _, l := range a.snapshot.languages {
		if l.Script() == w.Script && len(out) < maxCandidates {
			out = append(out, l)
		}
	}
	return out
}

// variants collects variants, each once.
type variants struct {
	seen []string
	list []Variant
}

func (v *variants) add(term string, weight float32) {
	if !slices.Contains(v.seen, term) {
		v.seen = append(v.seen, term)
		v.list = append(v.list, Variant{term, weight})
	}
}

// speaks returns the languages other than English that occur in the parts,
// the most frequent first.
func speaks(parts []part) []text.Language {
	var out []text.Language
	documents := map[text.Language]int{}
	for _, l := range text.Stemmed() {
		for _, p := range parts {
			documents[l] += len(p.fields[Stem].find(hash(languageMarker + string(l))))
		}
		if documents[l] > 0 {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b text.Language) int { return documents[b] - documents[a] })
	return out
}

// knows reports whether the index holds the term, as a word or as a stem.
func (s *Snapshot) knows(term string) bool {
	key := hash(term)
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.fields[Flat].find(key) != nil || p.fields[Stem].find(key) != nil })
}
