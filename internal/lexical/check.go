package lexical

import (
	"bytes"
	"fmt"
)

// check verifies what searching and merging rely on in a segment whose arrays
// were read: bytes with a right checksum may still be anything.
func (s *segment) check() error {
	for i, slot := range s.slots {
		if slot > maxSlot || i > 0 && slot <= s.slots[i-1] {
			return fmt.Errorf("slot %d is too high or out of order", slot)
		}
	}
	if err := s.terms.check(); err != nil {
		return err
	}
	for i := 1; i < len(s.pairs); i++ {
		if s.pairs[i] <= s.pairs[i-1] {
			return fmt.Errorf("pair %d is out of order", i)
		}
	}
	held := bitmap(s.slots)
	for f := range s.fields {
		if term, ok := s.fields[f].check(held); !ok {
			return fmt.Errorf("the postings of term %d of field %v are not possible", term, Field(f))
		}
	}
	return nil
}

// check verifies that the terms lie in the text, rising.
func (d *dictionary) check() error {
	last := uint32(0)
	for i, end := range d.ends {
		if end < last || uint64(end) > uint64(len(d.text)) {
			return fmt.Errorf("term %d ends at %d", i, end)
		}
		if last = end; i > 0 && bytes.Compare(d.term(i-1), d.term(i)) >= 0 {
			return fmt.Errorf("term %d is out of order", i)
		}
	}
	if uint64(last) != uint64(len(d.text)) {
		return fmt.Errorf("the terms end at %d of %d", last, len(d.text))
	}
	return nil
}

// bitmap returns the set of slots, which rise, one bit each.
func bitmap(slots []uint32) []uint64 {
	if len(slots) == 0 {
		return nil
	}
	bits := make([]uint64, slots[len(slots)-1]/64+1)
	for _, slot := range slots {
		bits[slot/64] |= 1 << (slot % 64)
	}
	return bits
}

// check verifies that the lists lie one after the other, and that each rises
// through slots that are held. It returns the first term that does not.
func (p *postings) check(held []uint64) (term int, ok bool) {
	if p.start[0] != 0 || uint64(p.start[len(p.start)-1]) != uint64(len(p.list)) {
		return 0, false
	}
	for term := range len(p.start) - 1 {
		from, to := p.start[term], p.start[term+1]
		if from > to || uint64(to) > uint64(len(p.list)) {
			return term, false
		}
		next := uint32(0) // the lowest slot that may follow
		for _, posting := range p.list[from:to] {
			slot := posting.key >> 8
			if slot < next || posting.key&maxTF == 0 || int(slot/64) >= len(held) || held[slot/64]>>(slot%64)&1 == 0 {
				return term, false
			}
			next = slot + 1
		}
	}
	return 0, true
}
