package vector

import "math"

// lane is the unit that rows are padded to: one register of the widest kernel.
const lane = 64

// MinRows is the fewest rows that the fastest kernels take: comparing a shorter run together
// with its neighbours is faster.
const MinRows = 4

// offset makes a signed code an unsigned byte.
const offset = 128

// codes is the largest absolute code.
const codes = 127

// Stride returns the bytes that one quantised row of that many components
// takes.
func Stride(dimensions int) int { return (dimensions + lane - 1) / lane * lane }

// Quantize writes v into row, which has Stride(len(v)) bytes, and returns the row's scale: the
// size of one step of its codes. A vector of zeros has scale 0. Components must be finite.
func Quantize(row []byte, v []float32) float32 {
	row = row[:Stride(len(v))]
	top := largest(v)
	encode(row, v, inverseOf(top))
	for i := len(v); i < len(row); i++ {
		row[i] = offset
	}
	return top / codes
}

func encodePlain(row []byte, v []float32, inverse float32) {
	for i, x := range v {
		row[i] = byte(nearest(x*inverse) + offset)
	}
}

// NormInflation returns the largest factor by which Quantize and NewQuery lengthen a vector of the
// given number of components: all except the largest are rounded up by half a step. For components
// of x steps it is sqrt((codes² + n(x+½)²) / (codes² + nx²)). Its maximum, sqrt(1 + 1/2x), is at
// x(x+½) = codes²/n.
func NormInflation(dimensions int) float64 {
	twice := math.Sqrt(0.25+4*codes*codes/float64(max(dimensions, 1))) - 0.5
	return math.Sqrt(1 + 1/twice)
}

// Query is the side of a product that meets many rows. It is immutable.
type Query struct {
	narrow []int8  // Stride codes, zeros after the last component
	wide   []int16 // the same, for kernels that multiply 16-bit values
	scale  float32
	bias   int32 // the contribution of the rows' offset to every sum
}

// NewQuery quantises v. Components must be finite.
func NewQuery(v []float32) Query {
	n := Stride(len(v))
	top := largest(v)
	inverse := inverseOf(top)
	q := Query{narrow: make([]int8, n), wide: make([]int16, n), scale: top / codes}
	for i, x := range v {
		code := nearest(x * inverse)
		q.narrow[i], q.wide[i] = int8(code), int16(code)
		q.bias += offset * code
	}
	return q
}

// Similarities sets dst[i] to the approximate inner product of q and row i,
// for len(dst) rows that lie side by side with as many scales.
func (q *Query) Similarities(dst []float32, rows []byte, scales []float32) {
	q.scan(dst, rows, scales, false)
}

// MaxInto is Similarities that keeps the larger of the product and the value in dst.
func (q *Query) MaxInto(dst []float32, rows []byte, scales []float32) {
	q.scan(dst, rows, scales, true)
}

// Length returns the length of q as it was quantised.
func (q *Query) Length() float64 {
	var square float64
	for _, code := range q.narrow {
		square += float64(code) * float64(code)
	}
	return math.Sqrt(square) * float64(q.scale)
}

func (q *Query) scan(dst []float32, rows []byte, scales []float32, raise bool) {
	n := len(dst)
	if n == 0 {
		return
	}
	rows, scales = rows[:n*len(q.narrow)], scales[:n]
	scan(q, dst, rows, scales, raise)
}

func scanPlain(q *Query, dst []float32, rows []byte, scales []float32, raise bool) {
	for i := range dst {
		row := rows[i*len(q.narrow):][:len(q.narrow)]
		sum := -q.bias
		for j, code := range q.narrow {
			sum += int32(code) * int32(row[j])
		}
		s := float32(sum) * scales[i] * q.scale
		if !raise || s > dst[i] {
			dst[i] = s
		}
	}
}

// Dot returns the inner product of a and b, which are equally long.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	return dot(a, b)
}

func dotPlain(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

func largestPlain(v []float32) float32 {
	var top float32
	for _, x := range v {
		top = max(top, x, -x)
	}
	return top
}

// inverseOf returns the factor that turns components into codes. It is 0 for vectors so small that
// their inverse is not finite: they count as zeros.
func inverseOf(top float32) float32 {
	const smallest = 1e-30
	if top < smallest {
		return 0
	}
	return codes / top
}

// nearest rounds to the nearest integer, halves to even, as processors do: added to magic, a
// float32 has no bits left for a fraction.
func nearest(x float32) int32 {
	const magic = 3 << 22
	return min(max(int32(float32(x)+magic-magic), -codes), codes)
}
