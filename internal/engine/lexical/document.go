package lexical

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// languageMarker begins a term that marks a document with words of a language.
const languageMarker = "\x03"

// The beginnings of terms that mark a document with a name, in the field Name.
const (
	nameMarker    = "\x04" // of its key
	writtenMarker = "\x05" // as written
)

const (
	minCompound = 8 // bytes of a compound
	minSpelt    = 4 // bytes of a word that a misspelt word may be read as
)

// Document is the indexed form of a document, ready to be stored: its terms, each
// once, and how often each occurs in each field. It is immutable.
//
// Its bytes: the number of terms and the hash of each; then by field its length in
// words, the number of terms in it, and of each of these its place among the terms
// and how often it occurs, at most maxTF; then the number of words as written, and of
// each its place among the terms and the word; then the names, and the words that may be
// compounds. Every string has its length in front. Numbers are varints, hashes
// little-endian.
type Document []byte

// hash returns the hash FNV-1a of a term.
func hash(term string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * prime
	}
	return h
}

// Extra is what else a document is found by.
type Extra struct {
	Names []string // that ask for it and nothing else
	Rest  string   // its words say that the document holds them, and count for no score
}

// Analyze makes a document of its texts. The texts of Stem and Pairs are ignored.
func (x *Index) Analyze(texts *[FieldCount]string, extra Extra) Document {
	var words [FieldCount][]text.Word
	for f, s := range texts {
		if Field(f) != Stem && Field(f) != Pairs {
			words[f] = text.Words(s)
		}
	}
	words[Stem], words[Pairs] = words[Flat], words[Name]
	r := reader{stem: x.stem, numbers: map[uint64]int{}}
	// The longest text is the best evidence of the language.
	r.languages, _ = text.Detect(slices.MaxFunc(words[:], func(a, b []text.Word) int { return len(a) - len(b) }))
	for f := range Pairs {
		r.current = &r.fields[f]
		r.field(f, words[f])
	}
	r.current = &r.fields[Pairs]
	pairs(words[Pairs], r.own, r.count)
	r.rest(text.Words(extra.Rest))
	r.current = &r.fields[Name]
	for _, name := range extra.Names {
		if key := nameKey(name); key != "" {
			r.addTerm(nameMarker + key)
			r.addTerm(writtenMarker + strings.TrimSpace(name))
			r.names = append(r.names, key)
		}
	}
	return r.document()
}

// reader turns the words of one document into terms.
type reader struct {
	stem      func(string) string
	languages text.Languages
	terms     []uint64
	numbers   map[uint64]int // of the terms
	words     []spelt
	names     []string
	compounds []string
	fields    [FieldCount]fieldCounts
	current   *fieldCounts
}

// spelt is a word as written, and the number of its term.
type spelt struct {
	number int
	word   string
}

// fieldCounts is how often each term occurs in a field.
type fieldCounts struct {
	counts   []uint8 // by the number of the term
	distinct int
	length   int // in words
}

// document returns the stored form of the document.
func (r *reader) document() Document {
	b := binary.AppendUvarint(nil, uint64(len(r.terms)))
	for _, term := range r.terms {
		b = binary.LittleEndian.AppendUint64(b, term)
	}
	for i := range r.fields {
		f := &r.fields[i]
		b = binary.AppendUvarint(b, uint64(f.length))
		b = binary.AppendUvarint(b, uint64(f.distinct))
		for term, count := range f.counts {
			if count > 0 {
				b = append(binary.AppendUvarint(b, uint64(term)), count)
			}
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.words)))
	for _, w := range r.words {
		b = appendText(binary.AppendUvarint(b, uint64(w.number)), w.word)
	}
	for _, list := range [][]string{r.names, r.compounds} {
		slices.Sort(list)
		list = slices.Compact(list)
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// field adds the words of a field.
func (r *reader) field(f Field, words []text.Word) {
	for i := range words {
		w := &words[i]
		if text.StopWord(w.Text) {
			continue
		}
		if f.stemmed() && w.Spaced() {
			r.stems(f, w)
			continue
		}
		if f == Flat && !r.has(w.Text) {
			r.spelling(w)
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
		r.addTerm(first)
		r.addTerm(second)
	}
}

// spelling keeps a word that a misspelt word may be read as. Its term follows.
func (r *reader) spelling(w *text.Word) {
	if w.Spaced() && len(w.Text) >= minSpelt && text.Alphabetic(w.Text) {
		r.words = append(r.words, spelt{r.number(w.Text), w.Text})
	}
}

// rest adds the words that the fields lack.
func (r *reader) rest(words []text.Word) {
	flat, stem := &r.fields[Flat], &r.fields[Stem]
	for i := range words {
		w := &words[i]
		if text.StopWord(w.Text) {
			continue
		}
		if r.current = flat; !r.has(w.Text) {
			r.spelling(w)
		}
		r.addOnce(w.Text)
		r.addOnce(w.Plain)
		if r.current = stem; w.Spaced() {
			r.addOnce(r.own(w))
		} else {
			r.addOnce(w.Text)
		}
	}
}

// addOnce adds a term that the current field lacks.
func (r *reader) addOnce(term string) {
	if term != "" && !r.has(term) {
		r.addTerm(term)
		r.current.counts[r.number(term)] = restTF
	}
}

// has reports whether the current field has a term.
func (r *reader) has(term string) bool {
	number, known := r.numbers[hash(term)]
	return known && number < len(r.current.counts) && r.current.counts[number] > 0
}

// own returns the stem of a word in the language of the document.
func (r *reader) own(w *text.Word) string {
	if l := r.languages[w.Script]; l != "" && l != text.English {
		return w.StemIn(l)
	}
	return r.stem(w.Plain)
}

// stems adds the stems of a word, and the terms that find it as a compound.
func (r *reader) stems(f Field, w *text.Word) {
	own := r.own(w)
	r.count(own)
	l := r.languages[w.Script]
	if l == "" || l == text.English {
		return
	}
	if plain := w.PlainStemIn(l); plain != own {
		r.addTerm(plain)
	}
	if english := r.stem(w.Plain); english != own {
		r.addTerm(english)
	}
	if f == Stem {
		r.addTerm(languageMarker + string(l))
	}
	if l.Compounds() && len(own) >= minCompound {
		r.compounds = append(r.compounds, own)
	}
}

func (r *reader) count(term string) {
	r.addTerm(term)
	r.current.length++
}

// addTerm adds a term that does not count for the length of the field, unless it is empty.
func (r *reader) addTerm(term string) {
	if term == "" {
		return
	}
	number, f := r.number(term), r.current
	for len(f.counts) <= number {
		f.counts = append(f.counts, 0)
	}
	if f.counts[number] == 0 {
		f.distinct++
	}
	if f.counts[number] < maxTF {
		f.counts[number]++
	}
}

// number returns the number of a term, from now on if it has none.
func (r *reader) number(term string) int {
	h := hash(term)
	number, known := r.numbers[h]
	if !known {
		number = len(r.terms)
		r.numbers[h], r.terms = number, append(r.terms, h)
	}
	return number
}

// pairs calls found with every pair of neighbours among the words, less stop words:
// both stems, with a byte between that no word holds. Words of scripts without
// spaces are pairs of characters already: they have no neighbours.
func pairs(words []text.Word, stem func(*text.Word) string, found func(term string)) {
	before := ""
	for i := range words {
		w := &words[i]
		if text.StopWord(w.Text) {
			continue
		}
		own := ""
		if w.Spaced() {
			own = stem(w)
		}
		if before != "" && own != "" {
			found(before + "\x00" + own)
		}
		before = own
	}
}
