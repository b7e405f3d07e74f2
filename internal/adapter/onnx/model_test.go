//go:build onnx

package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/models"
)

// described is the config of a model that `make models` fetched.
func described(t testing.TB, name string) Config {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_MODELS")
	if dir == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	store := models.New(dir)
	model, err := store.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := store.Get(models.RuntimeName)
	if err != nil {
		t.Fatal(err)
	}
	library, _ := runtime.Library()
	weights, _ := model.Weights()
	tokenizer, _ := model.Tokenizer()
	d := model.Model
	return Config{
		Name: name, Library: File{runtime.Path(library), library.SHA256}, Model: File{model.Path(weights), weights.SHA256},
		Tokenizer: File{model.Path(tokenizer), tokenizer.SHA256}, Pooling: Pooling(d.Pooling), Precision: Precision(d.Precision),
		Dimensions: d.Dimensions, MaxTokens: d.MaxTokens,
	}
}

func opened(t testing.TB, cfg Config) *Model {
	t.Helper()
	m, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
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
			cfg := described(t, name)
			got, err := opened(t, cfg).Embed(t.Context(), r.Texts)
			if err != nil {
				t.Fatal(err)
			}
			least := 0.99999
			if cfg.Precision == Int8 {
				least = 0.97
			}
			for i, v := range got {
				if norm := math.Sqrt(dot(v, v)); math.Abs(norm-1) > 1e-6 || len(v) != cfg.Dimensions {
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
			m := opened(t, described(t, name))
			together, err := m.Embed(t.Context(), r.Texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range r.Texts {
				alone, err := m.Embed(t.Context(), []string{text})
				if err != nil {
					t.Fatal(err)
				}
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
	m := opened(t, described(t, "minilm-q"))
	v, err := m.Embed(t.Context(), []string{"will it rain in Lisbon tomorrow?", "Get the weather forecast for a city.", "Create an invoice for a customer.", "", " \x00"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near < far+0.2 {
		t.Errorf("weather %v, invoice %v", near, far)
	}
	if v[3] != nil || v[4] != nil {
		t.Error("a text without a token has a vector")
	}
}

func TestQueriesHaveAPrefixOfTheirOwn(t *testing.T) {
	cfg := described(t, "bge-small-q")
	plain := opened(t, cfg)
	cfg.QueryPrefix, cfg.DocumentPrefix = "query: ", "passage: "
	m := opened(t, cfg)
	if m.Name() == plain.Name() {
		t.Error("the name does not cover the prefixes")
	}
	text := "a list of invoices"
	q, err1 := m.EmbedQueries(t.Context(), []string{text})
	d, err2 := m.Embed(t.Context(), []string{text})
	want, err3 := plain.Embed(t.Context(), []string{"query: " + text, "passage: " + text})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if dot(q[0], want[0]) < 1-1e-6 || dot(d[0], want[1]) < 1-1e-6 {
		t.Error("the prefix is not what the model saw")
	}
}

// TestACancelledCallStops cancels in the middle of a run that takes long, from
// several calls at once; what runs later is not touched.
func TestACancelledCallStops(t *testing.T) {
	m := opened(t, described(t, "minilm"))
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
	m, err := Open(t.Context(), described(t, "minilm-q"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), []string{"late"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

// changed writes a changed copy of a file, and says that it is what is wanted
// if sealed, so that only what comes after the hash can find the damage.
func changed(t *testing.T, f File, sealed bool, change func([]byte) []byte) File {
	t.Helper()
	raw, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	raw = change(raw)
	out := File{filepath.Join(t.TempDir(), filepath.Base(f.Path)), f.SHA256}
	if err := os.WriteFile(out.Path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if sealed {
		out.SHA256 = hashOf(raw)
	}
	return out
}

func flipped(b []byte) []byte { b[len(b)/2] ^= 1; return b }

func TestFailuresAreClear(t *testing.T) {
	good := described(t, "minilm-q")
	cases := map[string]struct {
		change func(t *testing.T, c *Config)
		says   string
	}{
		"no model":      {func(_ *testing.T, c *Config) { c.Model.Path += "x" }, "model file: " + good.Model.Path + "x is not there"},
		"flipped model": {func(t *testing.T, c *Config) { c.Model = changed(t, c.Model, false, flipped) }, "is damaged or another file"},
		"no model at all": {func(t *testing.T, c *Config) {
			c.Model = changed(t, c.Model, true, func(b []byte) []byte { return b[:1000] })
		}, "model.onnx"},
		"no hash":           {func(_ *testing.T, c *Config) { c.Model.SHA256 = "" }, "no SHA-256"},
		"no tokenizer":      {func(_ *testing.T, c *Config) { c.Tokenizer.Path += "x" }, "tokenizer: " + good.Tokenizer.Path + "x is not there"},
		"flipped tokenizer": {func(t *testing.T, c *Config) { c.Tokenizer = changed(t, c.Tokenizer, false, flipped) }, "is damaged or another file"},
		"other tokenizer": {func(t *testing.T, c *Config) {
			c.Tokenizer = changed(t, c.Tokenizer, true, func([]byte) []byte { return []byte("{}") })
		}, "only WordPiece"},
		"dimensions":      {func(_ *testing.T, c *Config) { c.Dimensions = 768 }, "have 384 dimensions, its description says 768"},
		"pooling":         {func(_ *testing.T, c *Config) { c.Pooling = "max" }, `pooling "max"`},
		"pools by itself": {func(_ *testing.T, c *Config) { c.Pooling = None }, `no output to pool by "none"`},
		"precision":       {func(_ *testing.T, c *Config) { c.Precision = "f16" }, `precision "f16"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := good
			c.change(t, &cfg)
			m, err := Open(t.Context(), cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it opened"), m.Close()))
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
		})
	}
}

// TestLibrariesThatCanNotBeLoaded changes the library in every way that would
// kill the process or be told wrongly.
func TestLibrariesThatCanNotBeLoaded(t *testing.T) {
	good := described(t, "minilm-q").Library
	otherProcessor := func(b []byte) []byte { b[18], b[19] = 243, 0; return b } // RISC-V
	cases := map[string]struct {
		library File
		says    string
	}{
		"missing":   {File{good.Path + "x", good.SHA256}, "is not there"},
		"truncated": {changed(t, good, false, func(b []byte) []byte { return b[:len(b)/2] }), "is damaged or another file"},
		"flipped":   {changed(t, good, false, flipped), "is damaged or another file"},
		"no library": {changed(t, good, true, func([]byte) []byte { return []byte("#!/bin/sh\nexit\n") }),
			"neither ELF, Mach-O nor a DLL"},
		"too short":       {changed(t, good, true, func([]byte) []byte { return nil }), "too short"},
		"other processor": {changed(t, good, true, otherProcessor), "is built for linux/riscv64, this program runs on"},
	}
	for name, c := range cases {
		if err := check(c.library); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	if err := check(good); err != nil {
		t.Error(err)
	}
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
