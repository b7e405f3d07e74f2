package boltfile

import (
	"bytes"
	"encoding/binary"
	"io"
)

// reader reads a file page by page and remembers which pages it has seen.
type reader struct {
	file io.ReaderAt
	size int64 // of a page
	meta meta
	seen []bool
}

// page is one page with its overflow.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte
}

func pageOf(id uint64, data []byte) page {
	return page{id: id, flags: binary.LittleEndian.Uint16(data[8:]), count: int(binary.LittleEndian.Uint16(data[10:])), data: data}
}

// read returns a page with its overflow and marks it as seen.
func (r *reader) read(id uint64) (page, error) {
	if id < 2 || id >= r.meta.pages {
		return page{}, Damaged("page %d of %d", id, r.meta.pages)
	}
	data := make([]byte, r.size)
	if _, err := r.file.ReadAt(data, int64(id)*r.size); err != nil {
		return page{}, readError(err)
	}
	if got := binary.LittleEndian.Uint64(data); got != id {
		return page{}, Damaged("page %d says that it is page %d", id, got)
	}
	n := 1 + uint64(binary.LittleEndian.Uint32(data[12:]))
	if n > r.meta.pages-id {
		return page{}, Damaged("page %d takes %d pages", id, n)
	}
	for i := id; i < id+n; i++ {
		if r.seen[i] {
			return page{}, Damaged("page %d has two uses", i)
		}
		r.seen[i] = true
	}
	if n > 1 {
		data = append(data, make([]byte, int64(n-1)*r.size)...)
		if _, err := r.file.ReadAt(data[r.size:], int64(id+1)*r.size); err != nil {
			return page{}, readError(err)
		}
	}
	return pageOf(id, data), nil
}

// freelist marks the free pages and those of the list itself.
func (r *reader) freelist() error {
	list, err := r.read(r.meta.freelist)
	if err != nil {
		return err
	}
	if list.flags != flagFreelist {
		return Damaged("page %d is no free list", list.id)
	}
	ids, count := list.data[pageHeader:], uint64(list.count)
	if count == 0xFFFF {
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return Damaged("free list of %d pages", count)
	}
	for i := range count {
		id := binary.LittleEndian.Uint64(ids[8*i:])
		if id >= r.meta.pages || r.seen[id] {
			return Damaged("free page %d", id)
		}
		r.seen[id] = true
	}
	return nil
}

// span bounds the keys of a subtree: from the first one, inclusive, to the
// end, exclusive. nil is no bound.
type span struct{ from, to []byte }

func (s span) holds(key []byte) bool {
	return (s.from == nil || bytes.Compare(s.from, key) <= 0) && (s.to == nil || bytes.Compare(key, s.to) < 0)
}

// leaf is called for every element of a tree's leaves.
type leaf func(flags uint32, key, value []byte) error

// tree visits the leaves below a page.
func (r *reader) tree(id uint64, within span, depth int, fn leaf) error {
	if depth > maxDepth {
		return Damaged("a tree deeper than %d", maxDepth)
	}
	pg, err := r.read(id)
	if err != nil {
		return err
	}
	switch pg.flags {
	case flagLeaf:
		return pg.leaves(within, fn)
	case flagBranch:
		return r.branch(pg, within, depth, fn)
	}
	return Damaged("page %d is of type %#x", pg.id, pg.flags)
}

func (r *reader) branch(pg page, within span, depth int, fn leaf) error {
	children, err := pg.children(within)
	if err != nil {
		return err
	}
	for i, c := range children {
		in := span{from: c.key, to: within.to}
		if i+1 < len(children) {
			in.to = children[i+1].key
		}
		if err := r.tree(c.page, in, depth+1, fn); err != nil {
			return err
		}
	}
	return nil
}

// buckets visits the buckets that the root tree names.
func (r *reader) buckets(fn Visit) error {
	return r.tree(r.meta.root, span{}, 0, func(flags uint32, name, value []byte) error {
		if flags != elementIsBucket || len(value) < 16 {
			return Damaged("root element %q is no bucket", name)
		}
		return r.bucket(name, value, fn)
	})
}

// bucket visits the tree of a bucket: a page of its own, or, where it is
// small, one within the value.
func (r *reader) bucket(name, value []byte, fn Visit) error {
	element := func(flags uint32, k, v []byte) error {
		if flags != 0 {
			return Damaged("element %q of flags %#x", k, flags)
		}
		return fn(name, k, v)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return r.tree(root, span{}, 1, element)
	}
	inline := value[16:]
	if len(inline) < pageHeader {
		return Damaged("bucket %q ends too early", name)
	}
	pg := pageOf(0, inline)
	if pg.flags != flagLeaf {
		return Damaged("bucket %q is of type %#x", name, pg.flags)
	}
	return pg.leaves(span{}, element)
}

// child is one element of a branch page.
type child struct {
	key  []byte
	page uint64
}

// children returns a branch page's elements.
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
		out = append(out, child{k, binary.LittleEndian.Uint64(pg.data[e+8:])})
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
