package distill

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
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

// parallel calls f for each of n blocks, on all processors. Blocks must not
// write to the same place; then the result does not depend on who does what.
func parallel(n int, f func(block int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for {
				block := int(next.Add(1)) - 1
				if block >= n {
					return
				}
				f(block)
			}
		})
	}
	all.Wait()
}

// eachRow calls f for 0 to n-1 on all processors, in blocks of a size.
func eachRow(n, size int, f func(i int)) {
	parallel((n+size-1)/size, func(block int) {
		for i := block * size; i < min(n, (block+1)*size); i++ {
			f(i)
		}
	})
}
