package schema

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestADirectionIsWhereAVectorPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		component := rapid.Float32Range(-1, 1)
		n := rapid.IntRange(1, 300).Draw(t, "dimensions")
		a := rapid.SliceOfN(component, n, n).Draw(t, "a")
		b := rapid.SliceOfN(component, n, n).Draw(t, "b")
		d, e := NewDirection(a), NewDirection(b)
		if d == nil || e == nil {
			return
		}
		check.OK(t, d.Validate())
		// Half a step in every component is what rounding may cost.
		lost := 0.5*math.Sqrt(float64(n))/d.Length() + 0.5*math.Sqrt(float64(n))/e.Length()
		if got, want := d.Cosine(e), cosine(a, b); math.Abs(got-want) > 2*lost+1e-6 {
			t.Fatalf("cosine %v, want %v within %v", got, want, 2*lost)
		}
		raw := check.Value(json.Marshal(d))(t)
		var back Direction
		if err := json.Unmarshal(raw, &back); err != nil || !slices.Equal(back, d) {
			t.Fatalf("%v came back as %v: %v", d, back, err)
		}
	})
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func TestAnUnusableVectorHasNoDirection(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, v := range map[string][]float32{
		"nothing": nil, "zeros": {0, 0}, "NaN": {1, nan}, "NaN first": {nan, 1}, "infinite": {inf, 1}, "minus infinite": {1, -inf},
		"too long": make([]float32, MaxDimensions+1),
	} {
		if len(v) > MaxDimensions {
			v[0] = 1
		}
		if d := NewDirection(v); d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
	if d := NewDirection([]float32{math.MaxFloat32, math.SmallestNonzeroFloat32}); !slices.Equal(d, Direction{127, 0}) {
		t.Errorf("the largest component: %v", d)
	}
	if got := (Direction{1, 2}).Cosine(Direction{1}); got != 0 {
		t.Errorf("different lengths: %v", got)
	}
	if got := (Direction{}).Cosine(nil); got != 0 {
		t.Errorf("empty: %v", got)
	}
}

func TestTextThatIsNoDirectionIsRefused(t *testing.T) {
	huge := strings.Repeat("AAAA", 1<<20)
	for name, text := range map[string]string{
		"not base64":   "a b",
		"zeros":        base64.StdEncoding.EncodeToString([]byte{0, 0, 0}),
		"-128":         base64.StdEncoding.EncodeToString([]byte{0x80, 1}),
		"one too many": base64.StdEncoding.EncodeToString(slices.Repeat([]byte{1}, MaxDimensions+1)),
		"huge":         huge,
	} {
		d := Direction{1}
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		} else if pathOf(t, err); len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		if !slices.Equal(d, Direction{1}) {
			t.Errorf("%s: left %v", name, d)
		}
	}
}
