package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// reader reads a file page by page and remembers which pages were seen. It is
// for one goroutine; those it hands subtrees to share what was seen.
type reader struct {
	file   io.ReaderAt
	size   int64 // of a page
	meta   meta
	seen   []atomic.Bool
	others *errgroup.Group // that read subtrees beside this one; nil: none

	last int // pages that were read last: the next one is often as long
	buf  []byte
}

// page is one page with its overflow. data is valid until the next read.
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
	data, err := r.readAt(id, max(1, r.last))
	if err != nil {
		return page{}, err
	}
	if got := binary.LittleEndian.Uint64(data); got != id {
		return page{}, Damaged("page %d says that it is page %d", id, got)
	}
	n := 1 + uint64(binary.LittleEndian.Uint32(data[12:]))
	if n > r.meta.pages-id {
		return page{}, Damaged("page %d takes %d pages", id, n)
	}
	for i := id; i < id+n; i++ {
		if r.seen[i].Swap(true) {
			return page{}, Damaged("page %d has two uses", i)
		}
	}
	r.last = int(n)
	if need := int64(n) * r.size; need > int64(len(data)) {
		if data, err = r.readAt(id, r.last); err != nil {
			return page{}, err
		}
	}
	return pageOf(id, data[:int64(n)*r.size]), nil
}

// readAt reads up to n pages from id on, as many as the file's pages allow.
func (r *reader) readAt(id uint64, n int) ([]byte, error) {
	n = int(min(uint64(n), r.meta.pages-id))
	need := n * int(r.size)
	if cap(r.buf) < need {
		r.buf = make([]byte, need)
	}
	b := r.buf[:need]
	if _, err := r.file.ReadAt(b, int64(id)*r.size); err != nil {
		return nil, readError(err)
	}
	return b, nil
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
		if id >= r.meta.pages || r.seen[id].Swap(true) {
			return Damaged("free page %d", id)
		}
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

// subtree visits the leaves below a page, in another goroutine if one is free.
func (r *reader) subtree(id uint64, within span, depth int, fn leaf) error {
	if r.others == nil {
		return r.tree(id, within, depth, fn)
	}
	other := &reader{file: r.file, size: r.size, meta: r.meta, seen: r.seen, others: r.others}
	if r.others.TryGo(func() error { return other.tree(id, within, depth, fn) }) {
		return nil
	}
	return r.tree(id, within, depth, fn)
}

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
		if err := r.subtree(c.page, in, depth+1, fn); err != nil {
			return err
		}
	}
	return nil
}

// buckets visits the buckets that the root tree names.
func (r *reader) buckets(others int, fn Visit) error {
	type named struct{ name, value []byte }
	var all []named
	err := r.tree(r.meta.root, span{}, 0, func(flags uint32, name, value []byte) error {
		if flags != elementIsBucket || len(value) < 16 {
			return Damaged("root element %q is no bucket", name)
		}
		all = append(all, named{bytes.Clone(name), bytes.Clone(value)})
		return nil
	})
	for _, b := range all {
		if err == nil {
			err = r.bucket(b.name, b.value, others, fn)
		}
	}
	return err
}

// bucket visits the tree of a bucket: a page of its own, or, where it is
// small, one within the value.
func (r *reader) bucket(name, value []byte, others int, fn Visit) error {
	element := func(flags uint32, k, v []byte) error {
		if flags != 0 {
			return Damaged("element %q of flags %#x", k, flags)
		}
		return fn(name, k, v)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return r.shared(root, others, element)
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

// shared visits the leaves below a page, together with others.
func (r *reader) shared(id uint64, others int, fn leaf) error {
	if others < 1 {
		return r.tree(id, span{}, 1, fn)
	}
	r.others = &errgroup.Group{}
	r.others.SetLimit(others)
	err := r.tree(id, span{}, 1, fn)
	return errors.Join(err, r.others.Wait())
}
