package events

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Vector is an embedding. Its JSON form is the base64 text of its
// little-endian float32 values: a third of the size of a list of decimals, and
// exact.
type Vector []float32

// MarshalText encodes the vector; an empty one is an empty text.
func (v Vector) MarshalText() ([]byte, error) {
	raw := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes what MarshalText wrote. Bytes that are not whole
// floats, NaN and infinities are errors.
func (v *Vector) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("vector: %d bytes are not whole float32 values", len(raw))
	}
	out := make(Vector, len(raw)/4)
	for i := range out {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if x != x || math.IsInf(float64(x), 0) {
			return fmt.Errorf("vector: component %d is %v", i, x)
		}
		out[i] = x
	}
	*v = out
	return nil
}
