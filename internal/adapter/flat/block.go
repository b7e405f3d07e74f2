package flat

import (
	"math/bits"
	"unique"

	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// blockSize is the number of slots in a block: as many as a word has bits, and
// few enough that a change copies little.
const blockSize = 64

// tool is one live entity in memory. It is immutable.
type tool struct {
	ref      schema.Ref
	agent    unique.Handle[string]
	tags     []unique.Handle[string]
	required []bool         // one per parameter
	vectors  events.Vectors // all parts of one array
	document int            // bytes of document and raw document, which stay on disk
	crc      uint32         // of the record
}

func newTool(r *record, crc uint32) *tool {
	t := &tool{
		ref: r.ref, agent: unique.Make(r.agent), required: r.required,
		vectors: r.vectors, document: len(r.document) + len(r.raw), crc: crc,
	}
	for _, tag := range r.tags {
		t.tags = append(t.tags, unique.Make(tag))
	}
	return t
}

// block holds the entities of blockSize neighbouring slots and their quantised
// vectors. It is immutable.
type block struct {
	live   uint64 // bit i: slot i holds an entity
	agents uint64 // bit i: it is an agent
	tools  [blockSize]*tool
	owner  [blockSize]unique.Handle[string] // the tools' agents, and the agents themselves
	rows   [kinds]rows

	required []bool // for each row of rowParameters
}

// rows are the quantised vectors of one kind, in the order of slots.
type rows struct {
	first  [blockSize + 1]uint32 // slot i has the rows from first[i] to first[i+1]
	lacks  uint64                // bit i: slot i is live and has none
	plain  bool                  // every slot has exactly one
	codes  []byte
	scales []float32
}

// of returns the rows of a run of slots.
func (r *rows) of(from, to, stride int) ([]byte, []float32) {
	a, b := int(r.first[from]), int(r.first[to])
	return r.codes[a*stride : b*stride], r.scales[a:b]
}

// change is what a slot is to hold: an entity, or none where it is nil.
type change struct {
	slot uint32
	tool *tool
}

// with returns a block in which some slots hold something else; of two changes
// to one slot the later counts. stride is the bytes of a row.
func (b *block) with(changes []change, stride int) *block {
	out := &block{live: b.live, agents: b.agents, tools: b.tools, owner: b.owner}
	var changed uint64
	for _, c := range changes {
		i := int(c.slot % blockSize)
		out.set(i, c.tool)
		changed |= 1 << i
	}
	out.quantise(b, changed, stride)
	return out
}

func (b *block) set(i int, t *tool) {
	bit := uint64(1) << i
	b.live, b.agents = b.live&^bit, b.agents&^bit
	b.tools[i], b.owner[i] = t, unique.Handle[string]{}
	if t == nil {
		return
	}
	b.live |= bit
	b.owner[i] = t.agent
	if t.ref.Kind == schema.KindAgent {
		b.agents |= bit
		b.owner[i] = unique.Make(t.ref.ID)
	}
}

// quantise fills the rows: copies where an entity is as before, new codes
// where not. All kinds lie in one array, so that a scan is one stream.
func (b *block) quantise(old *block, changed uint64, stride int) {
	total := 0
	for _, t := range b.tools {
		if t != nil {
			total += vectorCount(&t.vectors)
		}
	}
	codes, scales := make([]byte, 0, total*stride), make([]float32, 0, total)
	for kind := range kinds {
		r := &b.rows[kind]
		startCode, startScale := len(codes), len(scales)
		for i := range blockSize {
			r.first[i] = uint32(len(scales) - startScale)
			if changed>>i&1 == 1 {
				codes, scales = appendRows(codes, scales, b.tools[i], kind, stride)
				continue
			}
			c, s := old.rows[kind].of(i, i+1, stride)
			codes, scales = append(codes, c...), append(scales, s...)
		}
		r.first[blockSize] = uint32(len(scales) - startScale)
		r.codes, r.scales = codes[startCode:len(codes):len(codes)], scales[startScale:len(scales):len(scales)]
		r.lacks = b.lacking(r)
		r.plain = r.isPlain()
	}
	for _, t := range b.tools {
		if t != nil {
			b.required = append(b.required, t.required[:len(t.vectors.Parameters)]...)
		}
	}
}

func (r *rows) isPlain() bool {
	for i, first := range r.first {
		if int(first) != i {
			return false
		}
	}
	return true
}

func appendRows(codes []byte, scales []float32, t *tool, kind, stride int) ([]byte, []float32) {
	if t == nil {
		return codes, scales
	}
	for _, v := range vectorsOf(&t.vectors, kind) {
		at := len(codes)
		codes = codes[:at+stride]
		scales = append(scales, vector.Quantize(codes[at:], v))
	}
	return codes, scales
}

func (b *block) lacking(r *rows) uint64 {
	var out uint64
	for live := b.live; live != 0; live &= live - 1 {
		i := bits.TrailingZeros64(live)
		if r.first[i] == r.first[i+1] {
			out |= 1 << i
		}
	}
	return out
}

// quantised returns what the quantised vectors take.
func (b *block) quantised() int {
	n := 0
	for i := range b.rows {
		n += len(b.rows[i].codes) + 4*len(b.rows[i].scales)
	}
	return n
}

// bytes returns what all vectors take.
func (b *block) bytes() int {
	n := b.quantised()
	for _, t := range b.tools {
		if t != nil {
			n += vectorBytes(&t.vectors)
		}
	}
	return n
}
