package flat

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// recordFormat is the first byte of every record's payload.
const recordFormat = 1

// errRecord is what a record that can not be read fails with.
var errRecord = errors.New("record is damaged")

// castagnoli is the polynomial that processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one entity as it lies on disk: whole, or a tombstone that keeps
// the version of what was deleted.
//
// Its bytes: CRC-32C of key and payload; format; 1 for a tombstone; revision,
// source version, time of acceptance; then, for an entity, agent, format,
// hash, tags, the parameters' required flags, the vectors, the document as
// JSON and the raw document. Numbers are varints, texts have their length in
// front, vectors are little-endian float32.
type record struct {
	ref      schema.Ref
	version  schema.Version
	deleted  bool
	accepted time.Time
	agent    string
	format   string
	hash     string
	tags     []string
	required []bool
	vectors  events.Vectors // without the model's name, which the state record has
	document []byte
	raw      []byte

	doc *schema.Document // document, decoded; not part of the bytes
}

// quarantined reports whether the document says so of itself. Few do, so that
// the others are not read for it.
func (r *record) quarantined() bool {
	if !bytes.Contains(r.document, []byte(`"quarantined"`)) {
		return false
	}
	var d struct{ Quarantined bool }
	return json.Unmarshal(r.document, &d) == nil && d.Quarantined
}

// key orders records by tenant, kind and id. Neither tenant nor id holds a
// control character.
func key(ref schema.Ref) []byte {
	k := make([]byte, 0, len(ref.Tenant)+2+len(ref.ID))
	k = append(k, prefix(ref.Tenant, ref.Kind)...)
	return append(k, ref.ID...)
}

// prefix is what the keys of one tenant and kind begin with.
func prefix(tenant string, kind schema.Kind) []byte {
	letter := byte('t')
	if kind == schema.KindAgent {
		letter = 'a'
	}
	return append([]byte(tenant), 0, letter)
}

func refOf(k []byte) (schema.Ref, error) {
	for i, c := range k {
		if c != 0 || i+1 == len(k) {
			continue
		}
		ref := schema.Ref{Tenant: string(k[:i]), Kind: schema.KindTool, ID: string(k[i+2:])}
		if k[i+1] == 'a' {
			ref.Kind = schema.KindAgent
		}
		return ref, nil
	}
	return schema.Ref{}, fmt.Errorf("%w: key %q", errRecord, k)
}

// encoded is what there is to know of a record's bytes.
type encoded struct {
	crc        uint32
	size       int
	vectors    int // where the components of the vectors begin
	dimensions int
	counts     counts
}

// encode returns the record's bytes, the checksum in front.
func (r *record) encode(k []byte) ([]byte, encoded) {
	var e encoded
	b := make([]byte, 4, 128+len(r.document)+len(r.raw)+vectorBytes(&r.vectors))
	b = appendVersion(append(b, recordFormat), r.version, r.deleted)
	b = binary.AppendVarint(b, r.accepted.UnixMicro())
	if !r.deleted {
		e.dimensions, e.counts = r.vectors.Dimensions, countsOf(&r.vectors)
		b = r.appendHead(b, e.counts)
		e.vectors = len(b)
		b = appendComponents(b, &r.vectors)
		b = appendText(b, r.document)
		b = appendText(b, r.raw)
	}
	e.crc, e.size = checksum(k, b[4:]), len(b)
	binary.LittleEndian.PutUint32(b, e.crc)
	return b, e
}

// appendHead writes what stands before the components of the vectors: the
// last of it is their dimensions and how many of each kind there are.
func (r *record) appendHead(b []byte, n counts) []byte {
	for _, s := range []string{r.agent, r.format, r.hash} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(r.tags)))
	for _, tag := range r.tags {
		b = appendText(b, tag)
	}
	b = binary.AppendUvarint(b, uint64(len(r.required)))
	for _, required := range r.required {
		b = append(b, flag(required))
	}
	b = binary.AppendUvarint(b, uint64(r.vectors.Dimensions))
	for _, count := range n {
		b = binary.AppendUvarint(b, uint64(count))
	}
	return b
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendComponents(b []byte, v *events.Vectors) []byte {
	for _, x := range each(v) {
		b = appendFloats(b, x)
	}
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func checksum(k, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, payload)
}

// decode reads what encode wrote under that key, but for the vectors. The
// record's document and raw bytes are views of b; everything else is its own.
func decode(k, b []byte) (*record, encoded, error) {
	if err := verify(k, b); err != nil {
		return nil, encoded{}, err
	}
	ref, err := refOf(k)
	if err != nil {
		return nil, encoded{}, err
	}
	return parse(ref, b)
}

// verify compares a record with its checksum.
func verify(k, b []byte) error {
	if len(b) < 4 || crcOf(b) != checksum(k, b[4:]) {
		return fmt.Errorf("%w: checksum of %q", errRecord, k)
	}
	return nil
}

// parse is decode for bytes that are verified.
func parse(ref schema.Ref, b []byte) (*record, encoded, error) {
	d := decoder{b: b[4:]}
	r, e := &record{ref: ref}, encoded{crc: crcOf(b), size: len(b)}
	if format := d.byte(); format != recordFormat {
		return nil, encoded{}, fmt.Errorf("%w: format %d of %q", errRecord, format, ref.ID)
	}
	r.version, r.deleted = d.version()
	r.accepted = time.UnixMicro(d.varint()).UTC()
	if !r.deleted {
		d.head(r, &e)
		e.vectors = len(b) - len(d.b)
		d.take(uint64(e.components()) * 4)
		r.document, r.raw = d.bytes(), d.bytes()
	}
	if d.bad || len(d.b) > 0 {
		return nil, encoded{}, fmt.Errorf("%w: layout of %q", errRecord, ref.ID)
	}
	return r, e, nil
}

// crcOf returns the checksum that encode put in front.
func crcOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// versionOf returns the version in a record's bytes, nothing where they are cut
// short.
func versionOf(b []byte) schema.Version {
	d := decoder{b: b[4:]}
	d.take(1) // format
	v, _ := d.version()
	return v
}

// The bits of the byte in front of a version.
const (
	bitDeleted = 1 << iota
	bitEdition // an edition follows the rest of the version
)

// appendVersion writes a version, and the edition only where there is one.
func appendVersion(b []byte, v schema.Version, deleted bool) []byte {
	bits := flag(deleted) * bitDeleted
	if v.Edition != 0 {
		bits |= bitEdition
	}
	b = append(b, bits)
	b = binary.AppendUvarint(b, v.Revision)
	b = binary.AppendUvarint(b, v.Source)
	if v.Edition != 0 {
		b = binary.AppendUvarint(b, v.Edition)
	}
	return b
}

// version reads what appendVersion wrote.
func (d *decoder) version() (v schema.Version, deleted bool) {
	bits := d.byte()
	v = schema.Version{Revision: d.uvarint(), Source: d.uvarint()}
	if bits&bitEdition != 0 {
		v.Edition = d.uvarint()
	}
	return v, bits&bitDeleted != 0
}

// decoder reads a payload from the front. Once anything is missing it is bad,
// and everything after is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return x
}

// varint reads what binary.AppendVarint wrote, which has the sign last.
func (d *decoder) varint() int64 {
	x := d.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// count reads how many things follow that take at least size bytes each.
func (d *decoder) count(size uint64) int {
	n := d.uvarint()
	if n > uint64(len(d.b))/max(size, 1) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte { return d.take(d.uvarint()) }
func (d *decoder) text() string  { return string(d.bytes()) }

func (d *decoder) head(r *record, e *encoded) {
	r.agent, r.format, r.hash = d.text(), d.text(), d.text()
	r.tags = make([]string, d.count(1))
	for i := range r.tags {
		r.tags[i] = d.text()
	}
	r.required = make([]bool, d.count(1))
	for i := range r.required {
		r.required[i] = d.byte() == 1
	}
	e.dimensions = int(d.uvarint() & math.MaxInt32)
	for kind := range e.counts {
		count := d.count(uint64(max(4*e.dimensions, 1)))
		d.bad = d.bad || count > maxVectors
		e.counts[kind] = uint16(count)
	}
}

// components returns how many numbers all vectors have together.
func (e *encoded) components() int { return e.counts.total() * e.dimensions }

// of returns the components in the record's bytes.
func (e *encoded) of(b []byte) []byte { return b[e.vectors:][:4*e.components()] }

// entity returns the record as the catalogue shows it.
func (r *record) entity() (schema.Entity, error) {
	e := schema.Entity{Ref: r.ref, Version: r.version, Agent: r.agent, Hash: r.hash, Format: r.format, Updated: r.accepted}
	if err := json.Unmarshal(r.document, &e.Document); err != nil {
		return e, fmt.Errorf("document of %s: %w", r.ref.ID, err)
	}
	return e, nil
}
