//go:build !amd64

package vector

type scanFunc func(q *Query, dst []float32, rows []byte, scales []float32, raise bool)

// scans returns every kernel that this machine can run.
func scans() map[string]scanFunc {
	return map[string]scanFunc{"chosen": scan, "plain": scanPlain}
}
