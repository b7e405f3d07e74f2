package flat

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unique"

	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// blockSize is the number of slots in a block: as many as a word has bits, and
// few enough that a change copies little.
const blockSize = 64

// tool is one live entity in memory. It is immutable, but for being pinned.
type tool struct {
	ref      schema.Ref
	version  schema.Version
	agent    unique.Handle[string]
	tags     []unique.Handle[string]
	required []bool  // one per parameter
	record   encoded // how it lies in the file

	quarantined bool // searches leave it out

	pinned atomic.Pointer[events.Vectors] // its exact vectors, once the file holds others
}

func newTool(r *record, e encoded) *tool {
	t := &tool{ref: r.ref, version: r.version, agent: unique.Make(r.agent), required: r.required, record: e, quarantined: r.quarantined()}
	for _, tag := range r.tags {
		t.tags = append(t.tags, unique.Make(tag))
	}
	return t
}

// change is what a slot is to hold: an entity with its quantised vectors, kind
// by kind, or nothing.
type change struct {
	slot uint32
	tool *tool
	quantised
}

// quantised are vectors side by side, kind by kind.
type quantised struct {
	codes  []byte
	scales []float32
}

// add quantises vectors behind those that are there.
func (q *quantised) add(v *events.Vectors) {
	stride := vector.Stride(v.Dimensions)
	for _, x := range each(v) {
		at := len(q.codes)
		q.codes = slices.Grow(q.codes, stride)[:at+stride]
		q.scales = append(q.scales, vector.Quantize(q.codes[at:], x))
	}
}

// of returns the rows of one kind.
func (c *change) of(kind, stride int) ([]byte, []float32) {
	if c.tool == nil {
		return nil, nil
	}
	from := 0
	for _, n := range c.tool.record.counts[:kind] {
		from += int(n)
	}
	to := from + int(c.tool.record.counts[kind])
	return c.codes[from*stride : to*stride], c.scales[from:to]
}

// block holds the entities of blockSize neighbouring slots and their quantised
// vectors. It is immutable.
type block struct {
	live   uint64 // bit i: slot i holds an entity
	agents uint64 // bit i: it is an agent
	hidden uint64 // bit i: it is in quarantine
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

// with returns a block in which some slots hold something else; of two changes
// to one slot the later counts. stride is the bytes of a row.
func (b *block) with(changes []change, stride int) *block {
	out := &block{live: b.live, agents: b.agents, hidden: b.hidden, tools: b.tools, owner: b.owner}
	var changed [blockSize]*change
	for n := range changes {
		c := &changes[n]
		i := int(c.slot % blockSize)
		out.set(i, c.tool)
		changed[i] = c
	}
	out.fill(b, &changed, stride)
	return out
}

func (b *block) set(i int, t *tool) {
	bit := uint64(1) << i
	b.live, b.agents, b.hidden = b.live&^bit, b.agents&^bit, b.hidden&^bit
	b.tools[i], b.owner[i] = t, unique.Handle[string]{}
	if t == nil {
		return
	}
	b.live |= bit
	b.owner[i] = t.agent
	if t.quarantined {
		b.hidden |= bit
	}
	if t.ref.Kind == schema.KindAgent {
		b.agents |= bit
		b.owner[i] = unique.Make(t.ref.ID)
	}
}

// fill copies the rows, those of changed slots from their changes. All kinds
// lie in one array, so that a scan is one stream.
func (b *block) fill(old *block, changed *[blockSize]*change, stride int) {
	total := 0
	for _, t := range b.tools {
		if t != nil {
			total += t.record.counts.total()
			b.required = append(b.required, t.required[:t.record.counts[rowParameters]]...)
		}
	}
	codes, scales := make([]byte, 0, total*stride), make([]float32, 0, total)
	for kind := range kinds {
		r := &b.rows[kind]
		startCode, startScale := len(codes), len(scales)
		for i := range blockSize {
			r.first[i] = uint32(len(scales) - startScale)
			var c []byte
			var s []float32
			if changed[i] != nil {
				c, s = changed[i].of(kind, stride)
			} else {
				c, s = old.rows[kind].of(i, i+1, stride)
			}
			codes, scales = append(codes, c...), append(scales, s...)
		}
		r.first[blockSize] = uint32(len(scales) - startScale)
		r.codes, r.scales = codes[startCode:len(codes):len(codes)], scales[startScale:len(scales):len(scales)]
		r.lacks = b.lacking(r)
		r.plain = r.isPlain()
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

// bytes returns what the quantised vectors take.
func (b *block) bytes() int {
	n := 0
	for i := range b.rows {
		n += len(b.rows[i].codes) + 4*len(b.rows[i].scales)
	}
	return n
}
