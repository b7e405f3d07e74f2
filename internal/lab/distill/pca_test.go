package distill

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Rows that lie in five of twenty dimensions, turned, and a little noise.
func TestPrincipal(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	basis := newMatrix(5, 20)
	for i := range basis.data {
		basis.data[i] = float32(dice.NormFloat64())
	}
	rows := newMatrix(500, 20)
	for i := range rows.rows() {
		for b := range basis.rows() {
			axpy(float32(dice.NormFloat64()), basis.row(b), rows.row(i))
		}
		for d := range rows.row(i) {
			rows.row(i)[d] += float32(0.01 * dice.NormFloat64())
		}
		normalise(rows.row(i))
	}
	p := principal(rows, 5, 1)
	if p.kept < 0.999 {
		t.Errorf("five dimensions keep %.4f", p.kept)
	}
	if q := principal(rows, 3, 1); q.kept > 0.95 || q.kept < 0.6 {
		t.Errorf("three dimensions keep %.4f", q.kept)
	}
	small := p.apply(rows)
	for i := 1; i < 100; i++ {
		a, b := dot(rows.row(i), rows.row(i-1)), dot(small.row(i), small.row(i-1))
		if math.Abs(float64(a-b)) > 0.01 {
			t.Fatalf("cosine %v has become %v", a, b)
		}
	}
	for i := range 5 {
		for j := range 5 {
			want := float32(0)
			if i == j {
				want = 1
			}
			if got := dot(p.basis.row(i), p.basis.row(j)); math.Abs(float64(got-want)) > 1e-4 {
				t.Errorf("%d·%d is %v", i, j, got)
			}
		}
	}
}

func TestQuantise(t *testing.T) {
	v := []float32{0.5, -1, 0.001, 0}
	out := make([]int8, 4)
	scale := quantise(out, v)
	for i, x := range v {
		if math.Abs(float64(scale*float32(out[i])-x)) > float64(scale)/2+1e-7 {
			t.Errorf("%v has become %v", x, scale*float32(out[i]))
		}
	}
	if quantise(out, make([]float32, 4)) != 0 || out[1] != 0 {
		t.Errorf("nothing has become %v", out)
	}
}

// The gradient that is descended is that of the loss.
func TestGradient(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 3))
	rows, target := newMatrix(3, 6), make([]float32, 6)
	for i := range rows.data {
		rows.data[i] = float32(dice.NormFloat64())
	}
	for i := range target {
		target[i] = float32(dice.NormFloat64())
	}
	normalise(target)
	tr := &trainer{rows: rows}
	entries := []entry{{0, 1}, {2, 1.7}}
	g, ignored := make([]float32, 6), make([]float32, 6)
	loss := tr.push(g, entries, target, 1)
	for d := range 6 {
		const h = 1e-3
		rows.row(2)[d] += h
		slope := (tr.push(ignored, entries, target, 1) - loss) / h
		rows.row(2)[d] -= h
		if math.Abs(slope-1.7*float64(g[d])) > 5e-3 {
			t.Errorf("dimension %d: slope %v, gradient %v", d, slope, 1.7*g[d])
		}
	}
}
