package distill

import (
	"math"

	"github.com/sourcegraph/conc/iter"
)

// matrix holds rows of equal length, one after the other.
type matrix struct {
	cols int
	data []float32
}

func newMatrix(rows, cols int) matrix { return matrix{cols, make([]float32, rows*cols)} }

func (m matrix) rows() int { return len(m.data) / m.cols }

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols : (i+1)*m.cols] }

// normalise brings v to length 1; zeros stay.
func normalise(v []float32) {
	if norm := math.Sqrt(float64(dot(v, v))); norm > 0 {
		for i := range v {
			v[i] = float32(float64(v[i]) / norm)
		}
	}
}

// dot is summed in four parts whose order is fixed: the same on every
// processor.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += float32(a[0] * b[0])
		s1 += float32(a[1] * b[1])
		s2 += float32(a[2] * b[2])
		s3 += float32(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy adds w times x to y.
func axpy(w float32, x, y []float32) {
	x = x[:len(y)]
	for len(y) >= 4 {
		y[0] += float32(w * x[0])
		y[1] += float32(w * x[1])
		y[2] += float32(w * x[2])
		y[3] += float32(w * x[3])
		x, y = x[4:], y[4:]
	}
	for i := range y {
		y[i] += float32(w * x[i])
	}
}

// eachRow calls f for 0 to n-1 on all processors, in blocks of a size. Calls must not
// write to the same place.
func eachRow(n, size int, f func(i int)) {
	iter.ForEachIdx(make([]struct{}, (n+size-1)/size), func(block int, _ *struct{}) {
		for i := block * size; i < min(n, (block+1)*size); i++ {
			f(i)
		}
	})
}
