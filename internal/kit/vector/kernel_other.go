//go:build !amd64

package vector

func dot(a, b []float32) float32 { return dotPlain(a, b) }

func scan(q *Query, dst []float32, rows []byte, scales []float32, raise bool) {
	scanPlain(q, dst, rows, scales, raise)
}

func largest(v []float32) float32 { return largestPlain(v) }

func encode(row []byte, v []float32, inverse float32) { encodePlain(row, v, inverse) }
