package flat

import "github.com/toolstream/toolstream/pkg/events"

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

// vectorsOf returns the vectors of one kind.
func vectorsOf(v *events.Vectors, kind int) []events.Vector {
	switch kind {
	case rowExamples:
		return v.Examples
	case rowParameters:
		return v.Parameters
	}
	if single := *single(v, kind); len(single) > 0 {
		return []events.Vector{single}
	}
	return nil
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

// vectorCount returns how many vectors there are of all kinds.
func vectorCount(v *events.Vectors) int {
	n := len(v.Examples) + len(v.Parameters)
	for kind := rowName; kind <= rowResponse; kind++ {
		if len(*single(v, kind)) > 0 {
			n++
		}
	}
	return n
}

// vectorBytes returns what the vectors take as float32.
func vectorBytes(v *events.Vectors) int { return 4 * v.Dimensions * vectorCount(v) }
