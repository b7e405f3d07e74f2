package schema

import (
	"encoding/base64"
	"math"
)

// MaxDimensions is the most components that a Direction has.
const MaxDimensions = 8 << 10

// MaxModel is the longest name of an embedding model, in bytes.
const MaxModel = 256

// steps is the largest component of a Direction.
const steps = 127

// Direction is the direction of an embedding: every component as a share of the largest one,
// in steps of 1/127, without the length. In JSON it is base64 text of one byte a component. It
// has no NaN and never only zeros. Without an embedding, it is empty.
type Direction []int8

// NewDirection returns the direction of v, nil for a vector that is empty, zero, not finite or
// too long to be an embedding.
func NewDirection(v []float32) Direction {
	var top float32
	for _, x := range v {
		if x != x {
			return nil
		}
		top = max(top, x, -x)
	}
	if top == 0 || math.IsInf(float64(top), 0) || len(v) > MaxDimensions {
		return nil
	}
	d := make(Direction, len(v))
	for i, x := range v {
		d[i] = int8(math.RoundToEven(float64(x) / float64(top) * steps))
	}
	return d
}

// Validate refuses values that NewDirection never returns. The error is an *Invalid
// with path "".
func (d Direction) Validate() error {
	if len(d) > MaxDimensions {
		return invalid("", len(d), "must have at most %d components", MaxDimensions)
	}
	zeros := true
	for _, x := range d {
		if x < -steps {
			return invalid("", x, "must have components of %d to %d", -steps, steps)
		}
		zeros = zeros && x == 0
	}
	if zeros && len(d) > 0 {
		return invalid("", len(d), "must have a component that is not 0")
	}
	return nil
}

// Length returns the length of d in steps; it is 0 for the empty one alone.
func (d Direction) Length() float64 {
	var square int
	for _, x := range d {
		square += int(x) * int(x)
	}
	return math.Sqrt(float64(square))
}

// Cosine returns the cosine of the angle between d and e, 0 if they are empty or differ in
// length.
func (d Direction) Cosine(e Direction) float64 {
	if len(d) != len(e) || len(d) == 0 {
		return 0
	}
	var dot int
	for i, x := range d {
		dot += int(x) * int(e[i])
	}
	return float64(dot) / (d.Length() * e.Length())
}

// MarshalText encodes the direction; an empty one is an empty text.
func (d Direction) MarshalText() ([]byte, error) {
	raw := make([]byte, len(d))
	for i, x := range d {
		raw[i] = byte(x)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes what MarshalText wrote, and refuses the rest before it
// takes memory for it.
func (d *Direction) UnmarshalText(text []byte) error {
	if most := base64.StdEncoding.EncodedLen(MaxDimensions); len(text) > most {
		return invalid("", len(text), "must be at most %d bytes of base64", most)
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return invalid("", string(text), "must be base64")
	}
	out := make(Direction, len(raw))
	for i, x := range raw {
		out[i] = int8(x)
	}
	if err := out.Validate(); err != nil {
		return err
	}
	*d = out
	return nil
}
