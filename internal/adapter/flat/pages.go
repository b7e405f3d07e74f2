package flat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// errDamaged is what a file fails with that is not what was written.
var errDamaged = errors.New("file is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// The layout of a bbolt file, version 2. bbolt trusts what it reads: a flipped
// bit can make it panic in a goroutine of its own, or read beyond its mapping,
// and either ends the process. So the pages are read here first, with every
// number checked before it is used.
const (
	pageHeader  = 16 // id u64, flags u16, count u16, overflow u32
	elementSize = 16
	metaSize    = 64

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	elementIsBucket = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	maxDepth = 64
)

// pages reads a bbolt file page by page and remembers which ones it has seen:
// in a sound file every page is either free or reachable, once.
type pages struct {
	file    io.ReaderAt
	size    int64 // of a page
	meta    meta
	seen    []atomic.Bool
	readers *errgroup.Group // of subtrees, beside this one

	last int // pages that were read last: the next one is often as long
	buf  []byte
}

// meta is what a meta page says.
type meta struct {
	root, freelist, pages, transaction uint64
}

// page is one page with its overflow. data is valid until the next read.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte
}

// visit is called for every key that is not a bucket, with the name of its
// bucket, from several goroutines. The slices are valid during the call only.
type visit func(bucket, key, value []byte) error

// walk verifies the file's structure and calls fn for what it holds. It
// returns the number of the newest transaction. Errors are errDamaged, those
// of reading, and fn's.
func walk(file io.ReaderAt, size int64, fn visit) (transaction uint64, err error) {
	p := &pages{}
	if err := p.readMeta(file, size); err != nil {
		return 0, err
	}
	p.seen = make([]atomic.Bool, p.meta.pages)
	p.seen[0].Store(true)
	p.seen[1].Store(true)
	if err := p.readFreelist(); err != nil {
		return 0, err
	}
	if err := p.buckets(fn); err != nil {
		return 0, err
	}
	for id := range p.seen {
		if !p.seen[id].Load() {
			return 0, damaged("page %d is neither used nor free", id)
		}
	}
	return p.meta.transaction, nil
}

// readMeta takes the newer of the two meta pages that carry a right checksum,
// as bbolt does: after a torn write that is the transaction before.
func (p *pages) readMeta(file io.ReaderAt, size int64) error {
	p.file = file
	first := make([]byte, pageHeader+metaSize)
	if _, err := p.file.ReadAt(first, 0); err != nil {
		return readError(err)
	}
	sizes := []int64{4096, 8192, 16384, 65536, 32768, 2048, 1024}
	if s := int64(binary.LittleEndian.Uint32(first[pageHeader+8:])); s >= 1024 && s <= 65536 {
		sizes = append([]int64{s}, sizes...)
	}
	for _, s := range sizes {
		if metas := p.metas(s); len(metas) > 0 {
			p.size, p.meta = s, metas[0]
			if len(metas) > 1 && metas[1].transaction > metas[0].transaction {
				p.meta = metas[1]
			}
			return p.checkMeta(size)
		}
	}
	return damaged("no valid meta page")
}

// metas returns the valid meta pages of a file whose pages have that size.
func (p *pages) metas(size int64) []meta {
	var out []meta
	b := make([]byte, metaSize)
	for id := range int64(2) {
		if _, err := p.file.ReadAt(b, id*size+pageHeader); err != nil {
			continue
		}
		sum := fnv.New64a()
		sum.Write(b[:metaSize-8])
		u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
		if u32(b) == boltMagic && u32(b[4:]) == boltVersion && int64(u32(b[8:])) == size && u64(b[56:]) == sum.Sum64() {
			out = append(out, meta{root: u64(b[16:]), freelist: u64(b[32:]), pages: u64(b[40:]), transaction: u64(b[48:])})
		}
	}
	return out
}

func (p *pages) checkMeta(size int64) error {
	if p.meta.pages < 2 || p.meta.pages > uint64(size/p.size) {
		return damaged("%d pages of %d bytes in a file of %d", p.meta.pages, p.size, size)
	}
	return nil
}

// readFreelist marks the free pages and those of the list itself.
func (p *pages) readFreelist() error {
	list, err := p.read(p.meta.freelist)
	if err != nil {
		return err
	}
	if list.flags != flagFreelist {
		return damaged("page %d is no free list", list.id)
	}
	ids, count := list.data[pageHeader:], uint64(list.count)
	if count == 0xFFFF {
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return damaged("free list of %d pages", count)
	}
	for i := range count {
		id := binary.LittleEndian.Uint64(ids[8*i:])
		if id >= p.meta.pages || p.seen[id].Swap(true) {
			return damaged("free page %d", id)
		}
	}
	return nil
}

// read returns a page with its overflow and marks it as seen.
func (p *pages) read(id uint64) (page, error) {
	if id < 2 || id >= p.meta.pages {
		return page{}, damaged("page %d of %d", id, p.meta.pages)
	}
	head, err := p.readAt(id, max(1, p.last))
	if err != nil {
		return page{}, err
	}
	if got := binary.LittleEndian.Uint64(head); got != id {
		return page{}, damaged("page %d says that it is page %d", id, got)
	}
	n := 1 + uint64(binary.LittleEndian.Uint32(head[12:]))
	if n > p.meta.pages-id {
		return page{}, damaged("page %d takes %d pages", id, n)
	}
	for i := id; i < id+n; i++ {
		if p.seen[i].Swap(true) {
			return page{}, damaged("page %d has two uses", i)
		}
	}
	p.last = int(n)
	if need := int64(n) * p.size; need > int64(len(head)) {
		if head, err = p.readAt(id, p.last); err != nil {
			return page{}, err
		}
	}
	data := head[:int64(n)*p.size]
	return page{id: id, flags: binary.LittleEndian.Uint16(data[8:]), count: int(binary.LittleEndian.Uint16(data[10:])), data: data}, nil
}

// readAt reads up to n pages from id on, as many as the file's pages allow.
func (p *pages) readAt(id uint64, n int) ([]byte, error) {
	n = int(min(uint64(n), p.meta.pages-id))
	need := n * int(p.size)
	if cap(p.buf) < need {
		p.buf = make([]byte, need)
	}
	b := p.buf[:need]
	if _, err := p.file.ReadAt(b, int64(id)*p.size); err != nil {
		return nil, readError(err)
	}
	return b, nil
}

// readError tells a file that ends too early from one that can not be read.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it ends too early")
	}
	return fmt.Errorf("read: %w", err)
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
func (p *pages) subtree(id uint64, within span, depth int, fn leaf) error {
	other := &pages{file: p.file, size: p.size, meta: p.meta, seen: p.seen, readers: p.readers}
	if p.readers != nil && p.readers.TryGo(func() error { return other.tree(id, within, depth, fn) }) {
		return nil
	}
	return p.tree(id, within, depth, fn)
}

// tree visits the leaves below a page.
func (p *pages) tree(id uint64, within span, depth int, fn leaf) error {
	if depth > maxDepth {
		return damaged("a tree deeper than %d", maxDepth)
	}
	pg, err := p.read(id)
	if err != nil {
		return err
	}
	switch pg.flags {
	case flagLeaf:
		return pg.leaves(within, fn)
	case flagBranch:
		children, err := pg.children(within)
		if err != nil {
			return err
		}
		for i, c := range children {
			in := span{from: c.key, to: within.to}
			if i+1 < len(children) {
				in.to = children[i+1].key
			}
			if err := p.subtree(c.page, in, depth+1, fn); err != nil {
				return err
			}
		}
		return nil
	}
	return damaged("page %d is of type %#x", pg.id, pg.flags)
}

// buckets visits the buckets that the root tree names.
func (p *pages) buckets(fn visit) error {
	type named struct{ name, value []byte }
	var all []named
	err := p.tree(p.meta.root, span{}, 0, func(flags uint32, k, v []byte) error {
		if flags != elementIsBucket || len(v) < 16 {
			return damaged("root element %q is no bucket", k)
		}
		all = append(all, named{bytes.Clone(k), bytes.Clone(v)})
		return nil
	})
	for _, b := range all {
		if err == nil {
			err = p.bucket(b.name, b.value, fn)
		}
	}
	return err
}

// bucket visits the tree of a bucket: a page of its own, or, where it is
// small, one within the value.
func (p *pages) bucket(name, value []byte, fn visit) error {
	element := func(flags uint32, k, v []byte) error {
		if flags != 0 {
			return damaged("element %q of flags %#x", k, flags)
		}
		return fn(name, k, v)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		p.readers = &errgroup.Group{}
		p.readers.SetLimit(runtime.GOMAXPROCS(0))
		err := p.tree(root, span{}, 1, element)
		return errors.Join(err, p.readers.Wait())
	}
	inline := value[16:]
	if len(inline) < pageHeader {
		return damaged("bucket %q ends too early", name)
	}
	pg := page{flags: binary.LittleEndian.Uint16(inline[8:]), count: int(binary.LittleEndian.Uint16(inline[10:])), data: inline}
	if pg.flags != flagLeaf {
		return damaged("bucket %q is of type %#x", name, pg.flags)
	}
	return pg.leaves(span{}, element)
}
