package lexical

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"
)

// The stored form of an index is its one segment as it lies in memory, so that
// loading it copies nothing: a header of fixed size; then slots, lengths by
// field, the ends of the terms, their text, the pairs, and by field the starts
// and the postings with their impacts, each begun at a multiple of 8 bytes; and a
// CRC-32C of all that precedes. Numbers are in the order of bytes of the
// machine: another kind of machine finds a version that it does not know.
const (
	magic   = "tslx"
	version = 3
	// analysis rises whenever the same text gives other terms: what was
	// stored before can then not be searched with today's queries.
	analysis = 3

	headerSize = 16 + 8*(7+int(FieldCount))
	unit       = 8 // what the sections are padded to
)

// ErrStored reports stored bytes that can not be used: damaged, of another
// version, or made with other settings. The index has to be built from the
// documents again.
var ErrStored = errors.New("lexical: stored index is unusable")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// number is what the arrays of a segment hold.
type number interface {
	byte | uint32 | uint64 | posting
}

// bytesOf returns the memory of an array.
func bytesOf[T number](a []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a))), len(a)*int(unsafe.Sizeof(one)))
}

// arrayOf returns bytes as the array they are. They begin at a multiple of the
// size of its elements.
func arrayOf[T number](b []byte) []T {
	var one T
	n := len(b) / int(unsafe.Sizeof(one))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)[:n:n]
}

// header is what precedes the arrays.
type header struct {
	settings                 uint64
	k1, b                    float64
	docs, terms, text, pairs uint64
	postings                 [FieldCount]uint64
}

func (h *header) encode() []byte {
	order := binary.NativeEndian
	out := append(make([]byte, 0, headerSize), magic...)
	for _, n := range []uint32{version, analysis, uint32(FieldCount)} {
		out = order.AppendUint32(out, n)
	}
	for _, n := range []uint64{h.settings, math.Float64bits(h.k1), math.Float64bits(h.b), h.docs, h.terms, h.text, h.pairs} {
		out = order.AppendUint64(out, n)
	}
	for _, n := range h.postings {
		out = order.AppendUint64(out, n)
	}
	return out
}

// decodeHeader reads what encode wrote. Its numbers are not checked.
func decodeHeader(data []byte) (*header, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, errors.New("not an index")
	}
	order := binary.NativeEndian
	for i, want := range []uint32{version, analysis, uint32(FieldCount)} {
		if got := order.Uint32(data[4+4*i:]); got != want {
			return nil, fmt.Errorf("%s is %d, want %d", [...]string{"version", "analysis", "number of fields"}[i], got, want)
		}
	}
	u64 := func(i int) uint64 { return order.Uint64(data[16+8*i:]) }
	h := &header{settings: u64(0), k1: math.Float64frombits(u64(1)), b: math.Float64frombits(u64(2)), docs: u64(3), terms: u64(4), text: u64(5), pairs: u64(6)}
	for f := range h.postings {
		h.postings[f] = u64(7 + f)
	}
	return h, nil
}

// WriteTo writes all that can be found in the snapshot, for Load to read.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	seg := &segment{}
	if settled(s.parts) && len(s.parts) == 1 {
		seg = s.parts[0].segment
	} else {
		merged, err := merge(context.Background(), s.parts)
		if err != nil {
			return 0, err
		}
		merged.weigh(s.config, merged.sums)
		seg = merged
	}
	e := &encoder{out: w, table: castagnoli()}
	e.segment(s.config, seg)
	if e.err != nil {
		return e.written, fmt.Errorf("lexical: write: %w", e.err)
	}
	return e.written, nil
}

// encoder writes until its first error.
type encoder struct {
	out     io.Writer
	table   *crc32.Table
	sum     uint32
	written int64
	err     error
}

func (e *encoder) write(b []byte) {
	if e.err != nil {
		return
	}
	e.sum = crc32.Update(e.sum, e.table, b)
	n, err := e.out.Write(b)
	e.written, e.err = e.written+int64(n), err
}

// section writes an array and what pads it.
func (e *encoder) section(b []byte) {
	e.write(b)
	e.write(make([]byte, padding(len(b))))
}

func padding(n int) int { return -n & (unit - 1) }

func (e *encoder) segment(c Config, s *segment) {
	h := header{settings: settings(c), k1: c.K1, b: c.B, docs: uint64(len(s.slots)), terms: uint64(s.terms.len()), text: uint64(len(s.terms.text)), pairs: uint64(len(s.pairs))}
	for f := range s.fields {
		h.postings[f] = uint64(len(s.fields[f].list))
	}
	e.write(h.encode())
	e.section(bytesOf(s.slots))
	for f := range s.lengths {
		e.section(bytesOf(s.lengths[f]))
	}
	e.section(bytesOf(s.terms.ends))
	e.section(s.terms.text)
	e.section(bytesOf(s.pairs))
	for f := range s.fields {
		start := s.fields[f].start
		if len(start) == 0 {
			start = []uint32{0}
		}
		e.section(bytesOf(start))
		e.section(bytesOf(s.fields[f].list))
	}
	e.write(binary.LittleEndian.AppendUint32(nil, e.sum))
}

// settings packs what decides which terms a text has.
func settings(c Config) uint64 {
	var bits uint64
	if c.KeepStopWords {
		bits |= 1
	}
	for f, stemmed := range c.Stemmed {
		if stemmed {
			bits |= 2 << f
		}
	}
	return bits
}

// Load returns an index with what WriteTo wrote. Its Commit and Rebuild work
// as if all of it had just been put and rebuilt. The index reads data where it
// lies: it has to stay as it is for as long as the index is in use. Where data
// does not begin at a multiple of 8 bytes it is copied. Errors are ErrStored.
func Load(c Config, data []byte) (*Index, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(data) < headerSize+4 {
		return nil, fmt.Errorf("%w: not an index", ErrStored)
	}
	body, stored := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if sum := crc32.Checksum(body, castagnoli()); sum != stored {
		return nil, fmt.Errorf("%w: checksum is %08x, want %08x", ErrStored, sum, stored)
	}
	s, err := decode(c, aligned(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	if len(s.slots) == 0 {
		return newIndex(c, nil), nil
	}
	return newIndex(c, []part{{segment: s}}), nil
}

// aligned returns data that begins at a multiple of unit bytes.
func aligned(data []byte) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%unit == 0 {
		return data
	}
	memory := make([]uint64, (len(data)+unit-1)/unit)
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(memory))), len(data))
	copy(b, data)
	return b
}

// decode reads a whole body. It checks everything that searching relies on,
// so that no bytes can make it panic or allocate out of proportion.
func decode(c Config, body []byte) (*segment, error) {
	h, err := decodeHeader(body)
	if err != nil {
		return nil, err
	}
	if want := settings(c); h.settings != want {
		return nil, fmt.Errorf("settings are %d, want %d", h.settings, want)
	}
	s := &segment{}
	d := &decoder{data: body[headerSize:]}
	d.arrays(h, s)
	if d.short || len(d.data) > 0 {
		return nil, errors.New("its length is not what its header says")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.terms.index()
	s.sum()
	s.adopt(c, h)
	return s, nil
}

// decoder takes sections off the front. Once one is cut short all are empty.
type decoder struct {
	data  []byte
	short bool
}

func (d *decoder) arrays(h *header, s *segment) {
	s.slots = take[uint32](d, h.docs)
	for f := range s.lengths {
		s.lengths[f] = take[uint32](d, h.docs)
	}
	s.terms.ends = take[uint32](d, h.terms)
	s.terms.text = take[byte](d, h.text)
	s.pairs = take[uint64](d, h.pairs)
	for f := range FieldCount {
		terms := h.terms
		if f == Pairs {
			terms = h.pairs
		}
		s.fields[f].start = take[uint32](d, terms+1)
		s.fields[f].list = take[posting](d, h.postings[f])
	}
}

// take returns the next n elements.
func take[T number](d *decoder, n uint64) []T {
	var one T
	size := uint64(unsafe.Sizeof(one))
	if d.short || n > uint64(len(d.data))/size {
		d.short = true
		return nil
	}
	end := int(n * size)
	if end+padding(end) > len(d.data) {
		d.short = true
		return nil
	}
	out := arrayOf[T](d.data[:end])
	d.data = d.data[end+padding(end):]
	return out
}

// adopt takes the stored impacts, or computes them anew where they were made
// with other settings.
func (s *segment) adopt(c Config, h *header) {
	for f := range s.fields {
		s.means[f] = s.sums[f].mean()
	}
	if h.k1 == c.K1 && h.b == c.B {
		return
	}
	for f := range s.fields {
		s.fields[f].list = append([]posting(nil), s.fields[f].list...)
	}
	s.weigh(c, s.sums)
}
