package flat

import (
	"iter"
	"math"

	"github.com/toolstream/toolstream/pkg/events"
)

// The kinds of row, in the order in which a record and a block hold them.
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

// vectorBytes returns what vectors take as float32.
func vectorBytes(v *events.Vectors) int {
	n := countsOf(v)
	return 4 * v.Dimensions * n.total()
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
