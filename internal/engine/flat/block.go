package flat

import (
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"unique"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// blockSize is the number of slots in a block: as many as a word has bits, and
// few enough that a change copies little.
const blockSize = 64

// change is the new content of a slot: an entity with its quantised vectors, kind
// by kind, and its words; or nothing, if the entity is deleted.
type change struct {
	slot   uint32
	entity *entity
	quantised
	words lexical.Document
}

// quantised are vectors side by side, kind by kind.
type quantised struct {
	codes  []byte
	scales []float32
}

// add quantises vectors and appends them.
func (q *quantised) add(v *events.Vectors) {
	stride := vector.Stride(v.Dimensions)
	for _, x := range each(v) {
		at := len(q.codes)
		q.codes = slices.Grow(q.codes, stride)[:at+stride]
		q.scales = append(q.scales, vector.Quantize(q.codes[at:], x))
	}
}

// rows returns the rows of one kind.
func (c *change) rows(kind, stride int) ([]byte, []float32) {
	if c.entity.deleted() {
		return nil, nil
	}
	from := 0
	for _, n := range c.entity.counts[:kind] {
		from += int(n)
	}
	to := from + int(c.entity.counts[kind])
	return c.codes[from*stride : to*stride], c.scales[from:to]
}

// block holds the entities of blockSize neighbouring slots and their quantised
// vectors. It is immutable.
type block struct {
	generation uint64 // no other block of the process has it; 0: the block is empty
	live       uint64 // bit i: slot i holds an entity
	providers  uint64 // bit i: it is a provider
	hidden     uint64 // bit i: it is in quarantine
	flagged    uint64 // bit i: it has flags
	destroys   uint64 // bit i: it is a tool whose calls may destroy something
	entities   [blockSize]*entity
	called     [blockSize]uint32                // as entities have it
	owner      [blockSize]unique.Handle[string] // the tools' providers, and the providers themselves
	origin     [blockSize]unique.Handle[index.Origin]
	rows       [kinds]rows
}

// generations numbers the blocks of the process.
var generations atomic.Uint64

// rows are the quantised vectors of one kind, in the order of slots.
type rows struct {
	first  [blockSize + 1]uint32 // slot i has the rows from first[i] to first[i+1]
	lacks  uint64                // bit i: slot i is live and lacks the vector
	plain  bool                  // every slot has exactly one
	codes  []byte
	scales []float32
}

// between returns the rows of a run of slots.
func (r *rows) between(from, to, stride int) ([]byte, []float32) {
	a, b := int(r.first[from]), int(r.first[to])
	return r.codes[a*stride : b*stride], r.scales[a:b]
}

// with returns a copy of the block with some slots changed; the later of two changes
// to one slot counts. stride is the bytes of a row. All kinds share one array, so that a scan is
// one stream.
func (b *block) with(changes []change, stride int) *block {
	out := &block{generation: generations.Add(1), live: b.live, providers: b.providers, hidden: b.hidden, flagged: b.flagged, destroys: b.destroys, entities: b.entities, called: b.called, owner: b.owner, origin: b.origin}
	var changed [blockSize]*change
	for n := range changes {
		c := &changes[n]
		i := int(c.slot % blockSize)
		out.set(i, c.entity)
		changed[i] = c
	}
	total := 0
	for _, e := range out.entities {
		if e != nil {
			total += e.counts.total()
		}
	}
	codes, scales := make([]byte, 0, total*stride), make([]float32, 0, total)
	for kind := range kinds {
		r := &out.rows[kind]
		startCode, startScale := len(codes), len(scales)
		for i := range blockSize {
			r.first[i] = uint32(len(scales) - startScale)
			var c []byte
			var s []float32
			if changed[i] != nil {
				c, s = changed[i].rows(kind, stride)
			} else {
				c, s = b.rows[kind].between(i, i+1, stride)
			}
			codes, scales = append(codes, c...), append(scales, s...)
		}
		r.first[blockSize] = uint32(len(scales) - startScale)
		r.codes, r.scales = codes[startCode:len(codes):len(codes)], scales[startScale:len(scales):len(scales)]
		r.lacks = keep(out.live, func(i int) bool { return r.first[i] == r.first[i+1] })
		r.plain = r.isPlain()
	}
	return out
}

// set changes a slot, but not its rows.
func (b *block) set(i int, e *entity) {
	bit := uint64(1) << i
	b.live, b.providers, b.hidden, b.flagged, b.destroys = b.live&^bit, b.providers&^bit, b.hidden&^bit, b.flagged&^bit, b.destroys&^bit
	b.entities[i], b.called[i], b.owner[i], b.origin[i] = nil, 0, unique.Handle[string]{}, unique.Handle[index.Origin]{}
	if e.deleted() {
		return
	}
	b.live |= bit
	b.entities[i], b.called[i] = e, e.called
	b.owner[i], b.origin[i] = e.provider, e.origin
	if e.quarantined {
		b.hidden |= bit
	}
	if len(e.flags) > 0 {
		b.flagged |= bit
	}
	if e.origin.Value().Hints.Destructive {
		b.destroys |= bit
	}
	if e.ref.Kind == schema.KindProvider {
		b.providers |= bit
		b.owner[i] = unique.Make(e.ref.ID)
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

// The kinds of row, in their order in records and blocks.
const (
	rowName = iota
	rowFlat
	rowDescription
	rowResponse
	rowExamples
	rowParameters
	kinds
)

// each goes through vectors kind by kind.
func each(v *events.Vectors) iter.Seq2[int, events.Vector] {
	return func(yield func(int, events.Vector) bool) {
		for kind := rowName; kind <= rowResponse; kind++ {
			if x := *single(v, kind); len(x) > 0 && !yield(kind, x) {
				return
			}
		}
		for _, x := range v.Examples {
			if !yield(rowExamples, x) {
				return
			}
		}
		for _, x := range v.Parameters {
			if !yield(rowParameters, x) {
				return
			}
		}
	}
}

// addVector appends one vector of a kind.
func addVector(v *events.Vectors, kind int, vector events.Vector) {
	switch kind {
	case rowExamples:
		v.Examples = append(v.Examples, vector)
	case rowParameters:
		v.Parameters = append(v.Parameters, vector)
	default:
		*single(v, kind) = vector
	}
}

// single returns where the vector of a kind that has at most one is kept.
func single(v *events.Vectors, kind int) *events.Vector {
	switch kind {
	case rowName:
		return &v.Name
	case rowFlat:
		return &v.Flat
	case rowDescription:
		return &v.Description
	}
	return &v.Response
}

// maxVectors is how many vectors of one kind an entity may have.
const maxVectors = math.MaxUint16

// counts are how many vectors of each kind there are.
type counts [kinds]uint16

func countsOf(v *events.Vectors) counts {
	n := counts{rowExamples: uint16(len(v.Examples)), rowParameters: uint16(len(v.Parameters))}
	for kind := rowName; kind <= rowResponse; kind++ {
		if len(*single(v, kind)) > 0 {
			n[kind] = 1
		}
	}
	return n
}

func (c *counts) total() int {
	n := 0
	for _, count := range c {
		n += int(count)
	}
	return n
}

// spread makes vectors of components that lie one after the other.
func spread(v *events.Vectors, n *counts, all []float32) {
	dims := v.Dimensions
	for kind, count := range n {
		for range count {
			addVector(v, kind, all[:dims:dims])
			all = all[dims:]
		}
	}
}
