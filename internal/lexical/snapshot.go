package lexical

import (
	"sort"
	"sync"

	"github.com/toolstream/toolstream/internal/text"
)

// Snapshot is the index at one moment. It never changes and is safe for
// concurrent use; taking one costs nothing, and holding one only keeps its
// memory alive.
type Snapshot struct {
	config Config
	parts  []part
	sums   fieldSums
	slots  int
	pool   *sync.Pool // of *[]float32, shared by all snapshots of an index

	languages []text.Language // of its documents, beside English
}

func newSnapshot(c Config, parts []part, pool *sync.Pool) *Snapshot {
	s := &Snapshot{config: c, parts: parts, pool: pool, languages: speaks(parts)}
	for _, p := range parts {
		s.sums = s.sums.plus(p.sums)
		if n := len(p.slots); n > 0 {
			s.slots = max(s.slots, int(p.slots[n-1])+1)
		}
	}
	return s
}

// Slots returns one more than the highest slot in use: the length that an
// array of scores needs.
func (s *Snapshot) Slots() int { return s.slots }

// Len returns the number of documents that can be found.
func (s *Snapshot) Len() int {
	n := 0
	for _, p := range s.parts {
		n += p.live()
	}
	return n
}

// Query is a list of terms made ready for one field of one snapshot. It is
// immutable.
type Query struct {
	snapshot *Snapshot
	spans    []span
	postings int
}

// span is the list of one term in one part.
type span struct {
	list   []posting
	weight float32
	dead   slotSet
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
		weight := float32(float64(term.Count) * idf(s.sums[f].docs, df))
		for i := first; i < len(q.spans); i++ {
			q.spans[i].weight *= weight
		}
		q.postings += df
	}
	return q
}

// look adds the lists of a term and returns how long they are together.
func (q *Query) look(f Field, term string, weight float32) (df int) {
	for _, p := range q.snapshot.parts {
		i := p.find(f, term)
		if i < 0 {
			continue
		}
		if list := p.fields[f].of(i); len(list) > 0 {
			q.spans = append(q.spans, span{list: list, weight: weight, dead: p.dead})
			df += len(list)
		}
	}
	return df
}

// Accumulate adds every matching document's score to scores[slot]. scores has
// at least Slots elements. On an array of zeros the results are exactly those
// of Score.
func (q Query) Accumulate(scores []float32) { q.AccumulateScaled(scores, 1) }

// AccumulateScaled is Accumulate with every score multiplied by scale.
func (q Query) AccumulateScaled(scores []float32, scale float32) {
	for i := range q.spans {
		s := &q.spans[i]
		weight := s.weight * scale
		if s.dead.size > 0 {
			s.addLive(scores, weight)
			continue
		}
		for _, p := range s.list {
			// The conversion forbids a fused multiply-add, which would round
			// differently here than in Score.
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

// Score returns the score of one document, 0 if it is not there or shares no
// term.
func (q Query) Score(slot uint32) float32 {
	var sum float32
	for i := range q.spans {
		s := &q.spans[i]
		if at := search(s.list, slot); at < len(s.list) && s.list[at].slot() == slot && !s.dead.has(slot) {
			sum += float32(s.weight * s.list[at].impact)
		}
	}
	return sum
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

// lookupCost is roughly how many postings can be accumulated in the time that
// it takes to look one up by binary search.
const lookupCost = 16

// Scores puts the score of each of the slots into out, which is as long: what
// Score returns for each, in the cheaper of two ways.
func (q Query) Scores(slots []uint32, out []float32) {
	if q.postings > lookupCost*len(slots)*len(q.spans) {
		clear(out)
		for i := range q.spans {
			q.spans[i].lookUp(slots, out)
		}
		return
	}
	scores := q.snapshot.Borrow()
	defer q.snapshot.Return(scores)
	q.Accumulate(*scores)
	for i, slot := range slots {
		out[i] = 0
		if uint64(slot) < uint64(len(*scores)) {
			out[i] = (*scores)[slot]
		}
	}
}

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

// seek returns what search returns, looking from a position on, in steps that
// double.
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

// Accumulate is Query and Accumulate in one.
func (s *Snapshot) Accumulate(f Field, terms Terms, scores []float32) {
	s.Query(f, terms).Accumulate(scores)
}

// Score is Query and Score in one, for a single document.
func (s *Snapshot) Score(f Field, terms Terms, slot uint32) float32 {
	return s.Query(f, terms).Score(slot)
}

// Borrow returns an array of Slots zeros from a pool.
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

// Hit is a found document.
type Hit struct {
	Slot  uint32
	Score float32
}

// better is the order of hits: by score, and for equal scores by slot.
func (h Hit) better(o Hit) bool {
	return h.Score > o.Score || h.Score == o.Score && h.Slot < o.Slot
}

// Search returns the k best documents with a score above 0, best first, lower
// slots first among equals. Where accept is given, only documents that it
// accepts count; it is called once a document at most.
func (s *Snapshot) Search(f Field, terms Terms, k int, accept func(slot uint32) bool) []Hit {
	q := s.Query(f, terms)
	if k < 1 || len(q.spans) == 0 {
		return nil
	}
	scores := s.Borrow()
	defer s.Return(scores)
	q.Accumulate(*scores)
	return Best(*scores, k, accept)
}

// Best returns the k slots with the highest scores above 0, as Search does.
func Best(scores []float32, k int, accept func(slot uint32) bool) []Hit {
	if k < 1 {
		return nil
	}
	heap := make([]Hit, 0, min(k, len(scores)))
	var least float32
	for slot, score := range scores {
		if score <= least {
			continue
		}
		hit := Hit{uint32(slot), score}
		if accept != nil && !accept(hit.Slot) {
			continue
		}
		if heap = keep(heap, hit, k); len(heap) == k {
			least = heap[0].Score
		}
	}
	sort.Slice(heap, func(i, j int) bool { return heap[i].better(heap[j]) })
	return heap
}

// keep adds a hit to a heap of at most k whose root is the worst one.
func keep(heap []Hit, hit Hit, k int) []Hit {
	if len(heap) < k {
		heap = append(heap, hit)
		for i := len(heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !heap[up].better(heap[i]) {
				break
			}
			heap[up], heap[i] = heap[i], heap[up]
			i = up
		}
		return heap
	}
	if !hit.better(heap[0]) {
		return heap
	}
	heap[0] = hit
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[worst].better(heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return heap
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

// Stats describe an index for its metrics.
type Stats struct {
	Documents int // that can be found
	Dead      int // replaced or deleted, not yet merged away
	Segments  int
	Terms     int // distinct within each segment
	Postings  int
	Bytes     int64
}

// Stats counts what the snapshot holds.
func (s *Snapshot) Stats() Stats {
	st := Stats{Segments: len(s.parts)}
	for _, p := range s.parts {
		st.Documents += p.live()
		st.Dead += p.dead.size
		st.Terms += p.terms.len() + len(p.pairs)
		for f := range p.fields {
			st.Postings += len(p.fields[f].list)
		}
	}
	st.Bytes = s.Bytes()
	return st
}

// Bytes returns the memory that the snapshot holds.
func (s *Snapshot) Bytes() int64 {
	var n int64
	for _, p := range s.parts {
		n += p.bytes()
	}
	return n
}
