package flat

import (
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// format identifies the content of the records. It rises whenever the same document gets other
// bytes: another layout, other words, other quantised vectors. An index of another format is built
// again from the bus.
const format = 8

// The first byte of a record.
const (
	typeState = iota
	typeEntity
)

// The reasons for refusing a change permanently.
const (
	ReasonBadChange     = "bad_change"     // it names no entity, or holds no document
	ReasonBadVector     = "bad_vector"     // its vectors are missing or cannot be searched
	ReasonModelMismatch = "model_mismatch" // its vectors come from another model than the index's
)

// meta is the beginning of a record: the part of its entity that memory holds, and the lengths of
// the parts after it. A tombstone, which keeps the version of a deleted entity, consists only of
// meta.
type meta struct {
	schema.Ref
	Version     schema.Version
	Deleted     bool
	Accepted    time.Time
	Provider    string
	Callable    string `json:",omitempty"` // name of a tool, as schema.CallableName has it
	From        string `json:",omitempty"` // source that it was read from
	Endpoint    string `json:",omitempty"` // hash of the source's address, as events.Change has it
	Label       string `json:",omitempty"` // as index.Label has it
	Format      string
	Hints       toolschema.Hints // of a tool
	Hash        string
	First       uint64       `json:",omitempty"` // revision of its first document; 0: this one
	Sketch      index.Sketch `json:",omitempty"` // of a tool
	Tags        []string
	Required    []bool   // one per parameter
	Flags       []string `json:",omitempty"`
	Quarantined bool     // searches leave it out
	Pending     bool     // a language model will be asked about it
	Uncovered   bool     `json:",omitempty"` // the fields had no room for much of the source
	Dimensions  int
	Counts      counts // of the vectors
	Words       int    // bytes of the words
	Document    int    // bytes of the document
}

// origin returns the origin of a tool.
func (m *meta) origin() index.Origin {
	return index.Origin{Provider: m.Provider, From: m.From, Endpoint: m.Endpoint, Format: m.Format, Hints: m.Hints}
}

// record is one entity on disk: type, length of the meta data, meta data
// as JSON; then, as in memory, the codes and scales of the vectors and the words,
// which a start reads; then the exact vectors, the document as JSON and the raw
// document. Numbers are in the byte order of the machine.
type record struct {
	meta
	rows     quantised
	words    lexical.Document
	vectors  events.Vectors // without the model's name, which the state has
	document []byte
	raw      []byte

	doc  *schema.Document // document, decoded; not part of the bytes
	body int              // offset of the codes, once encoded
}

// newRecord turns a change into a record, without its codes and words.
// Errors are permanent.
func newRecord(c *events.Change) (*record, error) {
	if c.Tenant == "" || c.ID == "" || c.Kind != schema.KindTool && c.Kind != schema.KindProvider {
		return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: change of %s %q of tenant %q", c.Kind, c.ID, c.Tenant))
	}
	r := &record{meta: meta{Ref: c.Ref, Version: c.Version, Accepted: c.Accepted.UTC().Truncate(time.Microsecond)}}
	doc := c.Document
	switch {
	case c.Op == events.OpDelete:
		r.Deleted = true
		return r, nil
	case c.Op != events.OpUpsert:
		return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: change %q of %s", c.Op, c.ID))
	case doc == nil:
		return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: %s has no document", c.ID))
	}
	document, err := stdjson.Marshal(doc)
	if err != nil {
		return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: document of %s: %w", c.ID, err))
	}
	r.Provider, r.Callable, r.From, r.Endpoint, r.Format, r.Hash, r.First = c.Provider, c.CallableName, c.From, c.Endpoint, c.Format, c.Hash, c.First
	r.Label, r.Tags, r.Flags = index.Label(doc), doc.Tags, doc.Flags
	r.Quarantined, r.Pending, r.Uncovered = doc.Quarantined, doc.Pending(), doc.CoversLittle()
	if c.Kind == schema.KindTool {
		r.Sketch, r.Hints = index.SketchOf(doc, c.Provider), toolschema.HintsOf(c.Format, c.Raw)
	}
	r.document, r.raw, r.doc, r.Document = document, c.Raw, doc, len(document)
	r.Required = make([]bool, len(doc.Parameters))
	for i := range doc.Parameters {
		r.Required[i] = doc.Parameters[i].Required
	}
	if err := r.copyVectors(c); err != nil {
		return nil, stream.Permanent(ReasonBadVector, fmt.Errorf("flat: vectors of %s: %w", c.ID, err))
	}
	return r, nil
}

// copyVectors checks and copies a change's vectors into one array.
func (r *record) copyVectors(c *events.Change) error {
	v := c.Vectors
	switch {
	case v == nil || v.Dimensions <= 0:
		return errors.New("there are none")
	case len(v.Parameters) > len(c.Document.Parameters):
		return fmt.Errorf("%d for %d parameters", len(v.Parameters), len(c.Document.Parameters))
	case max(len(v.Parameters), len(v.Examples)) > maxVectors:
		return fmt.Errorf("more than %d of one kind", maxVectors)
	}
	r.vectors = events.Vectors{Model: v.Model, Dimensions: v.Dimensions}
	r.Dimensions, r.Counts = v.Dimensions, countsOf(v)
	all := make([]float32, 0, r.Counts.total()*v.Dimensions)
	for kind, vector := range each(v) {
		if err := index.CheckVector(vector, v.Dimensions); err != nil {
			return fmt.Errorf("a vector of kind %d: %w", kind, err)
		}
		from := len(all)
		all = append(all, vector...)
		all = all[:from+v.Dimensions] // a text without words has no vector: zeros, which match nothing
		addVector(&r.vectors, kind, all[from:len(all):len(all)])
	}
	return nil
}

// encode returns the record's bytes.
func (r *record) encode() ([]byte, error) {
	r.Words = len(r.words)
	b, err := encode(typeEntity, &r.meta)
	r.body = len(b)
	if err != nil || r.Deleted {
		return b, err
	}
	b = slices.Grow(b, len(r.rows.codes)+len(r.words)+len(r.document)+len(r.raw)+4*r.Counts.total()*(r.Dimensions+1))
	b = append(append(append(b, r.rows.codes...), bytesOf(r.rows.scales)...), r.words...)
	for _, x := range each(&r.vectors) {
		b = append(b, bytesOf(x)...)
	}
	return append(append(b, r.document...), r.raw...), nil
}

// encode returns a type, the length of a value as JSON, and the value.
func encode(recordType byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("flat: encode a record: %w", err)
	}
	return append(binary.NativeEndian.AppendUint32([]byte{recordType}, uint32(len(text))), text...), nil
}

// errRecord is the error for an unreadable record.
var errRecord = fmt.Errorf("%w: the layout of a record", segmentlog.ErrDamaged)

// decodeMeta reads the output of encode, and returns the bytes after it.
func decodeMeta(b []byte, value any) (body []byte, err error) {
	if len(b) < 5 || uint64(len(b)-5) < uint64(binary.NativeEndian.Uint32(b[1:])) {
		return nil, errRecord
	}
	end := 5 + int(binary.NativeEndian.Uint32(b[1:]))
	if err := json.Unmarshal(b[5:end], value); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return b[end:], nil
}

// The parts of a record after its meta data.
const (
	partCodes = iota
	partScales
	partWords
	partVectors
	partDocument
	partRaw
	partCount
)

// split returns the parts of a record, whose body may end with any of them. They are
// views of it.
func (m *meta) split(body []byte) (parts [partCount][]byte) {
	rows := m.Counts.total()
	for i, n := range [...]int{rows * vector.Stride(m.Dimensions), 4 * rows, m.Words, 4 * rows * m.Dimensions, m.Document} {
		n = min(n, len(body))
		parts[i], body = body[:n:n], body[n:]
	}
	parts[partRaw] = body
	return parts
}

// valid reports whether the parts of an entity are all there.
func (m *meta) valid(body []byte) bool {
	if m.Words < 0 || m.Document < 0 || m.Dimensions < 0 || m.Dimensions > 1<<20 || int(m.Counts[rowParameters]) > len(m.Required) {
		return false
	}
	p := m.split(body)
	return len(p[partVectors]) == 4*m.Counts.total()*m.Dimensions && len(p[partDocument]) == m.Document
}

// decode reads a whole record. Except for numbers, the result refers to b.
func decode(b []byte) (*record, error) {
	r := &record{}
	body, err := decodeMeta(b, &r.meta)
	if err != nil || r.Deleted {
		return r, err
	}
	if !r.valid(body) {
		return nil, errRecord
	}
	p := r.split(body)
	r.rows = quantised{p[partCodes], floats(nil, p[partScales])}
	r.words, r.document, r.raw = p[partWords], p[partDocument], p[partRaw]
	r.vectors.Dimensions = r.Dimensions
	spread(&r.vectors, &r.Counts, floats(nil, p[partVectors]))
	return r, nil
}

// bytesOf returns the memory of numbers.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// floats copies numbers, which need not be aligned, into memory, which grows as
// needed.
func floats(memory []float32, raw []byte) []float32 {
	memory = slices.Grow(memory[:0], len(raw)/4)[:len(raw)/4]
	copy(bytesOf(memory), raw)
	return memory
}

// state is the record that ends every batch.
type state struct {
	Entities   int            // live ones, so that it is noticed if segments are missing
	Model      string         // of all vectors; empty until the first vector
	Dimensions int            // of all vectors
	Positions  map[int]uint64 // last applied bus offset by partition
}

func (s *state) clone() *state {
	out := *s
	out.Positions = maps.Clone(s.Positions)
	return &out
}

// entity returns the record as the catalogue shows it.
func (r *record) entity() (schema.Entity, error) {
	e := schema.Entity{Ref: r.Ref, Version: r.Version, Provider: r.Provider, CallableName: r.Callable, From: r.From, Endpoint: r.Endpoint, Hash: r.Hash, Format: r.Format, Updated: r.Accepted}
	if err := stdjson.Unmarshal(r.document, &e.Document); err != nil {
		return e, fmt.Errorf("document of %s: %w", r.ID, err)
	}
	return e, nil
}
