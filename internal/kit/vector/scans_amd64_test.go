package vector

type scanFunc func(q *Query, dst []float32, rows []byte, scales []float32, raise bool)

// scans returns every kernel that this machine can run.
func scans() map[string]scanFunc {
	out := map[string]scanFunc{"chosen": scan, "plain": scanPlain}
	if hasFMA {
		out["avx2"] = func(q *Query, dst []float32, rows []byte, scales []float32, raise bool) {
			n := len(dst) &^ (quad - 1)
			if n > 0 {
				scanAVX2(&dst[0], &rows[0], &scales[0], &q.wide[0], len(q.wide), n, q.bias, q.scale, raise)
			}
			scanPlain(q, dst[n:], rows[n*len(q.narrow):], scales[n:], raise)
		}
	}
	return out
}
