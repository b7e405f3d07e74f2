//go:build !amd64

package vector

func dot(a, b []float32) float32 { return dotPlain(a, b) }

func scan(q *Query, dst []float32, rows []byte, scales []float32, raise bool) {
	scanPlain(q, dst, rows, scales, raise)
}
