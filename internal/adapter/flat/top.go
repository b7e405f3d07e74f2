package flat

import (
	"math"
	"math/bits"
)

// hit is a slot with its approximate score.
type hit struct {
	score float32
	slot  uint32
}

// below orders hits: the lower score first, equal scores by slot, so that
// which hits are kept does not depend on how the slots were divided.
func (h hit) below(o hit) bool {
	if h.score != o.score {
		return h.score < o.score
	}
	return h.slot > o.slot
}

// top keeps the best of the hits that it is offered: a heap with the worst of
// them at the root.
type top struct {
	hits []hit
	size int
}

// offerAll offers the slots of a block that the mask allows.
func (t *top) offerAll(scores *[blockSize]float32, mask uint64, first int) {
	least := t.least()
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		if scores[i] >= least {
			t.offer(hit{scores[i], uint32(first + i)})
			least = t.least()
		}
	}
}

// least returns the score below which a hit is not kept.
func (t *top) least() float32 {
	if !t.full() {
		return float32(math.Inf(-1))
	}
	return t.hits[0].score
}

func (t *top) full() bool { return len(t.hits) == t.size }

func (t *top) offer(h hit) {
	if !t.full() {
		t.hits = append(t.hits, h)
		t.up(len(t.hits) - 1)
	} else if t.hits[0].below(h) {
		t.hits[0] = h
		t.down(0)
	}
}

func (t *top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.hits[i].below(t.hits[parent]) {
			return
		}
		t.hits[i], t.hits[parent] = t.hits[parent], t.hits[i]
		i = parent
	}
}

func (t *top) down(i int) {
	for {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(t.hits) && t.hits[c].below(t.hits[least]) {
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
