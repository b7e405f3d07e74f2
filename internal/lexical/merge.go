package lexical

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// part is a segment as a snapshot sees it: less what was replaced or deleted.
type part struct {
	*segment
	dead slotSet
}

// live returns how many documents of the part can be found.
func (p part) live() int { return len(p.slots) - p.dead.size }

// without returns the part with the given slots dead as well, as far as it
// holds them.
func (p part) without(slots []uint32) part {
	var gone []uint32
	for _, slot := range slots {
		if p.has(slot) {
			gone = append(gone, slot)
		}
	}
	p.dead = p.dead.with(gone)
	return p
}

// checkEvery is how many terms a merge handles between looks at its context.
const checkEvery = 4096

// merge returns one segment of what is live in the parts, impacts still to be
// weighed. A slot is live in one part at most. It reads term by term through
// all dictionaries at once, so that it needs no memory beyond its result.
func merge(ctx context.Context, parts []part) (*segment, error) {
	m := &segment{}
	m.mergeDocuments(parts)
	for f := range m.fields {
		total := 0
		for _, p := range parts {
			total += len(p.fields[f].list)
		}
		m.fields[f] = postings{start: []uint32{0}, list: make([]posting, 0, total)}
	}
	if err := m.mergeWords(ctx, parts); err != nil {
		return nil, err
	}
	if err := m.mergePairs(ctx, parts); err != nil {
		return nil, err
	}
	for f := range m.fields {
		m.fields[f].list = trim(m.fields[f].list)
	}
	return m, nil
}

// mergeWords appends the words of all parts.
func (m *segment) mergeWords(ctx context.Context, parts []part) error {
	cursors := make([]int, len(parts))
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("lexical: merge: %w", ctx.Err())
		}
		term := least(parts, cursors)
		if term == nil {
			break
		}
		m.mergeTerm(term, parts, cursors)
	}
	m.terms.index()
	return nil
}

// mergeDocuments fills slots, lengths and sums.
func (m *segment) mergeDocuments(parts []part) {
	type origin struct {
		slot     uint32
		part, at int
	}
	var live []origin
	for i, p := range parts {
		for at, slot := range p.slots {
			if !p.dead.has(slot) {
				live = append(live, origin{slot, i, at})
			}
		}
	}
	slices.SortFunc(live, func(a, b origin) int { return int(a.slot) - int(b.slot) })
	m.slots = make([]uint32, len(live))
	for f := range m.lengths {
		m.lengths[f] = make([]uint32, len(live))
	}
	for i, o := range live {
		m.slots[i] = o.slot
		for f := range m.lengths {
			m.lengths[f][i] = parts[o.part].lengths[f][o.at]
		}
	}
	m.sum()
}

// least returns the first term in byte order that any cursor stands at, nil at
// the end.
func least(parts []part, cursors []int) []byte {
	var term []byte
	for i, p := range parts {
		if cursors[i] == p.terms.len() {
			continue
		}
		if t := p.terms.term(cursors[i]); term == nil || bytes.Compare(t, term) < 0 {
			term = t
		}
	}
	return term
}

// mergeTerm appends one term's postings of all parts and moves their cursors
// past it. A term without a live posting is left out.
func (m *segment) mergeTerm(term []byte, parts []part, cursors []int) {
	found := false
	for i, p := range parts {
		if cursors[i] == p.terms.len() || !bytes.Equal(p.terms.term(cursors[i]), term) {
			continue
		}
		for f := range Pairs {
			found = m.mergeList(f, p, cursors[i]) || found
		}
		cursors[i]++
	}
	if !found {
		return
	}
	m.terms.add(term)
	for f := range Pairs {
		m.fields[f].start = append(m.fields[f].start, uint32(len(m.fields[f].list)))
	}
}

// mergeList merges a part's list of a term into the last one of the field, and
// reports whether that has a posting.
func (m *segment) mergeList(f Field, p part, term int) bool {
	own := &m.fields[f]
	from, begin := len(own.list), int(own.start[len(own.start)-1])
	own.list = appendLive(own.list, p.fields[f].of(term), p.dead)
	mergeRuns(own.list[begin:], from-begin)
	return len(own.list) > begin
}

func appendLive(dst, list []posting, dead slotSet) []posting {
	if dead.size == 0 {
		return append(dst, list...)
	}
	for _, p := range list {
		if !dead.has(p.slot()) {
			dst = append(dst, p)
		}
	}
	return dst
}

// mergeRuns sorts a list whose first n postings and whose others are each in
// the order of slots.
func mergeRuns(list []posting, n int) {
	if n == 0 || n == len(list) || list[n-1].key < list[n].key {
		return
	}
	second := slices.Clone(list[n:])
	at := len(list) - 1
	for i, j := n-1, len(second)-1; j >= 0; at-- {
		if i >= 0 && list[i].key > second[j].key {
			list[at] = list[i]
			i--
		} else {
			list[at] = second[j]
			j--
		}
	}
}

// trim gives back memory that was allotted to what is dead.
func trim[T number](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clone(list)
	}
	return list
}
