package lexical

import (
	"hash/maphash"
	"math/bits"
	"sort"
)

// dictionary maps the terms of a segment, in byte order, to their numbers from
// 0 on. It is one text, its cuts and a hash table: no pointers for the
// collector to follow.
type dictionary struct {
	text  []byte
	ends  []uint32
	table []uint32 // term number + 1 by hash, open addressing; 0 is free
	seed  maphash.Seed
}

func (d *dictionary) len() int { return len(d.ends) }

// term returns the term with number i, valid as long as the dictionary.
func (d *dictionary) term(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = d.ends[i-1]
	}
	return d.text[start:d.ends[i]]
}

// add appends a term greater than all before it.
func (d *dictionary) add(term []byte) {
	d.text = append(d.text, term...)
	d.ends = append(d.ends, uint32(len(d.text)))
}

// index builds the hash table once all terms are there. The seed is random, so
// that nobody can choose terms that collide.
func (d *dictionary) index() {
	d.seed = maphash.MakeSeed()
	d.table = make([]uint32, 1<<bits.Len(uint(d.len()+d.len()/2)))
	for i := range d.len() {
		at := d.home(maphash.Bytes(d.seed, d.term(i)))
		for d.table[at] != 0 {
			at = (at + 1) & (len(d.table) - 1)
		}
		d.table[at] = uint32(i) + 1
	}
}

func (d *dictionary) home(hash uint64) int { return int(hash & uint64(len(d.table)-1)) }

// find returns the number of a term, or -1.
func (d *dictionary) find(term string) int {
	for at := d.home(maphash.String(d.seed, term)); d.table[at] != 0; at = (at + 1) & (len(d.table) - 1) {
		if i := int(d.table[at]) - 1; string(d.term(i)) == term {
			return i
		}
	}
	return -1
}

// lower returns the number of the first term that is not below s.
func (d *dictionary) lower(s string) int {
	return sort.Search(d.len(), func(i int) bool { return string(d.term(i)) >= s })
}

// bytes returns the memory that the dictionary holds.
func (d *dictionary) bytes() int64 {
	return int64(cap(d.text)) + 4*int64(cap(d.ends)+cap(d.table))
}
