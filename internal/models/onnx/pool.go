package onnx

import (
	"fmt"
	"math"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/models/modelstore"
)

// reasonVector is the reason of the permanent error for a text that the model makes no vector of.
const reasonVector = "bad_vector"

// pool returns a unit vector for each row of the batch.
func pool(hidden []float32, b batch, d modelstore.Description) ([][]float32, error) {
	dimensions, perRow := d.Dimensions, b.length
	if d.Pooling == modelstore.None {
		perRow = 1
	}
	if len(hidden) != b.rows*perRow*dimensions {
		return nil, fmt.Errorf("the model's vectors have %d dimensions, its description says %d", len(hidden)/(b.rows*perRow), dimensions)
	}
	out := make([][]float32, b.rows)
	sum := make([]float64, dimensions)
	for i := range out {
		used := 1 // of cls, the first token
		if d.Pooling == modelstore.Mean {
			used = b.lengths[i]
		}
		row := hidden[i*perRow*dimensions:]
		clear(sum)
		for k := range used {
			for n, x := range row[k*dimensions : (k+1)*dimensions] {
				sum[n] += float64(x)
			}
		}
		v, err := unit(sum)
		if err != nil {
			return nil, stream.Permanent(reasonVector, err)
		}
		out[i] = v
	}
	return out, nil
}

// unit returns v at length 1; that a mean divides by the tokens does not
// change it.
func unit(v []float64) ([]float32, error) {
	var square float64
	for _, x := range v {
		square += x * x
	}
	norm := math.Sqrt(square)
	if !(norm > 1e-12) || math.IsInf(norm, 0) {
		return nil, fmt.Errorf("the model gave a vector of length %v", norm)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / norm)
	}
	return out, nil
}
