// Package onnx embeds texts in this process with a BERT-shaped sentence model
// in ONNX form, run by Microsoft's ONNX Runtime. The runtime is a C library, so
// this tier has to be asked for when the program is built, with the build tag
// onnx; without it Open says so.
//
// Nothing is loaded whose SHA-256 is not the expected one: the loader of the
// operating system kills a process that maps a truncated library, and a model
// with a flipped byte loads in silence and embeds nonsense.
package onnx

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/wordpiece"
)

// Pooling says how the vectors of a text's tokens become the text's.
type Pooling string

// The ways of pooling. None is for models that pool by themselves.
const (
	Mean Pooling = "mean"
	CLS  Pooling = "cls"
	None Pooling = "none"
)

// Precision says in which numbers a model computes.
type Precision string

// The precisions. The vectors of an int8 model depend on what shares their
// batch, so its texts run one by one.
const (
	F32  Precision = "f32"
	Int8 Precision = "int8"
)

// DefaultBatchTokens bounds the tokens of one run, with padding, where nothing
// else is said. More tokens a run are no faster and keep others waiting.
const DefaultBatchTokens = 512

// File is a file and what it has to be.
type File struct {
	Path   string
	SHA256 string // in hex
}

// Config describes a model.
type Config struct {
	Name      string // as users call it
	Library   File   // the ONNX Runtime
	Model     File
	Tokenizer File // a tokenizer.json or vocab.txt
	KeepCase  bool // of a vocab.txt: the model knows capitals

	Pooling        Pooling
	Precision      Precision
	Dimensions     int
	MaxTokens      int    // a longer text is cut; wordpiece.DefaultMaxTokens
	DocumentPrefix string // put before every text that is no query
	QueryPrefix    string // put before every query
	BatchTokens    int    // DefaultBatchTokens
}

func (c Config) withDefaults() Config {
	if c.MaxTokens == 0 {
		c.MaxTokens = wordpiece.DefaultMaxTokens
	}
	if c.BatchTokens == 0 {
		c.BatchTokens = DefaultBatchTokens
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Name == "":
		return errors.New("the model has no name")
	case c.Pooling != Mean && c.Pooling != CLS && c.Pooling != None:
		return fmt.Errorf("pooling %q: it is one of mean, cls, none", c.Pooling)
	case c.Precision != F32 && c.Precision != Int8:
		return fmt.Errorf("precision %q: it is one of f32, int8", c.Precision)
	case c.Dimensions < 1 || c.MaxTokens < 3 || c.BatchTokens < 1:
		return fmt.Errorf("%d dimensions, at most %d tokens a text, %d a run", c.Dimensions, c.MaxTokens, c.BatchTokens)
	}
	return nil
}

var errNotBuilt = errors.New("this program was built without ONNX: build it with `CGO_ENABLED=1 go build -tags onnx ./cmd/toolstream` (a C compiler is needed)")

// Supported returns nil if this program was built with the tag onnx, and else
// an error that says how to.
func Supported() error {
	if !built {
		return errNotBuilt
	}
	return nil
}

// run is the model as the runtime sees it. It may be called concurrently.
type run interface {
	// hidden shows what the model says of a batch: a vector a token, row by
	// row, or one a row where the model pools by itself. The slice is the
	// runtime's and gone when show returns.
	hidden(ctx context.Context, b batch, show func([]float32) error) error
	// version is the runtime's.
	version() string
	close() error
}

// Model is an open model. It may be used concurrently.
type Model struct {
	cfg       Config
	name      string
	tokenizer *wordpiece.Tokenizer
	run       run
	slots     chan struct{} // one for each run at a time
	closed    chan struct{}
}

// Open verifies the files, loads them and embeds one text to see that the model
// is what cfg says. Every model of a process runs in one runtime, the first
// that was opened.
func Open(ctx context.Context, cfg Config) (*Model, error) {
	cfg = cfg.withDefaults()
	m, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", cfg.Name, err)
	}
	return m, nil
}

func open(ctx context.Context, cfg Config) (*Model, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := Supported(); err != nil {
		return nil, err
	}
	tokenizer, err := openTokenizer(cfg)
	if err != nil {
		return nil, err
	}
	r, err := newRuntime(cfg)
	if err != nil {
		return nil, err
	}
	m := newModel(cfg, tokenizer, r)
	if err := m.try(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return m, nil
}

func newModel(cfg Config, tokenizer *wordpiece.Tokenizer, r run) *Model {
	return &Model{
		cfg: cfg, name: nameOf(cfg, r.version()), tokenizer: tokenizer, run: r,
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)), closed: make(chan struct{}),
	}
}

// nameOf covers everything that vectors depend on: the same name, the same
// vectors.
func nameOf(cfg Config, version string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %t %s %d %d %q %q", cfg.Model.SHA256, cfg.Tokenizer.SHA256, cfg.KeepCase, cfg.Pooling, cfg.Dimensions, cfg.MaxTokens, cfg.DocumentPrefix, cfg.QueryPrefix)
	return fmt.Sprintf("onnx-%s-%s-ort%s-%x", cfg.Name, cfg.Precision, version, sum.Sum(nil)[:6])
}

func openTokenizer(cfg Config) (*wordpiece.Tokenizer, error) {
	if err := verify(cfg.Tokenizer); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	content, err := os.ReadFile(cfg.Tokenizer.Path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if len(content) > 0 && content[0] == '{' {
		return wordpiece.Parse(content)
	}
	return wordpiece.ParseVocabulary(content, cfg.KeepCase)
}

// try embeds a text, so that a wrong description fails now and not later.
func (m *Model) try(ctx context.Context) error {
	vectors, err := m.Embed(ctx, []string{"Finds the right tool."})
	if err != nil {
		return fmt.Errorf("embed a first text: %w", err)
	}
	if len(vectors[0]) != m.cfg.Dimensions {
		return errors.New("the tokenizer finds nothing in a plain English text")
	}
	return nil
}

// Name identifies the model, its precision, the runtime's version and
// everything else that its vectors depend on.
func (m *Model) Name() string { return m.name }

// Dimensions is the length of every vector.
func (m *Model) Dimensions() int { return m.cfg.Dimensions }

// Close frees the model once no call is under way; later calls fail. The
// runtime stays loaded.
func (m *Model) Close() error {
	close(m.closed)
	for range cap(m.slots) {
		m.slots <- struct{}{}
	}
	return m.run.close()
}

// Embed returns a unit vector for each text, nil for a text without a token.
// The vector of a text does not depend on the other texts, but for the last
// bits of an f32. When ctx ends, what runs is stopped.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embedAll(ctx, m.cfg.DocumentPrefix, texts)
}

// EmbedQueries is Embed for the texts of queries.
func (m *Model) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embedAll(ctx, m.cfg.QueryPrefix, texts)
}

func (m *Model) embedAll(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	e := m.encode(prefix, texts)
	batches := slices.Collect(e.batches(m.cfg.Precision, m.cfg.BatchTokens))
	var err error
	if len(batches) == 1 { // as for a query, which waits for nobody else to be scheduled
		err = m.embed(ctx, e, batches[0], out)
	} else {
		err = m.embedBatches(ctx, e, batches, out)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return out, nil
}

// embedBatches runs batches side by side until one fails.
func (m *Model) embedBatches(ctx context.Context, e encoded, batches [][]int, out [][]float32) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(m.slots))
	for _, rows := range batches {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return m.embed(ctx, e, rows, out) })
	}
	return group.Wait()
}

// embed embeds the texts that rows names in one run.
func (m *Model) embed(ctx context.Context, e encoded, rows []int, out [][]float32) error {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-m.closed:
		return errors.New("the model is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	b := e.batch(rows, m.tokenizer.Padding())
	return m.run.hidden(ctx, b, func(hidden []float32) error {
		vectors, err := m.cfg.Pooling.pool(hidden, b, m.cfg.Dimensions)
		for i, v := range vectors {
			out[rows[i]] = v
		}
		return err
	})
}
