package lexical

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// The stored form of an index: magic, version, analysis, settings that decide
// the terms, then documents, terms and postings in variable-length integers,
// and a CRC-32C of all that precedes. Impacts are not stored: they follow from
// the rest, so k1 and b may change between writing and loading.
const (
	magic   = "tslx"
	version = 1
	// analysis rises whenever the same text gives other terms: what was
	// stored before can then not be searched with today's queries.
	analysis = 1
)

// ErrStored reports stored bytes that can not be used: damaged, of another
// version, or made with other settings. The index has to be built from the
// documents again.
var ErrStored = errors.New("lexical: stored index is unusable")

func castagnoli() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

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
		seg = merged
	}
	e := &encoder{sum: castagnoli()}
	e.out = bufio.NewWriterSize(io.MultiWriter(w, e.sum, &e.written), 1<<16)
	e.header(s.config)
	e.segment(seg)
	if err := e.out.Flush(); err != nil {
		return int64(e.written), fmt.Errorf("lexical: write: %w", err)
	}
	n, err := w.Write(binary.LittleEndian.AppendUint32(nil, e.sum.Sum32()))
	if err != nil {
		return int64(e.written) + int64(n), fmt.Errorf("lexical: write: %w", err)
	}
	return int64(e.written) + int64(n), nil
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// encoder writes integers and texts. bufio keeps the first error for Flush.
type encoder struct {
	out     *bufio.Writer
	sum     hash.Hash32
	written counter
}

func (e *encoder) uint(n uint64) {
	var b [binary.MaxVarintLen64]byte
	e.out.Write(binary.AppendUvarint(b[:0], n))
}

func (e *encoder) header(c Config) {
	e.out.WriteString(magic)
	e.uint(version)
	e.uint(analysis)
	e.uint(settings(c))
	e.uint(uint64(FieldCount))
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

func (e *encoder) segment(s *segment) {
	e.uint(uint64(len(s.slots)))
	last := uint32(0)
	for _, slot := range s.slots {
		e.uint(uint64(slot - last))
		last = slot
	}
	for f := range s.lengths {
		for _, n := range s.lengths[f] {
			e.uint(uint64(n))
		}
	}
	e.dictionary(&s.terms)
	for f := range s.fields {
		e.uint(uint64(len(s.fields[f].list)))
		for i := range s.terms.len() {
			e.list(s.fields[f].of(i))
		}
	}
}

// dictionary writes each term as the length of what it shares with the one
// before, and the rest.
func (e *encoder) dictionary(d *dictionary) {
	e.uint(uint64(d.len()))
	var last []byte
	for i := range d.len() {
		term := d.term(i)
		shared := 0
		for shared < min(len(term), len(last)) && term[shared] == last[shared] {
			shared++
		}
		e.uint(uint64(shared))
		e.uint(uint64(len(term) - shared))
		e.out.Write(term[shared:])
		last = term
	}
}

func (e *encoder) list(list []posting) {
	e.uint(uint64(len(list)))
	last := uint32(0)
	for _, p := range list {
		e.uint(uint64(p.slot() - last))
		e.out.WriteByte(byte(p.key))
		last = p.slot()
	}
}

// Load returns an index with what WriteTo wrote. Its Commit and Rebuild work
// as if all of it had just been put and rebuilt. Errors are ErrStored.
func Load(c Config, data []byte) (*Index, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: not an index", ErrStored)
	}
	body, stored := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	sum := castagnoli()
	sum.Write(body)
	if sum.Sum32() != stored {
		return nil, fmt.Errorf("%w: checksum is %08x, want %08x", ErrStored, sum.Sum32(), stored)
	}
	s, err := decode(c, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	if len(s.slots) == 0 {
		return newIndex(c, nil), nil
	}
	s.weigh(c, s.sums)
	return newIndex(c, []part{{segment: s}}), nil
}

// decode reads a whole body. It checks everything that searching relies on,
// so that no bytes can make it panic or allocate out of proportion.
func decode(c Config, body []byte) (*segment, error) {
	d := &decoder{data: body[len(magic):]}
	for _, want := range []struct {
		what  string
		value uint64
	}{{"version", version}, {"analysis", analysis}, {"settings", settings(c)}, {"fields", uint64(FieldCount)}} {
		if got := d.uint(1 << 62); d.err == nil && got != want.value {
			return nil, fmt.Errorf("%s is %d, want %d", want.what, got, want.value)
		}
	}
	s := &segment{}
	d.documents(s)
	d.dictionary(&s.terms)
	for f := range s.fields {
		s.fields[f] = d.field(s)
	}
	if d.err == nil && len(d.data) > 0 {
		d.fail("%d bytes too many", len(d.data))
	}
	if d.err != nil {
		return nil, d.err
	}
	s.terms.index()
	s.sum()
	return s, nil
}

// decoder reads integers until its first error, and zeros from then on.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.data = nil
}

// uint reads an integer of at most limit.
func (d *decoder) uint(limit uint64) uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail("cut short")
		return 0
	}
	if n > limit {
		d.fail("%d is above %d", n, limit)
		return 0
	}
	d.data = d.data[size:]
	return n
}

// count reads how many things of at least size bytes follow.
func (d *decoder) count(size int) int {
	return int(d.uint(uint64(len(d.data) / size)))
}

func (d *decoder) take(n int) []byte {
	if n > len(d.data) {
		d.fail("cut short")
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// next reads a number that is above the last one, or for the first at least 0.
func (d *decoder) next(last uint32, first bool) uint32 {
	gap := uint32(d.uint(maxSlot))
	if gap == 0 && !first || last+gap > maxSlot {
		d.fail("slot after %d is %d higher", last, gap)
		return 0
	}
	return last + gap
}

func (d *decoder) documents(s *segment) {
	s.slots = make([]uint32, d.count(1+int(FieldCount)))
	last := uint32(0)
	for i := range s.slots {
		last = d.next(last, i == 0)
		s.slots[i] = last
	}
	for f := range s.lengths {
		s.lengths[f] = make([]uint32, len(s.slots))
		for i := range s.lengths[f] {
			s.lengths[f][i] = uint32(d.uint(1<<32 - 1))
		}
	}
}

// maxTerm is more bytes than a token can have: twice 64 characters, in case
// its plain form is longer.
const maxTerm = 2 * 64 * 4

func (d *decoder) dictionary(out *dictionary) {
	n := d.count(2)
	var term []byte
	for i := range n {
		shared := int(d.uint(uint64(len(term))))
		rest := d.take(int(d.uint(uint64(len(d.data)))))
		next := append(bytes.Clone(term[:min(shared, len(term))]), rest...)
		if d.err != nil {
			return
		}
		if len(next) > maxTerm || len(out.text)+len(next) > 1<<32-1 || i > 0 && bytes.Compare(next, term) <= 0 {
			d.fail("term %d is too long or out of order", i)
			return
		}
		out.add(next)
		term = next
	}
}

func (d *decoder) field(s *segment) postings {
	p := postings{start: make([]uint32, 1, s.terms.len()+1)}
	p.list = make([]posting, 0, d.count(2))
	holds := slotSet{}.with(s.slots)
	for range s.terms.len() {
		last := uint32(0)
		for i := range d.count(2) {
			last = d.next(last, i == 0)
			tf := d.take(1)
			if d.err != nil {
				return p
			}
			if tf[0] == 0 || !holds.has(last) || len(p.list) == cap(p.list) {
				d.fail("posting for slot %d is not possible", last)
				return p
			}
			p.list = append(p.list, posting{key: last<<8 | uint32(tf[0])})
		}
		p.start = append(p.start, uint32(len(p.list)))
	}
	return p
}
