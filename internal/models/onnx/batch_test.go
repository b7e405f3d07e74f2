package onnx

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/wordpiece"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake answers with a vector a token that tells the token, its place and how
// many tokens of the row are masked in.
type fake struct {
	mu      sync.Mutex
	batches []batch
	err     error
	short   bool // it leaves out a component
}

func (f *fake) version() string { return "0" }
func (f *fake) close() error    { return nil }

func (f *fake) hidden(_ context.Context, b batch, show func([]float32) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, b)
	var out []float32
	for i, id := range b.ids {
		out = append(out, 1, float32(id), float32(i%b.length))
	}
	if f.short {
		out = out[1:]
	}
	if f.err != nil {
		return f.err
	}
	return show(out)
}

func vocabulary() *wordpiece.Tokenizer {
	t, err := wordpiece.ParseVocabulary([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n"), false)
	if err != nil {
		panic(err)
	}
	return t
}

func faked(f *fake, change func(*modelstore.Entry)) *Model {
	e := modelstore.Entry{Manifest: modelstore.Manifest{
		Name: "fake", Files: []modelstore.File{{Name: modelstore.ModelFile}, {Name: modelstore.TokenizerFile}},
		Model: &modelstore.Description{Pooling: modelstore.Mean, Precision: modelstore.F32, Dimensions: 3, MaxTokens: 16},
	}}
	if change != nil {
		change(&e)
	}
	return newModel(e, vocabulary(), f)
}

// want is the mean of what fake answers for the words of a text.
func want(words []string, maxTokens int) []float32 {
	ids := []float64{2}
	for _, w := range words[:min(len(words), maxTokens-2)] {
		ids = append(ids, float64(5+strings.Index("abc", w)))
	}
	ids = append(ids, 3)
	var v [3]float64
	for i, id := range ids {
		v[0], v[1], v[2] = v[0]+1, v[1]+id, v[2]+float64(i)
	}
	norm := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	return []float32{float32(v[0] / norm), float32(v[1] / norm), float32(v[2] / norm)}
}

// TestEveryTextGetsItsOwnVector holds for any texts: padding, sorting and
// batches do not show, and no run is larger than it may be.
func TestEveryTextGetsItsOwnVector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 30), 0, 40).Draw(t, "words")
		precision := rapid.SampledFrom([]string{modelstore.F32, modelstore.Int8}).Draw(t, "precision")
		f := &fake{}
		m := faked(f, func(e *modelstore.Entry) { e.Model.Precision = precision })
		var texts []string
		for _, w := range words {
			texts = append(texts, strings.Join(w, " "))
		}
		got, err := m.Embed(context.Background(), texts)
		if err != nil || len(got) != len(texts) {
			t.Fatalf("%d vectors of %d, %v", len(got), len(texts), err)
		}
		for i, w := range words {
			if len(w) == 0 {
				if got[i] != nil {
					t.Fatalf("an empty text has the vector %v", got[i])
				}
				continue
			}
			if !slices.Equal(got[i], want(w, 16)) {
				t.Fatalf("%q: got %v, want %v", texts[i], got[i], want(w, 16))
			}
		}
		for _, b := range f.batches {
			if b.rows > 1 && (precision == modelstore.Int8 || b.rows*b.length > batchTokens) {
				t.Fatalf("a %s run of %d rows of %d tokens", precision, b.rows, b.length)
			}
		}
	})
}

func TestCLSIsTheFirstToken(t *testing.T) {
	got := check.Value(faked(&fake{}, func(e *modelstore.Entry) { e.Model.Pooling = modelstore.CLS }).Embed(t.Context(), []string{"a b"}))(t)
	if w := []float32{float32(1 / math.Sqrt(5)), float32(2 / math.Sqrt(5)), 0}; !slices.Equal(got[0], w) {
		t.Errorf("got %v, want %v", got[0], w)
	}
}

func TestFailuresOfTheModelAreReturned(t *testing.T) {
	broken := errors.New("broken")
	if _, err := faked(&fake{err: broken}, nil).Embed(t.Context(), []string{"a", "b"}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := faked(&fake{short: true}, nil).Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "dimensions") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := faked(&fake{}, nil).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, v := range [][]float64{{0, 0}, {math.NaN(), 1}, {math.Inf(1), 1}} {
		if u, err := unit(v); err == nil {
			t.Errorf("%v became %v", v, u)
		}
	}
}

// TestNamesCoverWhatVectorsDependOn changes each setting by itself.
func TestNamesCoverWhatVectorsDependOn(t *testing.T) {
	changes := map[string]func(*modelstore.Entry){
		"nothing":         func(*modelstore.Entry) {},
		"name":            func(e *modelstore.Entry) { e.Name = "other" },
		"model":           func(e *modelstore.Entry) { e.Files[0].SHA256 = "m" },
		"tokenizer":       func(e *modelstore.Entry) { e.Files[1].SHA256 = "t" },
		"case":            func(e *modelstore.Entry) { e.Model.KeepCase = true },
		"pooling":         func(e *modelstore.Entry) { e.Model.Pooling = modelstore.CLS },
		"precision":       func(e *modelstore.Entry) { e.Model.Precision = modelstore.Int8 },
		"dimensions":      func(e *modelstore.Entry) { e.Model.Dimensions = 4 },
		"tokens":          func(e *modelstore.Entry) { e.Model.MaxTokens = 17 },
		"document prefix": func(e *modelstore.Entry) { e.Model.Prefixes.Document = "p" },
		"query prefix":    func(e *modelstore.Entry) { e.Model.Prefixes.Query = "p" },
	}
	seen := map[string]string{}
	for what, change := range changes {
		name := faked(&fake{}, change).Name()
		if other, ok := seen[name]; ok {
			t.Errorf("with another %s and another %s the name is %s", what, other, name)
		}
		seen[name] = what
	}
	e := modelstore.Entry{Manifest: modelstore.Manifest{Name: "fake", Model: &modelstore.Description{}}}
	if nameOf(e, "1.29.0") == nameOf(e, "1.30.0") {
		t.Error("the name does not cover the runtime's version")
	}
	if elsewhere := (modelstore.Entry{Manifest: e.Manifest, Dir: "elsewhere"}); nameOf(e, "1") != nameOf(elsewhere, "1") {
		t.Error("the name covers what makes no difference")
	}
}
