package flat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/toolstream/toolstream/pkg/schema"
)

// cacheFile holds what the memory is made of: the quantised vectors and the
// lexical indexes of all tenants, and which record each of their slots was made
// from. It is mapped and read where it lies. It is only ever believed slot by
// slot, where the record still is the same; without it every text is analysed
// and every vector quantised again.
//
// Its bytes, of each tenant: the rows of each block, codes then scales; the
// lexical index; the tools of each block. Then the table that says where all
// that is, with a CRC-32C of the rows and of the tools of each block; the
// lexical index has one of its own. Then the footer: where the table begins,
// its length, its CRC-32C, what program returned, and magic. Rows and lexical indexes begin at
// multiples of 64 bytes. Their numbers, and those of the footer, are in the
// machine's order of bytes: on another kind of machine the footer is of no use.
const (
	cacheFile   = "memory.cache"
	cacheMagic  = "tsflat06"
	cacheFooter = 8 + 8 + 4 + 4 + len(cacheMagic)
	cacheUnit   = 64
)

// errCache is what loading fails with when the cache proves useless on the way.
var errCache = errors.New("flat: the saved memory is of no use")

// saveCache writes the snapshots of tenants by name: beside the old file, which
// is read where it lies, then in its place. It does not wait for the disk: what
// a power cut leaves of it fails its checksums.
func saveCache(folder string, program uint32, tenants []named) error {
	file := filepath.Join(folder, cacheFile)
	beside := file + ".new" // what a killed process left of one is overwritten
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("flat: save the memory: %w", err)
	}
	err = errors.Join(writeCache(f, program, tenants), f.Close())
	if err == nil {
		err = os.Rename(beside, file)
	}
	if err != nil {
		return fmt.Errorf("flat: save the memory: %w", errors.Join(err, os.Remove(beside)))
	}
	return nil
}

// named is a tenant's snapshot.
type named struct {
	name string
	*snapshot
}

func writeCache(f io.Writer, program uint32, tenants []named) error {
	w := &cacheWriter{out: bufio.NewWriterSize(f, 1<<16)}
	for _, t := range tenants {
		if err := w.tenant(t); err != nil {
			return err
		}
	}
	footer := binary.NativeEndian.AppendUint64(nil, uint64(w.at))
	footer = binary.NativeEndian.AppendUint64(footer, uint64(len(w.table)))
	footer = binary.NativeEndian.AppendUint32(footer, crc32.Checksum(w.table, castagnoli))
	footer = binary.NativeEndian.AppendUint32(footer, program)
	w.write(w.table)
	w.write(append(footer, cacheMagic...))
	return w.out.Flush()
}

// cacheWriter writes and notes where things are. bufio keeps the first error
// for Flush.
type cacheWriter struct {
	out   *bufio.Writer
	at    int64
	table []byte
}

func (w *cacheWriter) Write(b []byte) (int, error) {
	n, err := w.out.Write(b)
	w.at += int64(n)
	return n, err
}

func (w *cacheWriter) write(b []byte) { _, _ = w.Write(b) }

// align fills up to the next unit.
func (w *cacheWriter) align() { w.write(make([]byte, -w.at&(cacheUnit-1))) }

func (w *cacheWriter) tenant(t named) error {
	var rows, tools []byte // of the table
	var catalogue []byte
	for _, b := range t.blocks {
		w.align()
		rows = binary.AppendUvarint(rows, uint64(w.at))
		rows = binary.LittleEndian.AppendUint32(rows, w.rows(b))
		from := len(catalogue)
		catalogue = b.appendTools(catalogue)
		tools = binary.AppendUvarint(tools, uint64(len(catalogue)-from))
		tools = binary.LittleEndian.AppendUint32(tools, crc32.Checksum(catalogue[from:], castagnoli))
	}
	w.align()
	at := w.at
	n, err := t.lexical.WriteTo(w)
	if err != nil {
		return err
	}
	w.table = appendText(w.table, t.name)
	for _, x := range []int64{at, n, w.at, int64(len(t.blocks))} {
		w.table = binary.AppendUvarint(w.table, uint64(x))
	}
	w.table = append(append(w.table, rows...), tools...)
	w.write(catalogue)
	return nil
}

// rows writes a block's codes and scales and returns their checksum.
func (w *cacheWriter) rows(b *block) (crc uint32) {
	put := func(x []byte) {
		crc = crc32.Update(crc, castagnoli, x)
		w.write(x)
	}
	for kind := range b.rows {
		put(b.rows[kind].codes)
	}
	for kind := range b.rows {
		put(bytesOf(b.rows[kind].scales))
	}
	return crc
}

// appendTools adds what is known of a block's entities, but for their tenant.
func (b *block) appendTools(out []byte) []byte {
	out = binary.LittleEndian.AppendUint64(out, b.live)
	for live := b.live; live != 0; live &= live - 1 {
		out = b.tools[bits.TrailingZeros64(live)].appendTo(out)
	}
	return out
}

func (t *tool) appendTo(out []byte) []byte {
	out = append(out, flag(t.ref.Kind == schema.KindAgent))
	out = appendText(out, t.ref.ID)
	out = appendVersion(out, t.version, false)
	out = appendText(out, t.agent.Value())
	out = binary.AppendUvarint(out, uint64(len(t.tags)))
	for _, tag := range t.tags {
		out = appendText(out, tag.Value())
	}
	out = binary.AppendUvarint(out, uint64(len(t.required)))
	for _, required := range t.required {
		out = append(out, flag(required))
	}
	out = append(out, flag(t.quarantined))
	out = binary.LittleEndian.AppendUint32(out, t.record.crc)
	for _, n := range []int{t.record.size, t.record.vectors, t.record.dimensions} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	for _, n := range t.record.counts {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

// floatsOf returns bytes as the numbers that bytesOf made them of.
func floatsOf(b []byte) []float32 {
	n := len(b) / 4
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)[:n:n]
}
