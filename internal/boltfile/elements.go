package boltfile

import (
	"bytes"
	"encoding/binary"
)

// child is one element of a branch page.
type child struct {
	key  []byte
	page uint64
}

// children returns a branch page's elements, which hold copies.
func (pg page) children(within span) ([]child, error) {
	if pg.count == 0 {
		return nil, Damaged("branch page %d is empty", pg.id)
	}
	out := make([]child, 0, pg.count)
	for i := range pg.count {
		e, err := pg.element(i)
		if err != nil {
			return nil, err
		}
		k, err := pg.slice(e, binary.LittleEndian.Uint32(pg.data[e:]), binary.LittleEndian.Uint32(pg.data[e+4:]))
		if err != nil {
			return nil, err
		}
		if !within.holds(k) || i > 0 && bytes.Compare(out[i-1].key, k) >= 0 {
			return nil, Damaged("key %d of page %d is out of order", i, pg.id)
		}
		out = append(out, child{bytes.Clone(k), binary.LittleEndian.Uint64(pg.data[e+8:])})
	}
	return out, nil
}

// leaves calls fn for a leaf page's elements.
func (pg page) leaves(within span, fn leaf) error {
	var before []byte
	for i := range pg.count {
		e, err := pg.element(i)
		if err != nil {
			return err
		}
		u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(pg.data[e+at:]) }
		k, err := pg.slice(e, u32(4), u32(8))
		if err != nil {
			return err
		}
		v, err := pg.slice(e, u32(4)+u32(8), u32(12))
		if err != nil {
			return err
		}
		if !within.holds(k) || i > 0 && bytes.Compare(before, k) >= 0 {
			return Damaged("key %d of page %d is out of order", i, pg.id)
		}
		before = k
		if err := fn(u32(0), k, v); err != nil {
			return err
		}
	}
	return nil
}

// element returns where element i begins.
func (pg page) element(i int) (int, error) {
	at := pageHeader + i*elementSize
	if at+elementSize > len(pg.data) {
		return 0, Damaged("page %d has %d elements", pg.id, pg.count)
	}
	return at, nil
}

// slice returns n bytes that begin pos behind an element's own place.
func (pg page) slice(element int, pos, n uint32) ([]byte, error) {
	from := uint64(element) + uint64(pos)
	if to := from + uint64(n); to <= uint64(len(pg.data)) {
		return pg.data[from:to:to], nil
	}
	return nil, Damaged("page %d has an element outside of it", pg.id)
}
