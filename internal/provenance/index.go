package provenance

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// place is one text of a document.
type place struct {
	part       string // of a parameter, or of the document
	parameter  int    // -1 for a part of the document
	start, end int    // of its words in the index
}

// maxScanned bounds the bytes that are looked through for one document.
const maxScanned = 256 << 20

// index holds the words of all texts of a document.
type index struct {
	doc     *schema.Document
	words   []byte
	places  []place
	whole   map[uint64]int      // place by the hash of its words
	begins  map[string][]string // texts and their sentences by their first word; nil until it is asked for
	scanned int
	buf     []byte
}

var seed = maphash.MakeSeed()

// newIndex reads the texts of a document, those that are searched before names.
func newIndex(doc *schema.Document) *index {
	x := &index{doc: doc, whole: map[uint64]int{}}
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

func (x *index) add(part string, parameter int, s string) {
	if s == "" {
		return
	}
	start := len(x.words) + 1
	x.words = appendWords(append(x.words, 0), s)
	x.places = append(x.places, place{part, parameter, start, len(x.words)})
	hash := maphash.Bytes(seed, x.words[start:])
	if _, known := x.whole[hash]; !known {
		x.whole[hash] = len(x.places) - 1
		if x.begins != nil {
			x.begin(x.words[start:])
		}
	}
}

// find returns the first place in which the words of s stand in a row, -1 if none.
func (x *index) find(s string) int {
	x.buf = appendWords(x.buf[:0], s)
	if i, ok := x.whole[maphash.Bytes(seed, x.buf)]; ok {
		return i
	}
	if x.scanned += len(x.words); x.scanned > maxScanned {
		return -1
	}
	if at := bytes.Index(x.words, x.buf); at >= 0 {
		return x.placeAt(at)
	}
	return -1
}

// all returns the places in which the words of s stand in a row, each once.
func (x *index) all(s string) (places []int) {
	words := appendWords(nil, s)
	for from := 0; ; {
		at := bytes.Index(x.words[from:], words)
		if at < 0 {
			return places
		}
		i := x.placeAt(from + at)
		if len(places) == 0 || places[len(places)-1] != i {
			places = append(places, i)
		}
		from = max(from+at+1, x.places[i].end)
	}
}

func (x *index) placeAt(at int) int {
	i, _ := slices.BinarySearchFunc(x.places, at, func(p place, at int) int { return cmp.Compare(p.start, at+1) })
	return i - 1
}

// field names the field of a place: "description", "parameters/city/description".
func (x *index) field(i int) string {
	p := x.places[i]
	if p.parameter < 0 {
		return p.part
	}
	return "parameters/" + x.doc.Parameters[p.parameter].Name + "/" + p.part
}

func (x *index) begin(words []byte) {
	text := string(words[1:])
	if word, _, ok := strings.Cut(text, " "); ok {
		x.begins[word] = append(x.begins[word], text)
	}
}

// beginSentences adds the sentences of a text that has several.
func (x *index) beginSentences(s string) {
	if all := text.Sentences(s); len(all) > 1 {
		for _, sentence := range all {
			x.begin(appendWords(nil, sentence))
		}
	}
}

// wholeText returns the length of the longest text of the document, or sentence of one,
// that words begin with, 0 if none.
func (x *index) wholeText(words []byte) int {
	if x.begins == nil {
		x.begins = map[string][]string{}
		for _, p := range x.places {
			x.begin(x.words[p.start:p.end])
		}
		x.beginSentences(x.doc.Description)
		x.beginSentences(x.doc.Response)
		for i := range x.doc.Parameters {
			x.beginSentences(x.doc.Parameters[i].Description)
		}
	}
	longest := 0
	for _, text := range x.begins[string(words[:bytes.IndexByte(words, ' ')])] {
		if len(text) > longest && len(text) <= len(words) && string(words[:len(text)]) == text {
			longest = len(text)
		}
	}
	return longest
}

// folded has the ASCII letters and digits in lower case; all else is 0.
var folded = func() (t [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			t[c] = c
		case 'A' <= c && c <= 'Z':
			t[c] = c + 'a' - 'A'
		}
	}
	return t
}()

// appendWords appends the words of s in lower case, with a space before, between and
// after them. Letters of scripts without spaces are words by themselves.
func appendWords(b []byte, s string) []byte {
	b = append(b, ' ')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if i++; folded[c] != 0 {
				b = append(b, folded[c])
			} else {
				b = endWord(b)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case Wide(r):
			b = append(utf8.AppendRune(endWord(b), r), ' ')
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			b = utf8.AppendRune(b, unicode.ToLower(r))
		default:
			b = endWord(b)
		}
	}
	return endWord(b)
}

// count counts the words that appendWords has written.
func count(words []byte) int { return bytes.Count(words, []byte{' '}) - 1 }

func endWord(b []byte) []byte {
	if b[len(b)-1] != ' ' {
		b = append(b, ' ')
	}
	return b
}

// Wide reports letters of scripts that do not put spaces between words.
func Wide(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
