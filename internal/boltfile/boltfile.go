// Package boltfile reads bbolt files without trusting them. bbolt trusts what
// it reads: a flipped bit can make it panic in a goroutine of its own, or read
// beyond its mapping, and either ends the process. So a file is read here
// first, with every number checked before it is used, and what is damaged is
// set aside.
package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"sync/atomic"
)

// ErrDamaged is in the error for a file that is not what was written. Other
// errors say that it could not be read.
var ErrDamaged = errors.New("file is damaged")

// Damaged returns an ErrDamaged with its reason.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// The layout of a bbolt file, version 2.
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

// CheckMeta verifies what bbolt reads of a file of that size when it opens it
// for reading.
func CheckMeta(file io.ReaderAt, size int64) error {
	_, err := newReader(file, size)
	return err
}

// Visit is called for every key that is not a bucket, with the name of its
// bucket. The slices are valid during the call only.
type Visit func(bucket, key, value []byte) error

// Walk verifies the structure of a file of that size and calls fn for what it
// holds: in a sound file every page is either free or reachable, once. Up to so
// many others, goroutines beside the caller's, read too and call fn at once;
// without any the order is that of buckets and keys. It returns the number of
// the newest transaction. Values carry no checksum: that they are what was
// written is fn's to verify. Errors are ErrDamaged, those of reading, and fn's.
func Walk(file io.ReaderAt, size int64, others int, fn Visit) (transaction uint64, err error) {
	r, err := newReader(file, size)
	if err != nil {
		return 0, err
	}
	r.seen = make([]atomic.Bool, r.meta.pages)
	r.seen[0].Store(true)
	r.seen[1].Store(true)
	if err := r.freelist(); err != nil {
		return 0, err
	}
	if err := r.buckets(others, fn); err != nil {
		return 0, err
	}
	for id := range r.seen {
		if !r.seen[id].Load() {
			return 0, Damaged("page %d is neither used nor free", id)
		}
	}
	return r.meta.transaction, nil
}

// SetAside renames a damaged file, so that it can be looked at, and returns its
// new name: that of the file with ".damaged-1", or the next number that is
// free. Nothing is ever deleted.
func SetAside(path string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = path + ".damaged-" + strconv.Itoa(n)
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		return kept, os.Rename(path, kept)
	}
}

// meta is what a meta page says.
type meta struct {
	root, freelist, pages, transaction uint64
}

// newReader takes the newer of the two meta pages that carry a right checksum,
// as bbolt does: after a torn write that is the transaction before.
func newReader(file io.ReaderAt, size int64) (*reader, error) {
	first := make([]byte, pageHeader+metaSize)
	if _, err := file.ReadAt(first, 0); err != nil {
		return nil, readError(err)
	}
	sizes := []int64{4096, 8192, 16384, 65536, 32768, 2048, 1024}
	if s := int64(binary.LittleEndian.Uint32(first[pageHeader+8:])); s >= 1024 && s <= 65536 {
		sizes = append([]int64{s}, sizes...)
	}
	for _, s := range sizes {
		metas := readMetas(file, s)
		if len(metas) == 0 {
			continue
		}
		m := metas[0]
		if len(metas) > 1 && metas[1].transaction > m.transaction {
			m = metas[1]
		}
		if m.pages < 2 || m.pages > uint64(size/s) {
			return nil, Damaged("%d pages of %d bytes in a file of %d", m.pages, s, size)
		}
		return &reader{file: file, size: s, meta: m}, nil
	}
	return nil, Damaged("no valid meta page")
}

// readMetas returns the valid meta pages of a file whose pages have that size.
func readMetas(file io.ReaderAt, size int64) []meta {
	var out []meta
	b := make([]byte, metaSize)
	for id := range int64(2) {
		if _, err := file.ReadAt(b, id*size+pageHeader); err != nil {
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

// readError tells a file that ends too early from one that can not be read.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Damaged("it ends too early")
	}
	return fmt.Errorf("read: %w", err)
}
