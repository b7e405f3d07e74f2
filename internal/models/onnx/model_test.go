//go:build !noonnx

package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// stored returns an entry that `make models` made.
func stored(t testing.TB, name string) modelstore.Entry {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_MODELS")
	if dir == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	return check.Value(modelstore.New(dir).Get(name))(t)
}

func opened(t testing.TB, e modelstore.Entry) *Model {
	t.Helper()
	m := check.Value(Open(t.Context(), stored(t, modelstore.RuntimeName), e))(t)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// reference is what testdata/record.py wrote.
type reference struct {
	Texts   []string
	Vectors map[string][][]float64
}

func recorded(t testing.TB) reference {
	t.Helper()
	var r reference
	raw, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil || len(r.Texts) < 20 || len(r.Vectors) != 4 {
		t.Fatalf("%d texts, %d models: %v", len(r.Texts), len(r.Vectors), err)
	}
	return r
}

const every = 24 // of the components that are recorded

// TestVectorsAreTheReferences compares with vectors that were computed text by
// text. The numbers of int8 models depend on the instructions of the processor.
func TestVectorsAreTheReferences(t *testing.T) {
	r := recorded(t)
	for name, want := range r.Vectors {
		t.Run(name, func(t *testing.T) {
			e := stored(t, name)
			got := check.Value(opened(t, e).Embed(t.Context(), r.Texts))(t)
			least := 0.99999
			if e.Model.Precision == modelstore.Int8 {
				least = 0.97
			}
			for i, v := range got {
				if norm := math.Sqrt(dot(v, v)); math.Abs(norm-1) > 1e-6 || len(v) != e.Model.Dimensions {
					t.Errorf("%.40q: %d dimensions, length %v", r.Texts[i], len(v), norm)
				}
				if c := cosineOfSample(v, want[i]); c < least {
					t.Errorf("%.40q: cosine %v to the reference, want at least %v", r.Texts[i], c, least)
				}
			}
		})
	}
}

func dot(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func cosineOfSample(v []float32, sample []float64) float64 {
	var xy, xx, yy float64
	for i, y := range sample {
		x := float64(v[i*every])
		xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
	}
	return xy / math.Sqrt(xx*yy)
}

// TestOtherTextsChangeNothing embeds texts together and alone.
func TestOtherTextsChangeNothing(t *testing.T) {
	r := recorded(t)
	for name, tolerance := range map[string]float64{"minilm": 1e-6, "minilm-q": 0, "bge-small-q": 0} {
		t.Run(name, func(t *testing.T) {
			m := opened(t, stored(t, name))
			together := check.Value(m.Embed(t.Context(), r.Texts))(t)
			for i, text := range r.Texts {
				alone := check.Value(m.Embed(t.Context(), []string{text}))(t)
				for d, x := range alone[0] {
					if math.Abs(float64(x-together[i][d])) > tolerance {
						t.Fatalf("%.40q: component %d is %v alone and %v among others", text, d, x, together[i][d])
					}
				}
			}
		})
	}
}

func TestMeaningIsFound(t *testing.T) {
	m := opened(t, stored(t, "minilm-q"))
	v, err := m.Embed(t.Context(), []string{"will it rain in Lisbon tomorrow?", "Get the weather forecast for a city.", "Create an invoice for a customer.", "", " \x00"})
	check.OK(t, err)
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near < far+0.2 {
		t.Errorf("weather %v, invoice %v", near, far)
	}
	if v[3] != nil || v[4] != nil {
		t.Error("a text without a token has a vector")
	}
}

func TestQueriesHaveAPrefixOfTheirOwn(t *testing.T) {
	e := stored(t, "bge-small-q")
	plain := opened(t, e)
	e.Model.Prefixes = modelstore.Prefixes{Document: "passage: ", Query: "query: "}
	m := opened(t, e)
	if m.Name() == plain.Name() {
		t.Error("the name does not cover the prefixes")
	}
	text := "a list of invoices"
	q, err1 := m.EmbedQueries(t.Context(), []string{text})
	d, err2 := m.Embed(t.Context(), []string{text})
	want, err3 := plain.Embed(t.Context(), []string{"query: " + text, "passage: " + text})
	check.OK(t, errors.Join(err1, err2, err3))
	if dot(q[0], want[0]) < 1-1e-6 || dot(d[0], want[1]) < 1-1e-6 {
		t.Error("the prefix is not what the model saw")
	}
}

// TestACancelledCallStops cancels in the middle of a run that takes long, from
// several calls at once; what runs later is not touched.
func TestACancelledCallStops(t *testing.T) {
	m := opened(t, stored(t, "minilm"))
	long := make([]string, 400)
	for i := range long {
		long[i] = strings.Repeat("The service answers with a list of tools. ", 60)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls errgroup.Group
	for range 3 {
		calls.Go(func() error { _, err := m.Embed(ctx, long); return err })
	}
	if _, err := m.Embed(t.Context(), long[:1]); err != nil { // now the others are under way
		t.Fatal(err)
	}
	cancel()
	if err := calls.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if v, err := m.Embed(t.Context(), []string{"and on"}); err != nil || len(v[0]) != m.Dimensions() {
		t.Errorf("after a cancelled call: %d dimensions, %v", len(v[0]), err)
	}
}

func TestAClosedModelSaysSo(t *testing.T) {
	m := check.Value(Open(t.Context(), stored(t, modelstore.RuntimeName), stored(t, "minilm-q")))(t)
	check.OK(t, m.Close())
	if _, err := m.Embed(t.Context(), []string{"late"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

// Each file is compared with its SHA-256, and the description with the model.
func TestFailuresAreClear(t *testing.T) {
	copied := func(t *testing.T, name string, file string, change func([]byte) []byte, sealed bool) modelstore.Entry {
		e := stored(t, name)
		dir := t.TempDir()
		check.OK(t, os.CopyFS(dir, os.DirFS(e.Dir)))
		e.Dir = dir
		for n, f := range e.Files {
			if f.Name != file {
				continue
			}
			raw, err := os.ReadFile(e.Path(f))
			if err == nil {
				raw = change(raw)
				err = os.WriteFile(e.Path(f), raw, 0o644)
			}
			check.OK(t, err)
			if sealed {
				e.Files[n].SHA256 = fmt.Sprintf("%x", sha256.Sum256(raw))
			}
		}
		return e
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	library := stored(t, modelstore.RuntimeName).Files[0].Name
	for name, c := range map[string]struct {
		entry    string
		file     string
		bytes    func([]byte) []byte
		sealed   bool
		describe func(*modelstore.Description)
		says     string
	}{
		"flipped model":     {"minilm-q", modelstore.ModelFile, flip, false, nil, "is damaged"},
		"no model at all":   {"minilm-q", modelstore.ModelFile, func(b []byte) []byte { return b[:1000] }, true, nil, "model.onnx"},
		"flipped tokenizer": {"minilm-q", modelstore.TokenizerFile, flip, false, nil, "is damaged"},
		"other tokenizer":   {"minilm-q", modelstore.TokenizerFile, func([]byte) []byte { return []byte("{}") }, true, nil, "only WordPiece"},
		"cut library":       {modelstore.RuntimeName, library, func(b []byte) []byte { return b[:len(b)/2] }, false, nil, "is damaged"},
		"dimensions":        {"minilm-q", "", nil, false, func(d *modelstore.Description) { d.Dimensions = 768 }, "have 384 dimensions, its description says 768"},
		"pools by itself":   {"minilm-q", "", nil, false, func(d *modelstore.Description) { d.Pooling = modelstore.None }, `no output to pool by "none"`},
	} {
		t.Run(name, func(t *testing.T) {
			runtime, model := stored(t, modelstore.RuntimeName), stored(t, "minilm-q")
			changed := copied(t, c.entry, c.file, c.bytes, c.sealed)
			if c.entry == modelstore.RuntimeName {
				runtime = changed
				loaded.sha256 = "" // as if no library was loaded
				defer func() { loaded.sha256 = runtime.Files[0].SHA256 }()
			} else {
				model = changed
			}
			if c.describe != nil {
				c.describe(model.Model)
			}
			m, err := Open(t.Context(), runtime, model)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it opened"), m.Close()))
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
		})
	}
}
