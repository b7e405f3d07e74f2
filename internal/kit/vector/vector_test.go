package vector

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// dimensions are those where a kernel changes its path, and the usual ones.
func dimensions() []int {
	return []int{1, 3, 31, 32, 33, 63, 64, 65, 127, 200, 256, 384, 385, 768, 1024}
}

func unit(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	var norm float64
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		norm += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(norm))
	}
	return v
}

func dot64(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestDot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range append(dimensions(), 0) {
		a, b := unit(rng, n), unit(rng, n)
		want := dot64(a, b)
		for name, got := range map[string]float32{"chosen": Dot(a, b), "plain": dotPlain(a, b)} {
			if math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("%d components, %s: %v, want %v", n, name, got, want)
			}
		}
	}
}

func TestSimilaritiesAreClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{64, 256, 384, 768} {
		var worst float64
		for range 200 {
			a, b := unit(rng, n), unit(rng, n)
			row := make([]byte, Stride(n))
			dst := make([]float32, 1)
			scale := Quantize(row, a)
			q := NewQuery(b)
			q.Similarities(dst, row, []float32{scale})
			worst = max(worst, math.Abs(float64(dst[0])-dot64(a, b)))
		}
		if worst > 0.01 {
			t.Errorf("%d components: off by %v", n, worst)
		}
	}
}

// The codes of a row at the ends of their range are where narrower sums than
// 32 bits would overflow.
func TestExtremeCodesDoNotOverflow(t *testing.T) {
	for _, n := range dimensions() {
		v, w := make([]float32, n), make([]float32, n)
		for i := range v {
			v[i], w[i] = 1, -1
		}
		rows := make([]byte, 5*Stride(n))
		scales := make([]float32, 5)
		for i := range scales {
			scales[i] = Quantize(rows[i*Stride(n):][:Stride(n)], v)
		}
		q, dst := NewQuery(w), make([]float32, 5)
		q.Similarities(dst, rows, scales)
		for i, s := range dst {
			if math.Abs(float64(s)+float64(n)) > 1e-3*float64(n) {
				t.Errorf("%d components, row %d: %v, want %v", n, i, s, -n)
			}
		}
	}
}

func TestKernelsAgreeBitForBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SampledFrom(dimensions()).Draw(t, "dimensions")
		n := rapid.IntRange(0, 23).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		raise := rapid.Bool().Draw(t, "raise")
		rows, scales := make([]byte, n*Stride(dims)), make([]float32, n)
		for i := range scales {
			scales[i] = Quantize(rows[i*Stride(dims):][:Stride(dims)], unit(rng, dims))
		}
		q := NewQuery(unit(rng, dims))
		start := unit(rng, n)
		want := append([]float32(nil), start...)
		scanPlain(&q, want, rows, scales, raise)
		for name, scan := range scans() {
			got := append([]float32(nil), start...)
			scan(&q, got, rows, scales, raise)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s, row %d of %d: %v, want %v", name, i, n, got[i], want[i])
				}
			}
		}
	})
}

func TestQuantizeAgreesBitForBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-1, 1), 1, 200).Draw(t, "components")
		got, want := make([]byte, Stride(len(v))), make([]byte, Stride(len(v)))
		scale := Quantize(got, v)
		top := largestPlain(v)
		encodePlain(want, v, inverseOf(top))
		for i := len(v); i < len(want); i++ {
			want[i] = offset
		}
		if !bytes.Equal(got, want) || scale != top/codes {
			t.Fatalf("codes %v of scale %v, want %v of %v", got, scale, want, top/codes)
		}
	})
}

func TestZeroAndTinyVectors(t *testing.T) {
	for _, x := range []float32{0, math.SmallestNonzeroFloat32, 1e-35} {
		v := []float32{x, -x, x}
		row := make([]byte, Stride(len(v)))
		scale := Quantize(row, v)
		q, dst := NewQuery([]float32{1, 1, 1}), make([]float32, 1)
		q.Similarities(dst, row, []float32{scale})
		if math.Abs(float64(dst[0])) > 1e-30 {
			t.Errorf("vector of %v: similarity %v", x, dst[0])
		}
	}
}

// No vector grows by more than NormInflation, and the worst ones nearly that much.
func TestStretch(t *testing.T) {
	for _, n := range append(dimensions(), 4096) {
		worst := 0.0
		for steps := range 127 {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(steps) + 0.501
			}
			v[0] = 127
			q := NewQuery(v)
			worst = max(worst, q.Length()/math.Sqrt(dot64(v, v)))
		}
		if most := NormInflation(n); worst > most*(1+1e-6) || n > 30 && worst < 1+(most-1)*0.9 {
			t.Errorf("%d components: %v, at the most %v", n, worst, most)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-1, 1), 1, 300).Draw(r, "v")
		q := NewQuery(v)
		if got, most := q.Length(), NormInflation(len(v))*math.Sqrt(dot64(v, v)); got > most*(1+1e-6) {
			r.Errorf("length %v, at the most %v", got, most)
		}
	})
}
