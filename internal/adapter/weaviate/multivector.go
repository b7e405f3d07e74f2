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

// listOf returns several vectors of one length under one name. One that is
// empty becomes zeros, which match nothing.
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

// encodeVectors returns the vectors that are there, nudged by a mask.
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
	for _, one := range out {
		nudge(components(one), mask)
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

// components returns the bytes of the numbers: a list has its dimensions in
// front.
func components(v *pb.Vectors) []byte {
	if isList(v.Name) {
		return v.VectorBytes[2:]
	}
	return v.VectorBytes
}

// decodeVectors reads what encodeVectors wrote.
func decodeVectors(to *events.Vectors, vectors []*pb.Vectors, mask uint32) error {
	for _, v := range vectors {
		if len(v.VectorBytes) == 0 {
			continue
		}
		size := 4 * to.Dimensions
		if isList(v.Name) && len(v.VectorBytes) < 2 || len(components(v))%size != 0 || len(components(v)) == 0 {
			return fmt.Errorf("weaviate: vector %s of %d bytes, with %d dimensions", v.Name, len(v.VectorBytes), to.Dimensions)
		}
		numbers := slices.Clone(components(v))
		nudge(numbers, mask)
		for one := range slices.Chunk(numbers, size) {
			take(to, v.Name, floats(one))
		}
	}
	return nil
}

func take(to *events.Vectors, name string, vector events.Vector) {
	switch name {
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

func appendFloats(b []byte, v []float32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// floats returns a vector, none where it is zeros: that is how a list holds an
// absent one.
func floats(b []byte) events.Vector {
	out := make(events.Vector, len(b)/4)
	zero := true
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		zero = zero && out[i] == 0
	}
	if zero {
		return nil
	}
	return out
}
