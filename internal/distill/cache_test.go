package distill

import (
	"context"
	"math"
	"testing"
)

func fill(t *testing.T, c *Cache, texts ...string) {
	t.Helper()
	if err := c.Fill(context.Background(), texts, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
}

func TestATeacherIsAskedOnce(t *testing.T) {
	dir := t.TempDir()
	teacher := &concepts{name: "one", dims: 8}
	c := open(t, dir, teacher)[0]
	fill(t, c, "aaao", "bbbo", "aaao")
	want := make([]float32, 8)
	if err := c.Read("bbbo", want); err != nil || math.Abs(float64(dot(want, want))-1) > 1e-5 {
		t.Fatalf("%v (%v)", want, err)
	}
	c.Close()
	again, asked := open(t, dir, teacher)[0], teacher.asked.Load()
	fill(t, again, "aaao", "bbbo", "ccco")
	got := make([]float32, 8)
	if err := again.Read("bbbo", got); err != nil || dot(got, want) < 0.9999 || teacher.asked.Load() != asked+1 {
		t.Fatalf("%v, not %v (%v), %d texts asked", got, want, err, teacher.asked.Load()-asked)
	}
}

type broken struct{ vectors [][]float32 }

func (b broken) Name() string    { return "broken" }
func (b broken) Dimensions() int { return 2 }
func (b broken) Embed(context.Context, []string) ([][]float32, error) {
	return b.vectors, nil
}

func TestTeacherThatMisbehaves(t *testing.T) {
	for name, vectors := range map[string][][]float32{
		"too few":         nil,
		"wrong dimension": {{1, 2, 3}},
		"not a number":    {{1, float32(math.NaN())}},
	} {
		c := open(t, t.TempDir(), broken{vectors})[0]
		if err := c.Fill(context.Background(), []string{"a"}, func(int, int) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := c.Read("a", make([]float32, 2)); err == nil {
			t.Errorf("%s: it has a vector all the same", name)
		}
	}
	c := open(t, t.TempDir(), broken{[][]float32{nil}})[0]
	fill(t, c, "!")
	if v := []float32{7, 7}; c.Read("!", v) != nil || v[0] != 0 || v[1] != 0 {
		t.Errorf("a text without a vector has %v", v)
	}
}
