package flat

import (
	"math/bits"

	"github.com/toolstream/toolstream/internal/vector"
)

// scratch is the memory of one worker of a search.
type scratch struct {
	scores [blockSize]float32
	sims   []float32
	names  []float32
}

// begin sets the scores of a block's slots to their lexical ones.
func (s *scratch) begin(lexical []*[]float32, block int) {
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

// dense adds the plan's answers to the scores of a block's live slots.
func (p *plan) dense(b *block, s *scratch) {
	for i := range p.questions {
		p.questions[i].answer(b, s)
	}
}

func (q *question) answer(b *block, s *scratch) {
	r := &b.rows[q.kind]
	s.sims = sized(s.sims, len(r.scales))
	q.compare(s.sims, r, q.texts)
	if q.kind == rowParameters {
		q.cover(b, s)
	} else {
		q.best(b, s)
	}
	if r.lacks != 0 && len(q.absent) > 0 && q.weight != 0 {
		q.fallBack(b, s)
	}
}

// compare sets dst to each row's best similarity with the texts.
func (q *question) compare(dst []float32, r *rows, texts []vector.Query) {
	texts[0].Similarities(dst, r.codes, r.scales)
	for i := 1; i < len(texts); i++ {
		texts[i].Raise(dst, r.codes, r.scales)
	}
}

// best adds the weighted similarity of each slot's best row.
func (q *question) best(b *block, s *scratch) {
	r := &b.rows[q.kind]
	if r.plain {
		for i, sim := range s.sims[:blockSize] {
			s.scores[i] += q.weight * sim
		}
		return
	}
	for has := b.live &^ r.lacks; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		sims := s.sims[r.first[i]:r.first[i+1]]
		top := sims[0]
		for _, sim := range sims[1:] {
			top = max(top, sim)
		}
		s.scores[i] += q.weight * top
	}
}

// cover adds the weighted mean of each slot's parameters, and takes off what
// the missing ones cost.
func (q *question) cover(b *block, s *scratch) {
	r := &b.rows[rowParameters]
	for has := b.live &^ r.lacks; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		from, to := r.first[i], r.first[i+1]
		var sum, cost float32
		required := b.required[from:to]
		for j, sim := range s.sims[from:to] {
			sim = max(sim, 0)
			sum += sim
			if q.gate != nil {
				cost += q.gate.cost(sim, required[j])
			}
		}
		s.scores[i] += q.weight*sum/float32(to-from) - cost
	}
}

// fallBack gives the slots that lack the kind what their name is worth.
func (q *question) fallBack(b *block, s *scratch) {
	names := &b.rows[rowName]
	s.names = sized(s.names, len(names.scales))
	q.compare(s.names, names, q.absent)
	for lacks := b.rows[q.kind].lacks &^ names.lacks; lacks != 0; lacks &= lacks - 1 {
		i := bits.TrailingZeros64(lacks)
		s.scores[i] += q.weight * s.names[names.first[i]]
	}
}
