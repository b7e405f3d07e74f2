package lexical

import (
	"math"
	"slices"
)

// part is a segment as a snapshot sees it: without replaced and deleted documents.
type part struct {
	*Segment
	dead slotSet
}

// live returns how many documents of the part can be found.
func (p part) live() int { return len(p.slots) - p.dead.size }

// without returns the part with the given slots dead as well, as far as it
// holds them.
func (p part) without(slots []uint32) part {
	dead := slotSet{slices.Clone(p.dead.words), p.dead.size}
	for _, slot := range slots {
		if _, found := slices.BinarySearch(p.slots, slot); found {
			dead.add(slot)
		}
	}
	p.dead = dead
	return p
}

// slotSet is a set of slots.
type slotSet struct {
	words []uint64
	size  int
}

func (s *slotSet) has(slot uint32) bool {
	at := int(slot / 64)
	return at < len(s.words) && s.words[at]>>(slot%64)&1 != 0
}

func (s *slotSet) add(slot uint32) {
	if s.has(slot) {
		return
	}
	if n := int(slot/64) + 1; n > len(s.words) {
		s.words = append(s.words, make([]uint64, n-len(s.words))...)
	}
	s.words[slot/64] |= 1 << (slot % 64)
	s.size++
}

// merge returns one segment of the live documents of the parts, without impacts. A slot is live in one part at most.
func merge(parts []part) *Segment {
	m := &Segment{}
	m.mergeDocuments(parts)
	for f := range m.fields {
		m.fields[f] = mergeField(Field(f), parts)
	}
	m.vocabulary = mergeVocabularies(parts, &m.fields)
	return m
}

// mergeDocuments fills slots, lengths and sums.
func (m *Segment) mergeDocuments(parts []part) {
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

// mergeField reads term by term through all parts at once, so that it needs no
// memory beyond its result.
func mergeField(f Field, parts []part) postings {
	total, terms := 0, 0
	for _, p := range parts {
		total, terms = total+len(p.fields[f].list), max(terms, len(p.fields[f].terms))
	}
	m := postings{terms: make([]uint64, 0, terms), start: make([]uint32, 1, terms+1), list: make([]posting, 0, total)}
	cursors := make([]int, len(parts))
	for {
		least := uint64(math.MaxUint64)
		left := false
		for i, p := range parts {
			if at := cursors[i]; at < len(p.fields[f].terms) {
				least, left = min(least, p.fields[f].terms[at]), true
			}
		}
		if !left {
			break
		}
		for i, p := range parts {
			field := &p.fields[f]
			if at := cursors[i]; at < len(field.terms) && field.terms[at] == least {
				begin, from := int(m.start[len(m.start)-1]), len(m.list)
				m.list = appendLive(m.list, field.at(at), p.dead)
				mergeRuns(m.list[begin:], from-begin)
				cursors[i]++
			}
		}
		if n := uint32(len(m.list)); n > m.start[len(m.start)-1] {
			m.terms, m.start = append(m.terms, least), append(m.start, n)
		}
	}
	m.terms, m.start, m.list = trim(m.terms), trim(m.start), trim(m.list)
	return m
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

// trim frees the memory that was reserved for dead postings.
func trim[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clone(list)
	}
	return list
}
