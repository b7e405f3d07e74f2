package flat

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/boltfile"
)

// stateFormat is the first byte of the state record's payload.
const stateFormat = 1

// state is what one transaction leaves beside the records: how far the bus was
// read, and what the records have to add up to. A record that is lost, doubled
// or replaced by an older one does not go unnoticed.
type state struct {
	generation uint64         // rises by one with every transaction
	records    uint64         // entities and tombstones
	sum        uint64         // of the records' checksums, wrapping
	model      string         // that all vectors come from; empty as long as there are none
	dimensions int            // of all vectors
	positions  map[int]uint64 // last applied bus offset by partition
}

func (s *state) clone() state {
	out := *s
	out.positions = maps.Clone(s.positions)
	if out.positions == nil {
		out.positions = map[int]uint64{}
	}
	return out
}

// advance raises the positions; they never fall.
func (s *state) advance(through map[int]uint64) {
	for p, at := range through {
		s.positions[p] = max(s.positions[p], at)
	}
}

func (s *state) encode() []byte {
	b := append(make([]byte, 4, 64), stateFormat)
	for _, n := range []uint64{s.generation, s.records, s.sum, uint64(s.dimensions)} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendText(b, s.model)
	b = binary.AppendUvarint(b, uint64(len(s.positions)))
	for _, p := range slices.Sorted(maps.Keys(s.positions)) {
		b = binary.AppendVarint(b, int64(p))
		b = binary.AppendUvarint(b, s.positions[p])
	}
	binary.LittleEndian.PutUint32(b, checksum(stateKey, b[4:]))
	return b
}

func decodeState(b []byte) (state, error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b) != checksum(stateKey, b[4:]) {
		return state{}, boltfile.Damaged("checksum of the state record")
	}
	d := decoder{b: b[4:]}
	if format := d.byte(); format != stateFormat {
		return state{}, fmt.Errorf("state record of format %d, this program reads %d", format, stateFormat)
	}
	s := state{generation: d.uvarint(), records: d.uvarint(), sum: d.uvarint(), dimensions: int(d.uvarint()), model: d.text()}
	n := d.count(2)
	s.positions = make(map[int]uint64, n)
	for range n {
		p := d.varint()
		s.positions[int(p)] = d.uvarint()
	}
	if d.bad || len(d.b) > 0 {
		return state{}, boltfile.Damaged("layout of the state record")
	}
	return s, nil
}
