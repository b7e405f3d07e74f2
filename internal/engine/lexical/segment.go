package lexical

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

const (
	slotBits = 24
	tfMask   = 1<<(32-slotBits) - 1
	maxSlot  = 1<<slotBits - 1
	maxTF    = 254
	restTF   = 255 // of a word of Extra.Rest, which adds nothing to a score
)

// posting says that a term occurs in a document: slot<<8 | tf, and the
// precomputed part of the score that does not depend on the query. 8 bytes.
type posting struct {
	key    uint32
	impact float32
}

func (p posting) slot() uint32 { return p.key >> 8 }

// postings are the lists of one field, all in one array in the order of terms:
// term i has list[start[i]:start[i+1]], in the order of slots.
type postings struct {
	terms []uint64
	start []uint32
	list  []posting
	mean  float64 // the average length that the impacts are made with
}

// find returns the list of a term.
func (p *postings) find(term uint64) []posting {
	i, found := slices.BinarySearch(p.terms, term)
	if !found {
		return nil
	}
	return p.at(i)
}

func (p *postings) at(i int) []posting { return p.list[p.start[i]:p.start[i+1]] }

// sums are the totals of a field that its scores depend on.
type sums struct {
	docs   int    // documents that have the field
	tokens uint64 // their lengths together
}

// mean returns the average length, 1 for no documents.
func (s sums) mean() float64 {
	if s.docs == 0 {
		return 1
	}
	return float64(s.tokens) / float64(s.docs)
}

type fieldSums [FieldCount]sums

func (s fieldSums) plus(o fieldSums) fieldSums {
	for f := range s {
		s[f].docs += o[f].docs
		s[f].tokens += o[f].tokens
	}
	return s
}

// Segment is an immutable part of an index.
type Segment struct {
	slots   []uint32             // its documents, rising
	lengths [FieldCount][]uint32 // their lengths in tokens, parallel to slots
	fields  [FieldCount]postings
	sums    fieldSums
	vocabulary
}

// sum computes the sums from the lengths.
func (s *Segment) sum() {
	for f := range s.lengths {
		for _, n := range s.lengths[f] {
			if n > 0 {
				s.sums[f].docs++
				s.sums[f].tokens += uint64(n)
			}
		}
	}
}

// reversed returns s from its last character to its first.
func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// weigh computes the impacts with the average lengths of total, which includes
// the segment's own.
func (s *Segment) weigh(total fieldSums) {
	if len(s.slots) == 0 {
		return
	}
	first, last := s.slots[0], s.slots[len(s.slots)-1]
	norm := make([]float64, last-first+1) // by slot
	for f := range s.fields {
		field := &s.fields[f]
		field.mean = total[f].mean()
		for i, n := range s.lengths[f] {
			norm[s.slots[i]-first] = k1 * (1 - b + b*float64(n)/field.mean)
		}
		for i, p := range field.list {
			if tf := float64(p.key & tfMask); tf != restTF {
				field.list[i].impact = float32(tf / (tf + norm[p.slot()-first]))
			}
		}
	}
}

// idf is never negative and falls as more of n documents hold the term.
func idf(n, df int) float64 {
	df = min(df, n) // the variants of a term may meet in one document
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

var errDocument = errors.New("lexical: a stored document cannot be read")

// Builder turns documents into segments. The zero Builder is ready. It is for one
// goroutine, and faster for the second segment than for the first.
type Builder struct {
	terms     []uint64
	numbers   map[uint64]uint32 // of the terms
	slots     []uint32
	fields    [FieldCount]fieldBuilder
	words     []string // as written, of some terms
	spelt     []bool   // by the number of a term: whether it is among words
	names     []string
	compounds []string
	document  []uint32 // the numbers of the terms of one document
}

// fieldBuilder is one field of the documents: their lengths, and the terms and keys
// of their postings.
type fieldBuilder struct {
	lengths []uint32
	terms   []uint32
	keys    []uint32
}

// Add adds a document that Analyze made. Slots rise. It fails if the bytes of
// the document are damaged; the Builder is unusable after that.
func (b *Builder) Add(slot uint32, d Document) error {
	if b.numbers == nil {
		b.numbers = map[uint64]uint32{}
	}
	b.slots = append(b.slots, slot)
	in := decoder{rest: d}
	b.document = b.document[:0]
	for range in.count(8) {
		term := binary.LittleEndian.Uint64(in.take(8))
		number, known := b.numbers[term]
		if !known {
			number = uint32(len(b.terms))
			b.numbers[term], b.terms, b.spelt = number, append(b.terms, term), append(b.spelt, false)
		}
		b.document = append(b.document, number)
	}
	for f := range b.fields {
		field := &b.fields[f]
		field.lengths = append(field.lengths, uint32(in.uvarint()))
		for range in.count(2) {
			term, count := in.uvarint(), in.take(1)
			if term >= uint64(len(b.document)) || in.bad || count[0] == 0 {
				return errDocument
			}
			field.terms = append(field.terms, b.document[term])
			field.keys = append(field.keys, slot<<8|uint32(count[0]))
		}
	}
	for range in.count(2) {
		place, word := in.uvarint(), in.text()
		if place >= uint64(len(b.document)) {
			return errDocument
		}
		if number := b.document[place]; !b.spelt[number] {
			b.spelt[number] = true
			b.words = append(b.words, string(word))
		}
	}
	for _, list := range []*[]string{&b.names, &b.compounds} {
		for range in.count(1) {
			*list = append(*list, string(in.text()))
		}
	}
	if in.bad || len(in.rest) > 0 {
		return errDocument
	}
	return nil
}

// Segment returns the documents that were added since the last call.
func (b *Builder) Segment() *Segment {
	s := &Segment{slots: slices.Clone(b.slots)}
	sorted := slices.Sorted(slices.Values(b.terms))
	rank := make([]uint32, len(sorted)) // by number
	for i, term := range sorted {
		rank[b.numbers[term]] = uint32(i)
	}
	for f := range b.fields {
		field := &b.fields[f]
		s.lengths[f] = slices.Clone(field.lengths)
		s.fields[f] = field.invert(sorted, rank)
		field.lengths, field.terms, field.keys = field.lengths[:0], field.terms[:0], field.keys[:0]
	}
	s.sum()
	s.vocabulary = newVocabulary(b.words, b.names, b.compounds)
	clear(b.numbers)
	b.terms, b.slots, b.spelt, b.words, b.names, b.compounds = b.terms[:0], b.slots[:0], b.spelt[:0], nil, nil, nil
	return s
}

// invert turns the field's postings, in the order of documents, into lists by the
// rank of their terms.
func (b *fieldBuilder) invert(sorted []uint64, rank []uint32) postings {
	next := make([]uint32, len(sorted)+1)
	for _, term := range b.terms {
		next[rank[term]+1]++
	}
	distinct := 0
	for i := range sorted {
		if next[i+1] > 0 {
			distinct++
		}
		next[i+1] += next[i]
	}
	p := postings{terms: make([]uint64, 0, distinct), start: make([]uint32, 1, distinct+1), list: make([]posting, len(b.keys))}
	for i, term := range sorted {
		if next[i+1] > next[i] {
			p.terms, p.start = append(p.terms, term), append(p.start, next[i+1])
		}
	}
	for i, term := range b.terms {
		at := &next[rank[term]]
		p.list[*at].key = b.keys[i]
		*at++
	}
	return p
}

// decoder takes values off the front. Once one is missing it is bad, and all
// that follow are zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return x
}

// count reads how many values follow that take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/size) {
		d.bad, d.rest = true, nil
		return 0
	}
	return int(n)
}

// text reads a length and so many bytes.
func (d *decoder) text() []byte { return d.take(d.count(1)) }
