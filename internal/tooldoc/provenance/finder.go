package provenance

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// entry is one text of a document in a finder.
type entry struct {
	part       string // of a parameter, or of the document
	parameter  int    // -1 for a part of the document
	start, end int    // of its words
}

// maxScanned bounds the bytes that are searched for one document.
const maxScanned = 256 << 20

// Finder finds the texts of a source in a document. It holds the words of all texts of the
// document.
type Finder struct {
	doc     *schema.Document
	words   []byte
	entries []entry
	whole   map[uint64]int      // entry by the hash of its words
	starts  map[string][]string // texts and their sentences by their first word; nil until first needed
	scanned int
	buf     []byte
}

var seed = maphash.MakeSeed()

// NewFinder returns a finder for the document as it is. A text in several fields is found in the
// field that is read first.
func NewFinder(doc *schema.Document) *Finder {
	x := &Finder{doc: doc, whole: map[uint64]int{}}
	x.add("description", -1, doc.Description)
	for i := range doc.Parameters {
		p := &doc.Parameters[i]
		x.add("description", i, p.Description)
		x.add("example", i, p.Example)
		x.add("default", i, p.Default)
		for _, v := range p.Enum {
			x.add("enum", i, v)
		}
		x.add("type", i, p.Type)
		x.add("name", i, p.Name)
	}
	x.add("response", -1, doc.Response)
	for _, s := range doc.Examples {
		x.add("examples", -1, s)
	}
	x.add("title", -1, doc.Title)
	x.add("name", -1, doc.Name)
	for _, s := range doc.Tags {
		x.add("tags", -1, s)
	}
	return x
}

func (x *Finder) add(part string, parameter int, s string) {
	if s == "" {
		return
	}
	start := len(x.words) + 1
	x.words = appendWords(append(x.words, 0), s)
	x.entries = append(x.entries, entry{part, parameter, start, len(x.words)})
	hash := maphash.Bytes(seed, x.words[start:])
	if _, known := x.whole[hash]; !known {
		x.whole[hash] = len(x.entries) - 1
		if x.starts != nil {
			x.addStart(x.words[start:])
		}
	}
}

// Add tells the finder of a text that was added to a field.
func (x *Finder) Add(s string) { x.add("added", -1, s) }

// Count returns how many words s has, and whether a field has them in a row.
func (x *Finder) Count(s string) (words int, found bool) {
	found = x.find(s) >= 0
	return count(x.buf), found
}

// Missing returns the sentences of s, cleaned, that belong in a field and are in none. The
// caller has checked that s as a whole belongs in a field.
func (x *Finder) Missing(s string) (lost []string) {
	sentences := Sentences(s)
	for _, sentence := range sentences {
		if !x.holds(sentence) && (len(sentences) == 1 || ReasonOf(sentence) == "") {
			lost = append(lost, sentence)
		}
	}
	return lost
}

// find returns the first entry that has the words of s in a row, or -1.
func (x *Finder) find(s string) int {
	x.buf = appendWords(x.buf[:0], s)
	if i, ok := x.whole[maphash.Bytes(seed, x.buf)]; ok {
		return i
	}
	if x.scanned += len(x.words); x.scanned > maxScanned {
		return -1
	}
	if at := bytes.Index(x.words, x.buf); at >= 0 {
		return x.entryAt(at)
	}
	return -1
}

// all returns the entries that have the words of s in a row, each once.
func (x *Finder) all(s string) (entries []int) {
	words := appendWords(nil, s)
	for from := 0; ; {
		at := bytes.Index(x.words[from:], words)
		if at < 0 {
			return entries
		}
		i := x.entryAt(from + at)
		if len(entries) == 0 || entries[len(entries)-1] != i {
			entries = append(entries, i)
		}
		from = max(from+at+1, x.entries[i].end)
	}
}

func (x *Finder) entryAt(at int) int {
	i, _ := slices.BinarySearchFunc(x.entries, at, func(e entry, at int) int { return cmp.Compare(e.start, at+1) })
	return i - 1
}

// field names the field of an entry: "description", "parameters/city/description".
func (x *Finder) field(i int) string {
	e := x.entries[i]
	if e.parameter < 0 {
		return e.part
	}
	return "parameters/" + x.doc.Parameters[e.parameter].Name + "/" + e.part
}

// clauses splits a sentence at the same marks as the standardizer.
func clauses(sentence string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(sentence, " - ", ";"), func(r rune) bool {
		return strings.ContainsRune(":;,()[]|`\"“”«»{}=<>*•–—", r)
	})
}

// holds reports whether the document has a sentence, as a whole or taken apart.
func (x *Finder) holds(sentence string) bool {
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

// marks are the words that announce the next part of a document in a text.
var marks = text.WordSet("args arg arguments argument parameters parameter params param inputs input returns yields response output outputs " +
	"examples example keyword required optional default defaults type types description name value note notes usage " +
	"yes no int integer str string float number bool boolean list dict array object any none null of or")

// holdsClause reports whether the document has a clause, or the clause consists of whole
// texts of the document and marks: "city The name of the city Returns".
func (x *Finder) holdsClause(clause string) bool {
	if x.find(clause) >= 0 {
		return true
	}
	words := bytes.Clone(x.buf[1:])
	for len(words) > 0 {
		n := x.longestStart(words)
		if n == 0 {
			if n = bytes.IndexByte(words, ' ') + 1; !marks[string(words[:n-1])] {
				return false
			}
		}
		words = words[n:]
	}
	return true
}

// longestStart returns the length of the longest text of the document, or sentence of a
// text, that words start with, or 0.
func (x *Finder) longestStart(words []byte) int {
	if x.starts == nil {
		x.starts = map[string][]string{}
		for _, e := range x.entries {
			x.addStart(x.words[e.start:e.end])
		}
		texts := []string{x.doc.Description, x.doc.Response}
		for i := range x.doc.Parameters {
			texts = append(texts, x.doc.Parameters[i].Description)
		}
		for _, s := range texts {
			if all := text.Sentences(s); len(all) > 1 {
				for _, sentence := range all {
					x.addStart(appendWords(nil, sentence))
				}
			}
		}
	}
	longest := 0
	for _, text := range x.starts[string(words[:bytes.IndexByte(words, ' ')])] {
		if len(text) > longest && len(text) <= len(words) && string(words[:len(text)]) == text {
			longest = len(text)
		}
	}
	return longest
}

func (x *Finder) addStart(words []byte) {
	text := string(words[1:])
	if word, _, ok := strings.Cut(text, " "); ok {
		x.starts[word] = append(x.starts[word], text)
	}
}
