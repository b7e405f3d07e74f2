package distill

import (
	"math/rand/v2"
)

const (
	pcaSample     = 20000 // rows that the components are found from
	pcaSpare      = 16    // extra columns, so that the wanted columns converge
	pcaIterations = 20
)

// projection takes vectors to fewer dimensions.
type projection struct {
	basis matrix  // one row for each dimension that remains, orthonormal
	kept  float64 // of the energy of the vectors, 0 to 1
}

// principal returns the projection of the rows to their first d principal
// components about zero (not about their mean: cosines are about zero). It is
// found by orthogonal iteration, which gives the right subspace without the
// single components; cosines do not see the difference.
func principal(rows matrix, d int, seed uint64) projection {
	if d >= rows.cols {
		p := projection{newMatrix(rows.cols, rows.cols), 1}
		for i := range rows.cols {
			p.basis.row(i)[i] = 1
		}
		return p
	}
	c := covariance(rows)
	k := min(d+pcaSpare, rows.cols)
	dice := rand.New(rand.NewPCG(seed, 3))
	q, z := newMatrix(k, rows.cols), newMatrix(k, rows.cols)
	for i := range q.data {
		q.data[i] = float32(dice.NormFloat64())
	}
	for range pcaIterations {
		orthonormalise(q)
		eachRow(k, 4, func(i int) {
			for j := range rows.cols {
				z.row(i)[j] = dot(c.row(j), q.row(i))
			}
		})
		q, z = z, q
	}
	orthonormalise(q)
	basis := matrix{rows.cols, q.data[:d*rows.cols]}
	return projection{basis, energy(c, basis)}
}

// covariance returns the mean of the outer products of an even sample of rows.
func covariance(rows matrix) matrix {
	n := min(rows.rows(), pcaSample)
	c := newMatrix(rows.cols, rows.cols)
	// Each block owns some rows of c, and reads all samples in order.
	eachRow(rows.cols, 16, func(i int) {
		for s := range n {
			v := rows.row(s * rows.rows() / n)
			axpy(v[i]/float32(n), v[i:], c.row(i)[i:])
		}
	})
	for i := range rows.cols {
		for j := range i {
			c.row(i)[j] = c.row(j)[i]
		}
	}
	return c
}

// orthonormalise makes the rows orthonormal, each against all rows before it, twice, because
// once is not enough in 32 bits (Giraud et al. 2005).
func orthonormalise(q matrix) {
	for i := range q.rows() {
		v := q.row(i)
		normalise(v)
		for range 2 {
			for j := range i {
				axpy(-dot(q.row(j), v), q.row(j), v)
			}
		}
		normalise(v)
	}
}

// energy returns the part of c's trace that the basis keeps.
func energy(c, basis matrix) float64 {
	var kept, all float64
	z := make([]float32, c.cols)
	for i := range basis.rows() {
		for j := range z {
			z[j] = dot(c.row(j), basis.row(i))
		}
		kept += float64(dot(z, basis.row(i)))
	}
	for i := range c.cols {
		all += float64(c.row(i)[i])
	}
	if all == 0 {
		return 1
	}
	return kept / all
}

// apply returns the rows in the fewer dimensions, at length 1.
func (p projection) apply(rows matrix) matrix {
	out := newMatrix(rows.rows(), p.basis.rows())
	eachRow(rows.rows(), 64, func(i int) {
		for d := range out.cols {
			out.row(i)[d] = dot(p.basis.row(d), rows.row(i))
		}
		normalise(out.row(i))
	})
	return out
}
