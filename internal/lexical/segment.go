package lexical

import (
	"maps"
	"math"
	"slices"
)

const (
	slotBits = 24
	maxSlot  = 1<<slotBits - 1
	maxTF    = 255
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
	start []uint32
	list  []posting
}

func (p *postings) of(term int) []posting {
	return p.list[p.start[term]:p.start[term+1]]
}

// sums are the totals of a field that its scores depend on.
type sums struct {
	docs   int    // documents that have the field
	tokens uint64 // their lengths together
}

func (s sums) plus(o sums) sums { return sums{s.docs + o.docs, s.tokens + o.tokens} }

// mean returns the average length, 1 if there is none.
func (s sums) mean() float64 {
	if s.docs == 0 {
		return 1
	}
	return float64(s.tokens) / float64(s.docs)
}

type fieldSums [FieldCount]sums

func (s fieldSums) plus(o fieldSums) fieldSums {
	for f := range s {
		s[f] = s[f].plus(o[f])
	}
	return s
}

// segment is an immutable part of an index.
type segment struct {
	terms   dictionary           // of all fields but Pairs
	pairs   pairTable            // the terms of Pairs
	slots   []uint32             // its documents, rising
	lengths [FieldCount][]uint32 // their lengths in tokens, parallel to slots
	fields  [FieldCount]postings
	sums    fieldSums
	means   [FieldCount]float64 // the average lengths that the impacts are made with
}

// find returns the number of a term of the field, or -1.
func (s *segment) find(f Field, term string) int {
	if f == Pairs {
		return s.pairs.find(term)
	}
	return s.terms.find(term)
}

// has reports whether the segment holds the slot, dead or not.
func (s *segment) has(slot uint32) bool {
	_, found := slices.BinarySearch(s.slots, slot)
	return found
}

// sum computes the sums from the lengths.
func (s *segment) sum() {
	s.sums = fieldSums{}
	for f := range s.lengths {
		for _, n := range s.lengths[f] {
			if n > 0 {
				s.sums[f].docs++
				s.sums[f].tokens += uint64(n)
			}
		}
	}
}

// weigh computes the impacts with the average lengths of total, which includes
// the segment's own.
func (s *segment) weigh(c Config, total fieldSums) {
	position := s.positions()
	norm := make([]float64, len(s.slots))
	for f := range s.fields {
		mean := total[f].mean()
		s.means[f] = mean
		for i, n := range s.lengths[f] {
			norm[i] = c.K1 * (1 - c.B + c.B*float64(n)/mean)
		}
		list := s.fields[f].list
		for i, p := range list {
			tf := float64(p.key & maxTF)
			list[i].impact = float32(tf / (tf + norm[position(p.slot())]))
		}
	}
}

// positions returns a function from the segment's slots to their positions:
// by a table where the slots are dense, else by search.
func (s *segment) positions() func(slot uint32) int {
	if len(s.slots) == 0 {
		return nil
	}
	first, last := s.slots[0], s.slots[len(s.slots)-1]
	if int(last-first) > 8*len(s.slots)+1024 {
		return func(slot uint32) int {
			i, _ := slices.BinarySearch(s.slots, slot)
			return i
		}
	}
	table := make([]int32, last-first+1)
	for i, slot := range s.slots {
		table[slot-first] = int32(i)
	}
	return func(slot uint32) int { return int(table[slot-first]) }
}

// idf is never negative and falls as more of n documents hold the term.
func idf(n, df int) float64 {
	df = min(df, n) // the variants of a term may meet in one document
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// newSegment builds a segment of documents in the order of slots, impacts
// still to be weighed.
func newSegment(docs []*document) *segment {
	s := &segment{}
	words, pairs := numbered(docs, Flat, Pairs), numbered(docs, Pairs, FieldCount)
	s.adoptTerms(words, pairs)
	for f := range FieldCount {
		s.lengths[f] = make([]uint32, len(docs))
		numbers := words
		if f == Pairs {
			numbers = pairs
		}
		s.fields[f] = invert(docs, f, numbers)
	}
	s.slots = make([]uint32, len(docs))
	for i, d := range docs {
		s.slots[i] = d.slot
		for f := range s.lengths {
			s.lengths[f][i] = uint32(d.lengths[f])
		}
	}
	s.sum()
	return s
}

// numbered returns the number of each term of the fields from one on to before
// another, in byte order.
func numbered(docs []*document, from, to Field) map[string]int {
	numbers := make(map[string]int)
	for _, d := range docs {
		for f := from; f < to; f++ {
			for _, t := range d.terms[f] {
				numbers[t.Text] = 0
			}
		}
	}
	for i, term := range slices.Sorted(maps.Keys(numbers)) {
		numbers[term] = i
	}
	return numbers
}

// adoptTerms fills the tables of terms by their numbers.
func (s *segment) adoptTerms(words, pairs map[string]int) {
	sorted := make([]string, len(words))
	for term, i := range words {
		sorted[i] = term
	}
	for _, term := range sorted {
		s.terms.add([]byte(term))
	}
	s.terms.index()
	s.pairs = make(pairTable, len(pairs))
	for term, i := range pairs {
		s.pairs[i] = pairKey(term)
	}
}

// invert turns the documents' terms of one field into lists by term.
func invert(docs []*document, f Field, numbers map[string]int) postings {
	p := postings{start: make([]uint32, len(numbers)+1)}
	total := 0
	for _, d := range docs {
		for _, t := range d.terms[f] {
			p.start[numbers[t.Text]+1]++
		}
		total += len(d.terms[f])
	}
	for i := 1; i < len(p.start); i++ {
		p.start[i] += p.start[i-1]
	}
	next := slices.Clone(p.start)
	p.list = make([]posting, total)
	for _, d := range docs {
		for _, t := range d.terms[f] {
			n := numbers[t.Text]
			p.list[next[n]].key = d.slot<<8 | uint32(min(t.Count, maxTF))
			next[n]++
		}
	}
	return p
}

// bytes returns the memory that the segment holds.
func (s *segment) bytes() int64 {
	n := s.terms.bytes() + 8*int64(cap(s.pairs)) + 4*int64(cap(s.slots))
	for f := range s.fields {
		n += 4*int64(cap(s.lengths[f])+cap(s.fields[f].start)) + 8*int64(cap(s.fields[f].list))
	}
	return n
}
