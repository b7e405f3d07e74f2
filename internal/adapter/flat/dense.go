package flat

import (
	"math/bits"

	"github.com/toolstream/toolstream/internal/vector"
)

// scratch is the memory of one worker of a search.
type scratch struct {
	scores  [blockSize]float32
	block   *block
	answers []answers
}

// answers are a column's similarities with the rows of a block, or with those
// of some of its slots.
type answers struct {
	sims []float32
	of   *block
}

// begin turns to a block and sets the scores of its slots to their lexical
// ones.
func (s *scratch) begin(b *block, lexical []*[]float32, block int) {
	s.block = b
	clear(s.scores[:])
	from := block * blockSize
	for _, part := range lexical {
		if from < len(*part) {
			for i, x := range (*part)[from:min(from+blockSize, len(*part))] {
				s.scores[i] += x
			}
		}
	}
}

// sized returns buf with room for n values.
func sized(buf []float32, n int) []float32 {
	if cap(buf) < n {
		return make([]float32, n, 2*n)
	}
	return buf[:n]
}

// dense adds the plan's answers to the scores of the slots of the mask, and
// returns those that may still reach the least score. The scores of the others
// are of no use.
func (p *plan) dense(s *scratch, mask uint64, least float32) uint64 {
	for i := range p.questions {
		mask = s.reaching(mask, least-p.ahead[i])
		if mask == 0 {
			return 0
		}
		p.questions[i].answer(p, s, mask)
	}
	return mask
}

// reaching returns the slots of the mask whose scores are no less.
func (s *scratch) reaching(mask uint64, least float32) uint64 {
	var out uint64
	for i, score := range s.scores {
		var bit uint64
		if score >= least { // a move, not a jump
			bit = 1
		}
		out |= bit << i
	}
	return out & mask
}

func (q *question) answer(p *plan, s *scratch, mask uint64) {
	r := &s.block.rows[q.kind]
	has, sims := mask&^r.lacks, p.sims(q.column, s, mask)
	switch {
	case q.kind == rowParameters:
		q.cover(sims, has, s)
	case r.plain:
		q.add(sims, s)
	default:
		q.best(sims, has, s)
	}
	if lacks := mask & r.lacks &^ s.block.rows[rowName].lacks; lacks != 0 && q.names != nobody {
		q.fallBack(p.sims(q.names, s, mask), lacks, s)
	}
}

// few is how many slots are worth looking for one by one: the rows of more of
// them are faster read in one stream.
const few = 16

// sims returns the answers of a column on the slots of the mask, which are
// worked out when they are first asked for. Masks only lose slots.
func (p *plan) sims(n int, s *scratch, mask uint64) []float32 {
	if len(s.answers) < len(p.columns) {
		s.answers = make([]answers, len(p.columns))
	}
	a := &s.answers[n]
	if a.of != s.block {
		p.columns[n].compare(a, s.block, mask)
	}
	return a.sims
}

func (c *column) compare(a *answers, b *block, mask uint64) {
	r := &b.rows[c.kind]
	a.sims, a.of = sized(a.sims, len(r.scales)), b
	if bits.OnesCount64(mask) > few {
		c.compareRows(a.sims, r, 0, len(r.scales))
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		c.compareRows(a.sims, r, int(r.first[i]), int(r.first[i+1]))
	}
}

// compareRows compares a run of rows, and as many more as the kernels want.
func (c *column) compareRows(sims []float32, r *rows, from, to int) {
	if from == to {
		return
	}
	to = min(max(to, from+vector.Run), len(r.scales))
	from = max(0, min(from, to-vector.Run))
	stride := len(r.codes) / len(r.scales)
	sims, codes, scales := sims[from:to], r.codes[from*stride:to*stride], r.scales[from:to]
	c.texts[0].Similarities(sims, codes, scales)
	for i := 1; i < len(c.texts); i++ {
		c.texts[i].Raise(sims, codes, scales)
	}
}

// add adds the weighted similarity of each slot's only row.
func (q *question) add(sims []float32, s *scratch) {
	for i, sim := range sims[:blockSize] {
		s.scores[i] += q.weight * sim
	}
}

// best adds the weighted similarity of each slot's best row.
func (q *question) best(sims []float32, has uint64, s *scratch) {
	first := &s.block.rows[q.kind].first
	for ; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		of := sims[first[i]:first[i+1]]
		top := of[0]
		for _, sim := range of[1:] {
			top = max(top, sim)
		}
		s.scores[i] += q.weight * top
	}
}

// cover adds the weighted mean of each slot's parameters, and takes off what
// the missing ones cost.
func (q *question) cover(sims []float32, has uint64, s *scratch) {
	first := &s.block.rows[rowParameters].first
	for ; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		of := sims[first[i]:first[i+1]]
		var sum, cost float32
		for _, sim := range of {
			sum += max(sim, 0)
		}
		if q.gate != nil {
			cost = q.gate.total(of, s.block.required[first[i]:first[i+1]])
		}
		s.scores[i] += q.weight*sum/float32(len(of)) - cost
	}
}

// fallBack gives the slots that lack the kind what their name is worth.
func (q *question) fallBack(names []float32, lacks uint64, s *scratch) {
	first := &s.block.rows[rowName].first
	for ; lacks != 0; lacks &= lacks - 1 {
		i := bits.TrailingZeros64(lacks)
		s.scores[i] += q.weight * names[first[i]]
	}
}
