package weaviate

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolstream/toolstream/pkg/events"
)

// The stubs that client v4 pins were generated before vectors had a type. The
// server reads it from fields that the stubs do not know, so they are written
// as such: Vectors.type and NearVector.vectors of weaviate/grpc/proto/v1.
const (
	fieldType    = 4
	fieldVectors = 9
	typeList     = 2 // VECTOR_TYPE_MULTI_FP32
)

// listOf returns several vectors of one length under one name. An empty vector becomes zeros,
// which match nothing.
func listOf(name string, dimensions int, vectors [][]float32) *pb.Vectors {
	b := binary.LittleEndian.AppendUint16(make([]byte, 0, 2+4*dimensions*len(vectors)), uint16(dimensions))
	for _, v := range vectors {
		b = appendFloats(b, v)
		b = append(b, make([]byte, 4*(dimensions-len(v)))...)
	}
	out := &pb.Vectors{Name: name, VectorBytes: b}
	out.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, fieldType, protowire.VarintType), typeList))
	return out
}

// nearList returns the question for a named vector that is a list: the sum, over
// the vectors asked, of the best product with any of the object's.
func nearList(name string, vectors [][]float32) (*pb.NearVector, error) {
	raw, err := proto.Marshal(listOf("", len(vectors[0]), vectors))
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	near := &pb.NearVector{Targets: &pb.Targets{TargetVectors: []string{name}}}
	near.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, fieldVectors, protowire.BytesType), raw))
	return near, nil
}

// near returns the question for a named vector that is one.
func near(name string, vector []float32) *pb.NearVector {
	return &pb.NearVector{VectorBytes: appendFloats(nil, vector), Targets: &pb.Targets{TargetVectors: []string{name}}}
}

// encodeVectors returns the vectors that are there. The mask flips the lowest bits of
// their first components, one unit in the last place: Weaviate then takes a vector for
// another one than it has, and indexes it. It would not index equal vectors again,
// although a crash may have lost them.
func encodeVectors(v *events.Vectors, mask uint32) []*pb.Vectors {
	var out []*pb.Vectors
	one := func(name string, vector events.Vector) {
		if len(vector) > 0 {
			out = append(out, &pb.Vectors{Name: name, VectorBytes: appendFloats(nil, vector)})
		}
	}
	list := func(name string, vectors []events.Vector) {
		if len(vectors) > 0 {
			out = append(out, listOf(name, v.Dimensions, plain(vectors)))
		}
	}
	one(vectorName, v.Name)
	one(vectorFlat, v.Flat)
	one(vectorDescription, v.Description)
	one(vectorResponse, v.Response)
	list(vectorExamples, v.Examples)
	list(vectorParameters, v.Parameters)
	for _, v := range out {
		numbers := v.VectorBytes
		if isList(v.Name) {
			numbers = numbers[2:] // the dimensions
		}
		for bit := range min(32, len(numbers)/4) {
			numbers[4*bit] ^= byte(mask >> bit & 1)
		}
	}
	return out
}

func plain(vectors []events.Vector) [][]float32 {
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = v
	}
	return out
}

func appendFloats(b []byte, v []float32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// decodeVectors reverses encodeVectors, except for changes by a mask.
func decodeVectors(to *events.Vectors, vectors []*pb.Vectors) error {
	for _, v := range vectors {
		b := v.VectorBytes
		if isList(v.Name) && len(b) >= 2 {
			b = b[2:] // the dimensions
		}
		if len(b)%(4*to.Dimensions) != 0 {
			return fmt.Errorf("weaviate: vector %s of %d bytes, with %d dimensions", v.Name, len(b), to.Dimensions)
		}
		for one := range slices.Chunk(b, 4*to.Dimensions) {
			vector := make(events.Vector, to.Dimensions)
			for i := range vector {
				vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(one[4*i:]))
			}
			switch v.Name {
			case vectorName:
				to.Name = vector
			case vectorFlat:
				to.Flat = vector
			case vectorDescription:
				to.Description = vector
			case vectorResponse:
				to.Response = vector
			case vectorExamples:
				to.Examples = append(to.Examples, vector)
			case vectorParameters:
				to.Parameters = append(to.Parameters, vector)
			}
		}
	}
	return nil
}
