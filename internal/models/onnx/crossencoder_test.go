package onnx

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// logits is a cross-encoder that says of each row how many tokens its second text has.
type logits struct {
	fake
	none bool
}

func (f *logits) hidden(_ context.Context, b batch, show func([]float32) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, b)
	var out []float32
	for row := range b.rows {
		n := -2 // its mark, and so that an empty text is on this side of even
		for _, t := range b.types[row*b.length : (row+1)*b.length] {
			n += int(t)
		}
		out = append(out, float32(n))
	}
	if f.none {
		out = nil
	}
	if f.err != nil {
		return f.err
	}
	return show(out)
}

func judge(f *logits, precision string) *CrossEncoder {
	m := faked(&f.fake, func(e *modelstore.Entry) {
		e.Model.Pooling, e.Model.Dimensions, e.Model.Precision = modelstore.None, 1, precision
	})
	m.run = f
	return &CrossEncoder{m}
}

func TestEveryTextIsReadBehindTheQuery(t *testing.T) {
	for _, precision := range []string{modelstore.F32, modelstore.Int8} {
		f := &logits{}
		got := check.Value(judge(f, precision).Score(t.Context(), "a b", []string{"c", "", "c c c"}))(t)
		for i, x := range []float64{0, -1, 2} {
			if want := 1 / (1 + math.Exp(-x)); math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: text %d has %v, want %v", precision, i, got[i], want)
			}
		}
	}
	f := &logits{}
	check.Value(judge(f, modelstore.F32).Score(t.Context(), "a b", []string{"c", "c b a"}))(t)
	b := f.batches[0]
	if want := []int64{2, 5, 6, 3, 7, 6, 5, 3, 2, 5, 6, 3, 7, 3, 0, 0}; !slices.Equal(b.ids, want) {
		t.Errorf("ids %v, want %v", b.ids, want)
	}
	if want := []int64{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0}; !slices.Equal(b.types, want) {
		t.Errorf("types %v, want %v", b.types, want)
	}
}

// A query of any length leaves room for the text.
func TestALongQueryIsCut(t *testing.T) {
	f := &logits{}
	check.Value(judge(f, modelstore.F32).Score(t.Context(), strings.Repeat("a ", 99), []string{strings.Repeat("b ", 99)}))(t)
	b := f.batches[0]
	if b.length != 16 || slices.Index(b.ids, 6) != 9 || b.ids[15] != 3 {
		t.Errorf("%d tokens: %v", b.length, b.ids)
	}
}

func TestFailuresOfTheCrossEncoderAreReturned(t *testing.T) {
	broken := errors.New("broken")
	if _, err := judge(&logits{fake: fake{err: broken}}, modelstore.F32).Score(t.Context(), "a", []string{"b"}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := judge(&logits{none: true}, modelstore.F32).Score(t.Context(), "a", []string{"b"}); err == nil {
		t.Error("no number for a text is no error")
	}
	e := modelstore.Entry{Manifest: modelstore.Manifest{Name: "minilm", Model: &modelstore.Description{Pooling: modelstore.Mean, Dimensions: 384}}}
	if _, err := OpenCrossEncoder(t.Context(), modelstore.Entry{}, e); err == nil || !strings.Contains(err.Error(), "not a cross-encoder") {
		t.Errorf("%v", err)
	}
}
