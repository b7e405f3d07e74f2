package lexical

import (
	"cmp"
	"slices"
	"sync"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// Snapshot is the index at one moment. It never changes and is safe for
// concurrent use; taking one costs nothing, and holding one only keeps its
// memory alive.
type Snapshot struct {
	parts []part // a base and a delta, as far as they hold anything
	sums  fieldSums
	slots int
	pool  *sync.Pool // of *[]float32, shared by all snapshots of an index

	languages []text.Language // of its documents, other than English
}

func newSnapshot(parts []part, pool *sync.Pool) *Snapshot {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.live() == 0 })
	s := &Snapshot{parts: parts, pool: pool, languages: speaks(parts)}
	for _, p := range parts {
		s.sums = s.sums.plus(p.sums)
		s.slots = max(s.slots, int(p.slots[len(p.slots)-1])+1)
	}
	return s
}

// Len returns the number of documents that can be found.
func (s *Snapshot) Len() int {
	n := 0
	for _, p := range s.parts {
		n += p.live()
	}
	return n
}

// Bytes returns the memory that the snapshot holds.
func (s *Snapshot) Bytes() int64 {
	n := 0
	for _, p := range s.parts {
		n += 4 * cap(p.slots)
		for f := range p.fields {
			field := &p.fields[f]
			n += 4*cap(p.lengths[f]) + 8*cap(field.terms) + 4*cap(field.start) + 8*cap(field.list)
		}
		n += p.vocabulary.bytes()
	}
	return int64(n)
}

// Query is a list of terms made ready for one field of one snapshot. It is
// immutable.
type Query struct {
	snapshot *Snapshot
	spans    []span
	mass     float64 // sum of the weights of all terms, even if no document holds them
}

// span is the list of one term in one part.
type span struct {
	list   []posting
	weight float32
	dead   slotSet
	term   int     // its place in the query
	rarity float32 // 1 for a term of one document, 1/n of n
}

// Query looks the terms up. Terms that no document holds are dropped.
func (s *Snapshot) Query(f Field, terms Terms) Query {
	q := Query{snapshot: s, spans: make([]span, 0, len(terms)*len(s.parts))}
	for i := range terms {
		term := &terms[i]
		first, df := len(q.spans), q.look(f, term.Text, 1)
		for _, v := range term.Also {
			df += q.look(f, v.Text, v.Weight)
		}
		weight := float32(idf(s.sums[f].docs, df))
		q.mass += float64(weight)
		for at := first; at < len(q.spans); at++ {
			q.spans[at].weight *= weight
			q.spans[at].term, q.spans[at].rarity = i, 1/float32(df)
		}
	}
	return q
}

// look adds the lists of a term and returns how long they are together.
func (q *Query) look(f Field, term string, weight float32) (df int) {
	key := hash(term)
	for _, p := range q.snapshot.parts {
		if list := p.fields[f].find(key); len(list) > 0 {
			q.spans = append(q.spans, span{list: list, weight: weight, dead: p.dead})
			df += len(list)
		}
	}
	return df
}

// Accumulate adds every matching document's score, multiplied by scale, to
// scores[slot]. scores is as long as an array of Borrow. With scale 1, on an array of
// zeros, the results are exactly equal to Scores.
func (q Query) Accumulate(scores []float32, scale float32) {
	for i := range q.spans {
		s := &q.spans[i]
		weight := s.weight * scale
		if s.dead.size > 0 {
			s.addLive(scores, weight)
			continue
		}
		for _, p := range s.list {
			// The conversion forbids a fused multiply-add, which would round
			// differently here than in lookUp.
			scores[p.key>>8] += float32(weight * p.impact)
		}
	}
}

func (s *span) addLive(scores []float32, weight float32) {
	for _, p := range s.list {
		if !s.dead.has(p.slot()) {
			scores[p.slot()] += float32(weight * p.impact)
		}
	}
}

// search returns the position of the first posting that is not below slot.
func search(list []posting, slot uint32) int {
	low, high := 0, len(list)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if list[mid].slot() < slot {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Scores writes the score of each of the slots into out, of the same length: 0 for a document that
// is missing or shares no term. It is fast if slots rise.
func (q Query) Scores(slots []uint32, out []float32) {
	clear(out)
	for i := range q.spans {
		q.spans[i].lookUp(slots, out)
	}
}

// Cover is Scores, and also writes into covered the share of the query that each document
// contains, from 0 to 1: a term counts by its idf, however often it occurs. A term that no
// document contains counts as the rarest. In rare a term counts by the share of its documents
// that each is, too.
func (q Query) Cover(slots []uint32, out, covered, rare []float32) {
	clear(out)
	clear(covered)
	clear(rare)
	last := make([]int, len(slots)) // one more than the term that was counted last
	for i := range q.spans {
		s, at := &q.spans[i], 0
		share := s.weight / float32(q.mass)
		for n, slot := range slots {
			if at = s.seek(at, slot); at == len(s.list) || s.list[at].slot() != slot || s.dead.has(slot) {
				continue
			}
			out[n] += float32(s.weight * s.list[at].impact)
			if last[n] <= s.term {
				last[n] = s.term + 1
				rare[n] += share * s.rarity
				if s.list[at].impact > 0 {
					covered[n] += share
				}
			}
		}
	}
}

// Holders calls found with the slots of the documents that hold a term of few documents, at most
// maxHolders, which is much of the query.
func (q Query) Holders(found func(slot uint32)) {
	for i := range q.spans {
		s := &q.spans[i]
		if s.rarity*maxHolders < 1 || float64(s.weight) < muchOfQuery*q.mass {
			continue
		}
		for _, p := range s.list {
			if !s.dead.has(p.slot()) {
				found(p.slot())
			}
		}
	}
}

const (
	maxHolders  = 5
	muchOfQuery = 0.3
)

// lookUp adds the term's share to the scores of the slots. Rising slots are
// found near each other.
func (s *span) lookUp(slots []uint32, out []float32) {
	at := 0
	for i, slot := range slots {
		if at = s.seek(at, slot); at < len(s.list) && s.list[at].slot() == slot && !s.dead.has(slot) {
			out[i] += float32(s.weight * s.list[at].impact)
		}
	}
}

// seek is search from a position on, in steps that double.
func (s *span) seek(from int, slot uint32) int {
	if from > 0 && s.list[from-1].slot() >= slot {
		from = 0
	}
	step := 1
	for from+step <= len(s.list) && s.list[from+step-1].slot() < slot {
		from, step = from+step, 2*step
	}
	to := min(from+step, len(s.list))
	return from + search(s.list[from:to], slot)
}

// Borrow returns an array of zeros from a pool, one for each slot up to the highest
// in use.
func (s *Snapshot) Borrow() *[]float32 {
	scores, ok := s.pool.Get().(*[]float32)
	if !ok {
		scores = new([]float32)
	}
	if cap(*scores) < s.slots {
		*scores = make([]float32, s.slots, s.slots+s.slots/8)
	}
	*scores = (*scores)[:s.slots]
	return scores
}

// Return gives an array back that Borrow lent. It need not be zero.
func (s *Snapshot) Return(scores *[]float32) {
	clear(*scores)
	s.pool.Put(scores)
}

// Search returns the k best documents with a score above 0, best first, lower slots first among
// equals. If accept is not nil, only documents that it accepts count; it is called at most once
// for a document.
func (s *Snapshot) Search(f Field, terms Terms, k int, accept func(slot uint32) bool) []Hit {
	q := s.Query(f, terms)
	if k < 1 || len(q.spans) == 0 {
		return nil
	}
	scores := s.Borrow()
	defer s.Return(scores)
	q.Accumulate(*scores, 1)
	best, least := NewTop(k), float32(0)
	for slot, score := range *scores {
		if score <= 0 || score < least || accept != nil && !accept(uint32(slot)) {
			continue
		}
		best.Offer(Hit{uint32(slot), score})
		least, _ = best.Least()
	}
	return best.Sorted()
}

// Hit is a slot with its score.
type Hit struct {
	Slot  uint32
	Score float32
}

// Compare orders hits: by score, the higher first, and equal scores by slot, so
// that the order does not depend on how slots were divided.
func (h Hit) Compare(o Hit) int {
	return cmp.Or(cmp.Compare(o.Score, h.Score), cmp.Compare(h.Slot, o.Slot))
}

func (h Hit) below(o Hit) bool {
	if h.Score != o.Score {
		return h.Score < o.Score
	}
	return h.Slot > o.Slot
}

// Top keeps the best of the hits that it is offered: a heap with the worst of
// them at the root.
type Top struct {
	hits []Hit
	size int
}

// NewTop returns a Top of the size best hits; size is at least 1.
func NewTop(size int) Top { return Top{size: size} }

// Least returns the score below which a hit is not kept, and whether there is
// one yet.
func (t *Top) Least() (score float32, full bool) {
	if len(t.hits) < t.size {
		return 0, false
	}
	return t.hits[0].Score, true
}

// Sorted returns the hits that were kept, best first. The Top is of no use after.
func (t *Top) Sorted() []Hit {
	slices.SortFunc(t.hits, Hit.Compare)
	return t.hits
}

// Offer keeps a hit if it is among the best.
func (t *Top) Offer(h Hit) {
	if len(t.hits) < t.size {
		t.hits = append(t.hits, h)
		for i := len(t.hits) - 1; i > 0; {
			parent := (i - 1) / 2
			if !t.hits[i].below(t.hits[parent]) {
				return
			}
			t.hits[i], t.hits[parent] = t.hits[parent], t.hits[i]
			i = parent
		}
		return
	}
	if !t.hits[0].below(h) {
		return
	}
	t.hits[0] = h
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.hits); c++ {
			if t.hits[c].below(t.hits[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		t.hits[i], t.hits[least] = t.hits[least], t.hits[i]
		i = least
	}
}
