package index

import (
	"fmt"
	"math"
)

// MaxNorm bounds the length of a vector that is to be of unit length: beyond
// rounding, a longer one would outrank every other.
const MaxNorm = 1.01

// CheckVector returns why a vector cannot be searched among others of that many dimensions, or
// nil. An empty vector is fine: its text has no content to embed.
func CheckVector(v []float32, dimensions int) error {
	if len(v) != 0 && len(v) != dimensions {
		return fmt.Errorf("%d components, not %d", len(v), dimensions)
	}
	var square float64
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("component %d is %v", i, x)
		}
		square += float64(x) * float64(x)
	}
	if norm := math.Sqrt(square); norm > MaxNorm {
		return fmt.Errorf("length %v, not 1", norm)
	}
	return nil
}
