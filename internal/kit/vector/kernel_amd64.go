package vector

import "golang.org/x/sys/cpu"

// Features of this processor; read once, never written again.
var (
	hasVNNI = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX2
	hasFMA  = cpu.X86.HasAVX2 && cpu.X86.HasFMA
)

// quad is how many rows the scan kernels take at once, and the fewest they
// take at all.
const quad = MinRows

// step is how many components the kernels for single vectors take at once.
const step = 32

func dot(a, b []float32) float32 {
	n := len(a) &^ (step - 1)
	if n == 0 || !hasFMA {
		return dotPlain(a, b)
	}
	sum := dotFMA(&a[0], &b[0], n)
	if n < len(a) {
		sum += dotPlain(a[n:], b[n:])
	}
	return sum
}

func largest(v []float32) float32 {
	n := len(v) &^ (step - 1)
	if n == 0 || !hasFMA {
		return largestPlain(v)
	}
	return max(largestAVX2(&v[0], n), largestPlain(v[n:]))
}

func encode(row []byte, v []float32, inverse float32) {
	n := len(v) &^ (step - 1)
	if n == 0 || !hasFMA {
		encodePlain(row, v, inverse)
		return
	}
	encodeAVX2(&row[0], &v[0], n, inverse)
	encodePlain(row[n:], v[n:], inverse)
}

func scan(q *Query, dst []float32, rows []byte, scales []float32, raise bool) {
	n := len(dst)
	if n < quad || len(q.narrow) == 0 || !hasFMA {
		scanPlain(q, dst, rows, scales, raise)
		return
	}
	scanQuads(q, dst, rows, scales, n&^(quad-1), raise)
	if rest := n - quad; n%quad != 0 {
		// The last rows, some of them a second time: to the same result.
		scanQuads(q, dst[rest:], rows[rest*len(q.narrow):], scales[rest:], quad, raise)
	}
}

// scanQuads scans n rows, a multiple of quad.
func scanQuads(q *Query, dst []float32, rows []byte, scales []float32, n int, raise bool) {
	if hasVNNI {
		scanVNNI(&dst[0], &rows[0], &scales[0], &q.narrow[0], len(q.narrow), n, q.bias, q.scale, raise)
		return
	}
	scanAVX2(&dst[0], &rows[0], &scales[0], &q.wide[0], len(q.wide), n, q.bias, q.scale, raise)
}

// scanVNNI computes dst[i] = (rows[i]·query - bias) * scales[i] * scale for n
// rows of stride bytes, n a multiple of quad above 0, stride one of lane.
//
//go:noescape
func scanVNNI(dst *float32, rows *byte, scales *float32, query *int8, stride, n int, bias int32, scale float32, raise bool)

// scanAVX2 is scanVNNI on 16-bit products: pairs of 8-bit ones would saturate.
//
//go:noescape
func scanAVX2(dst *float32, rows *byte, scales *float32, query *int16, stride, n int, bias int32, scale float32, raise bool)

// dotFMA returns the inner product of n components, a multiple of step above 0.
//
//go:noescape
func dotFMA(a, b *float32, n int) float32

// largestAVX2 returns the largest absolute value of n components, a multiple
// of step above 0.
//
//go:noescape
func largestAVX2(v *float32, n int) float32

// encodeAVX2 writes n codes, a multiple of step above 0.
//
//go:noescape
func encodeAVX2(row *byte, v *float32, n int, inverse float32)
