package distill

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/models/static"
)

// quantise rounds v to 8 bits and returns the scale.
func quantise(out []int8, v []float32) float32 {
	var top float32
	for _, x := range v {
		top = max(top, x, -x)
	}
	if top == 0 {
		clear(out)
		return 0
	}
	scale := top / 127
	for i, x := range v {
		out[i] = int8(math.Round(float64(x / scale)))
	}
	return scale
}

const (
	nearest   = 10
	neighbour = 1000 // texts whose neighbours are compared
)

// measure reads a model file and embeds the texts held out with it. It returns
// the mean cosine to their targets, and the mean part of the teachers' ten
// nearest neighbours, among the texts held out, that are the model's too.
func (w *work) measure(file []byte) (cosine, overlap float64, err error) {
	m, err := static.Parse(string(file))
	if err != nil {
		return 0, 0, err
	}
	got := newMatrix(w.held, w.targets.cols)
	for i := range w.held {
		copy(got.row(i), m.Append(nil, w.texts[i]))
		cosine += float64(dot(got.row(i), w.targets.row(i))) / float64(w.held)
	}
	n := min(w.held, neighbour)
	same := make([]int, n)
	want := matrix{w.vectors.cols, w.vectors.data[:w.held*w.vectors.cols]}
	eachRow(n, 16, func(i int) {
		theirs := nearestTo(want, i)
		for _, j := range nearestTo(got, i) {
			if slices.Contains(theirs, j) {
				same[i]++
			}
		}
	})
	others := max(min(nearest, w.held-1), 1) // of few texts all others are the nearest
	for _, s := range same {
		overlap += float64(s) / float64(others*n)
	}
	return cosine, overlap, nil
}

// nearestTo returns the rows with the highest dot products with row i, without
// itself.
func nearestTo(m matrix, i int) []int {
	scores := make([]float32, m.rows())
	order := make([]int, 0, m.rows())
	for j := range scores {
		if j != i {
			scores[j] = dot(m.row(i), m.row(j))
			order = append(order, j)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return order[:min(nearest, len(order))]
}
