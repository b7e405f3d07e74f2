package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unique"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// saved is what the cache holds. What it says of tools is read; the rest is
// verified in the background, and not to be believed before wait.
type saved struct {
	tenants map[string]*savedTenant
	work    errgroup.Group
}

// savedTenant is one tenant as it was saved.
type savedTenant struct {
	name   string
	file   *mapping
	at, n  uint64 // of the lexical index
	pieces []savedBlock
	blocks []*block
	words  func() (*lexical.Index, error) // waits until it is read
	known  map[name]*entry                // what blocks hold
	seen   []atomic.Bool                  // by slot: the record still is the same
}

// savedBlock says where a block lies.
type savedBlock struct {
	tenant       *savedTenant
	n            int // which it is
	rows, tools  uint64
	toolsSize    uint64
	rowsCRC, crc uint32
	rowsSize     uint64
}

func useless(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errCache, fmt.Sprintf(format, args...))
}

// openCache maps the cache that the same program wrote, reads what it says of tools, and begins to verify
// the rest. A cache that is not there is empty.
func openCache(folder string, program uint32) (*saved, error) {
	s := &saved{tenants: map[string]*savedTenant{}}
	f, err := os.Open(filepath.Join(folder, cacheFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCache, err)
	}
	defer f.Close()
	m, err := mapFile(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCache, err)
	}
	if err := guarded(func() error { return s.readTable(m, program) }); err != nil {
		return nil, err
	}
	if err := s.eachBlock((*savedBlock).readTools); err != nil {
		return nil, err
	}
	for _, t := range s.tenants {
		s.work.Go(func() error { _, err := t.words(); return err })
	}
	s.work.Go(func() error { return s.eachBlock((*savedBlock).verifyRows) })
	return s, nil
}

// wait returns once everything is verified.
func (s *saved) wait() error { return s.work.Wait() }

// eachBlock calls fn for every block, on all processors.
func (s *saved) eachBlock(fn func(*savedBlock, names) error) error {
	var all []*savedBlock
	for _, t := range s.tenants {
		for i := range t.pieces {
			all = append(all, &t.pieces[i])
		}
	}
	errs := make([]error, workers(len(all)))
	split(len(all), len(errs), func(worker, from, to int) {
		errs[worker] = guarded(func() error {
			known := names{}
			for _, b := range all[from:to] {
				if err := fn(b, known); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return errors.Join(errs...)
}

// part returns n bytes of the file from at on, nil where they are not in it.
func (m *mapping) part(at, n uint64) []byte {
	if size := uint64(len(m.data)); at > size || n > size-at {
		return nil
	}
	return m.data[at : at+n : at+n]
}

func (s *saved) readTable(m *mapping, program uint32) error {
	table, err := m.table(program)
	if err != nil {
		return err
	}
	d := decoder{b: table}
	for len(d.b) > 0 && !d.bad {
		t := d.savedTenant(m)
		s.tenants[t.name] = t
	}
	if d.bad {
		return useless("layout of its table")
	}
	return nil
}

// table returns the table, verified.
func (m *mapping) table(program uint32) ([]byte, error) {
	size := uint64(len(m.data))
	if size < uint64(cacheFooter) {
		return nil, useless("no footer")
	}
	footer := m.data[size-uint64(cacheFooter):]
	at, n := binary.NativeEndian.Uint64(footer), binary.NativeEndian.Uint64(footer[8:])
	table := m.part(at, n)
	if string(footer[24:]) != cacheMagic || table == nil || n != size-at-uint64(cacheFooter) {
		return nil, useless("its footer")
	}
	if binary.NativeEndian.Uint32(footer[20:]) != program {
		return nil, useless("saved by a program that reads documents in another way")
	}
	if crc32.Checksum(table, castagnoli) != binary.NativeEndian.Uint32(footer[16:]) {
		return nil, useless("checksum of its table")
	}
	return table, nil
}

func (d *decoder) savedTenant(m *mapping) *savedTenant {
	t := &savedTenant{name: d.text(), file: m}
	t.words = sync.OnceValues(t.readLexical)
	t.at, t.n = d.uvarint(), d.uvarint()
	tools := d.uvarint()
	t.pieces = make([]savedBlock, d.count(10))
	t.blocks = make([]*block, len(t.pieces))
	t.seen = make([]atomic.Bool, len(t.pieces)*blockSize)
	for n := range t.pieces {
		t.pieces[n] = savedBlock{tenant: t, n: n, rows: d.uvarint(), rowsCRC: d.uint32()}
	}
	for n := range t.pieces {
		b := &t.pieces[n]
		b.tools, b.toolsSize, b.crc = tools, d.uvarint(), d.uint32()
		if b.toolsSize > math.MaxUint32 {
			d.bad = true
		}
		tools += b.toolsSize
	}
	return t
}

// held returns the entity in a slot that holds one.
func (t *savedTenant) held(slot uint32) *tool { return t.blocks[slot/blockSize].tools[slot%blockSize] }

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// readLexical reads the tenant's lexical index, which verifies itself.
func (t *savedTenant) readLexical() (words *lexical.Index, err error) {
	err = guarded(func() error {
		data := t.file.part(t.at, t.n)
		if data == nil {
			return useless("a lexical index outside of it")
		}
		words, err = lexical.Load(lexical.Defaults(), data)
		if err != nil {
			return fmt.Errorf("%w: %w", errCache, err)
		}
		return nil
	})
	return words, err
}

// names are texts that many tools share, each made unique once.
type names map[string]unique.Handle[string]

func (h names) of(b []byte) unique.Handle[string] {
	u, ok := h[string(b)]
	if !ok {
		u = unique.Make(string(b))
		h[u.Value()] = u
	}
	return u
}

// readTools makes the block, of rows that are not verified yet.
func (s *savedBlock) readTools(known names) error {
	raw := s.tenant.file.part(s.tools, s.toolsSize)
	if raw == nil || crc32.Checksum(raw, castagnoli) != s.crc {
		return useless("checksum of the tools of block %d", s.n)
	}
	d, b := decoder{b: raw}, &block{}
	all := string(raw)
	for live := d.uint64(); live != 0 && !d.bad; live &= live - 1 {
		// Each by itself: one that is replaced may have vectors pinned to it.
		t := &tool{ref: schema.Ref{Tenant: s.tenant.name}}
		d.tool(t, all, known)
		b.set(bits.TrailingZeros64(live), t)
	}
	if d.bad || len(d.b) > 0 || !s.lay(b) {
		return useless("layout of block %d", s.n)
	}
	s.tenant.blocks[s.n] = b
	return nil
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// tool reads what appendTo wrote. The id stays a part of all, the text that
// the decoder reads.
func (d *decoder) tool(t *tool, all string, known names) {
	t.ref.Kind = schema.KindTool
	if d.byte() == 1 {
		t.ref.Kind = schema.KindAgent
	}
	id := d.bytes()
	end := len(all) - len(d.b)
	t.ref.ID = all[max(0, end-len(id)):end]
	t.version, _ = d.version()
	t.agent = known.of(d.bytes())
	if n := d.count(1); n > 0 {
		t.tags = make([]unique.Handle[string], n)
	}
	for i := range t.tags {
		t.tags[i] = known.of(d.bytes())
	}
	t.required = make([]bool, d.count(1))
	for i := range t.required {
		t.required[i] = d.byte() == 1
	}
	t.quarantined = d.byte() == 1
	r := &t.record
	r.crc, r.size, r.vectors, r.dimensions = d.uint32(), d.count32(), d.count32(), d.count32()
	for kind := range r.counts {
		n := d.count32()
		d.bad = d.bad || n > maxVectors
		r.counts[kind] = uint16(n)
	}
	d.bad = d.bad || int(r.counts[rowParameters]) > len(t.required) || !r.fits()
}

// fits reports whether the vectors lie within the record.
func (e *encoded) fits() bool {
	components := uint64(e.counts.total()) * uint64(e.dimensions)
	return uint64(e.vectors)+4*components <= uint64(e.size)
}

// count32 reads a number that an int holds on every machine.
func (d *decoder) count32() int {
	n := d.uvarint()
	d.bad = d.bad || n > math.MaxInt32
	return int(n & math.MaxInt32)
}

// lay gives the block its rows where they lie, and reports whether they can
// be there.
func (s *savedBlock) lay(b *block) bool {
	rows, dimensions := 0, 0
	for _, t := range b.tools {
		if t == nil {
			continue
		}
		rows += t.record.counts.total()
		if dimensions == 0 {
			dimensions = t.record.dimensions
		}
		if t.record.dimensions != dimensions {
			return false
		}
	}
	stride := vector.Stride(dimensions)
	s.rowsSize = uint64(rows) * uint64(stride+4)
	data := s.tenant.file.part(s.rows, s.rowsSize)
	if data == nil || s.rows%cacheUnit != 0 {
		return false
	}
	codes := rows * stride
	b.lay(data[:codes:codes], floatsOf(data[codes:]), stride)
	return true
}

// verifyRows verifies the rows that the block was given.
func (s *savedBlock) verifyRows(names) error {
	if crc32.Checksum(s.tenant.file.part(s.rows, s.rowsSize), castagnoli) != s.rowsCRC {
		return useless("checksum of the rows of block %d", s.n)
	}
	return nil
}

// lay makes a block, whose tools are set, of rows that lie kind by kind.
func (b *block) lay(codes []byte, scales []float32, stride int) {
	at := 0
	for kind := range b.rows {
		r, n := &b.rows[kind], 0
		for i, t := range b.tools {
			r.first[i] = uint32(n)
			if t != nil {
				n += int(t.record.counts[kind])
			}
		}
		r.first[blockSize] = uint32(n)
		to := at + n
		r.codes, r.scales = codes[at*stride:to*stride:to*stride], scales[at:to:to]
		r.lacks, r.plain = b.lacking(r), r.isPlain()
		at = to
	}
	for _, t := range b.tools {
		if t != nil {
			b.required = append(b.required, t.required[:t.record.counts[rowParameters]]...)
		}
	}
}
