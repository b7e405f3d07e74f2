package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/wordpiece"
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

func faked(f *fake, change func(*Config)) *Model {
	cfg := Config{Name: "fake", Pooling: Mean, Precision: F32, Dimensions: 3, MaxTokens: 16, BatchTokens: 20}
	if change != nil {
		change(&cfg)
	}
	return newModel(cfg, vocabulary(), f)
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
		precision := rapid.SampledFrom([]Precision{F32, Int8}).Draw(t, "precision")
		f := &fake{}
		m := faked(f, func(c *Config) { c.Precision = precision })
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
			if b.rows > 1 && (precision == Int8 || b.rows*b.length > 20) {
				t.Fatalf("a %s run of %d rows of %d tokens", precision, b.rows, b.length)
			}
		}
	})
}

func TestCLSIsTheFirstToken(t *testing.T) {
	got, err := faked(&fake{}, func(c *Config) { c.Pooling = CLS }).Embed(t.Context(), []string{"a b"})
	if err != nil {
		t.Fatal(err)
	}
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
	changes := map[string]func(*Config){
		"nothing":         func(*Config) {},
		"name":            func(c *Config) { c.Name = "other" },
		"model":           func(c *Config) { c.Model.SHA256 = "m" },
		"tokenizer":       func(c *Config) { c.Tokenizer.SHA256 = "t" },
		"case":            func(c *Config) { c.KeepCase = true },
		"pooling":         func(c *Config) { c.Pooling = CLS },
		"precision":       func(c *Config) { c.Precision = Int8 },
		"dimensions":      func(c *Config) { c.Dimensions = 4 },
		"tokens":          func(c *Config) { c.MaxTokens = 17 },
		"document prefix": func(c *Config) { c.DocumentPrefix = "p" },
		"query prefix":    func(c *Config) { c.QueryPrefix = "p" },
	}
	seen := map[string]string{}
	for what, change := range changes {
		name := faked(&fake{}, change).Name()
		if other, ok := seen[name]; ok {
			t.Errorf("with another %s and another %s the name is %s", what, other, name)
		}
		seen[name] = what
	}
	base := Config{Name: "fake"}
	if nameOf(base, "1.29.0") == nameOf(base, "1.30.0") {
		t.Error("the name does not cover the runtime's version")
	}
	base.Library.Path, base.BatchTokens = "elsewhere", 7
	if nameOf(base, "1") != nameOf(Config{Name: "fake"}, "1") {
		t.Error("the name covers what makes no difference")
	}
}

func TestPlatformsAreToldByTheHeader(t *testing.T) {
	// 64 bytes of an ELF header: 64 bits, little endian, a shared object.
	header := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	header[16], header[20], header[52] = 3, 1, 64
	for machine, processor := range map[byte]string{0x3e: "amd64", 0xb7: "arm64", 0xf3: "riscv64", 0x28: "an unknown processor (EM_ARM)"} {
		header[18] = machine
		path := filepath.Join(t.TempDir(), "lib.so")
		if err := os.WriteFile(path, header, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := platformOf(path); err != nil || p != (platform{"linux", processor}) {
			t.Errorf("machine %#x: %v, %v", machine, p, err)
		}
	}
}

func TestWithoutTheTagTheErrorSaysHowToBuild(t *testing.T) {
	if built {
		t.Skip("built with the tag onnx")
	}
	_, err := Open(t.Context(), Config{Name: "minilm", Pooling: Mean, Precision: F32, Dimensions: 384})
	if err == nil || !strings.Contains(err.Error(), "go build -tags onnx") {
		t.Errorf("%v", err)
	}
}

func BenchmarkBatches(b *testing.B) {
	m := faked(&fake{}, nil)
	texts := make([]string, 128)
	for i := range texts {
		texts[i] = fmt.Sprint(strings.Repeat("a ", 1+i%14))
	}
	b.ReportAllocs()
	for b.Loop() {
		e := m.encode("", texts)
		for rows := range e.batches(F32, DefaultBatchTokens) {
			e.batch(rows, 0)
		}
	}
}
