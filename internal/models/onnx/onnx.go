// Package onnx runs BERT-shaped models in ONNX form in this process, by Microsoft's
// ONNX Runtime: sentence models, which embed texts, and cross-encoders, which judge
// texts by a query. The runtime is a shared library that is loaded when the first model is
// opened. On Linux, a program that can load libraries is not static: the build tag noonnx
// leaves this tier out of a program that has to be, and Open says so.
//
// Nothing is loaded whose SHA-256 is not the expected one: the loader of the
// operating system kills a process that maps a truncated library, and a model
// with a flipped byte loads in silence and embeds nonsense.
package onnx

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/wordpiece"
)

// batchTokens bounds the tokens of one run, with padding. More tokens a run are no
// faster and keep others waiting.
const batchTokens = 512

var errNotBuilt = errors.New("this program cannot load the ONNX Runtime: `toolstream` of a release for Linux (glibc), macOS and Windows can, after `toolstream models add onnxruntime`; the image and `toolstream-static` cannot")

// Supported returns nil if this program can load the ONNX Runtime, and else an error that
// says which can.
func Supported() error {
	if !built {
		return errNotBuilt
	}
	return nil
}

// run is the model as the runtime sees it. It may be called concurrently.
type run interface {
	// hidden shows the output of the model for a batch: a vector for each token,
	// row by row, or for each row if the model pools by itself. The slice belongs
	// to the runtime, and is invalid once show has returned.
	hidden(ctx context.Context, b batch, show func([]float32) error) error
	// version is the runtime's.
	version() string
	close() error
}

// Model is an open model. It may be used concurrently.
type Model struct {
	description modelstore.Description
	name        string
	tokenizer   *wordpiece.Tokenizer
	run         run
	slots       chan struct{} // one for each run at a time
	closed      chan struct{}
}

// Open verifies the files, loads them and embeds one text to see that the model
// is what its description says. Every model of a process runs in one runtime, the first
// that was opened.
func Open(ctx context.Context, runtime, model modelstore.Entry) (*Model, error) {
	m, err := load(ctx, runtime, model)
	if err != nil {
		return nil, err
	}
	vectors, err := m.Embed(ctx, []string{"Finds the right tool."})
	switch {
	case err != nil:
		err = fmt.Errorf("embed a first text: %w", err)
	case len(vectors[0]) != m.description.Dimensions:
		err = errors.New("the tokenizer finds nothing in a plain English text")
	}
	if err != nil {
		return nil, errors.Join(err, m.run.close())
	}
	return m, nil
}

func load(ctx context.Context, runtime, model modelstore.Entry) (*Model, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	tokenizer, err := openTokenizer(ctx, model)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if err := model.Compare(ctx, model.Weights(), nil); err != nil {
		return nil, err
	}
	r, err := newRuntime(ctx, runtime, model)
	if err != nil {
		return nil, err
	}
	return newModel(model, tokenizer, r), nil
}

func newModel(e modelstore.Entry, tokenizer *wordpiece.Tokenizer, r run) *Model {
	d := *e.Model
	d.MaxTokens = cmp.Or(d.MaxTokens, wordpiece.DefaultMaxTokens)
	e.Model = &d
	return &Model{
		description: d, name: nameOf(e, r.version()), tokenizer: tokenizer, run: r,
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)), closed: make(chan struct{}),
	}
}

// nameOf returns a name that covers everything that vectors depend on.
func nameOf(e modelstore.Entry, version string) string {
	d, sum := e.Model, sha256.New()
	fmt.Fprintf(sum, "%s %s %t %s %d %d %q %q", e.Weights().SHA256, e.Tokenizer().SHA256, d.KeepCase, d.Pooling, d.Dimensions, d.MaxTokens, d.Prefixes.Document, d.Prefixes.Query)
	return fmt.Sprintf("onnx-%s-%s-ort%s-%x", e.Name, d.Precision, version, sum.Sum(nil)[:6])
}

func openTokenizer(ctx context.Context, e modelstore.Entry) (*wordpiece.Tokenizer, error) {
	f := e.Tokenizer()
	if err := e.Compare(ctx, f, nil); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(e.Path(f))
	if err != nil {
		return nil, err
	}
	if f.Name == modelstore.TokenizerFile {
		return wordpiece.Parse(content)
	}
	return wordpiece.ParseVocabulary(content, e.Model.KeepCase)
}

// Name identifies the model, its precision, the runtime's version and
// everything else that its vectors depend on.
func (m *Model) Name() string { return m.name }

// Dimensions is the length of every vector.
func (m *Model) Dimensions() int { return m.description.Dimensions }

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
// The vector of a text does not depend on the other texts, except for the last
// bits of an f32. The end of ctx stops the run.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embedAll(ctx, m.description.Prefixes.Document, texts)
}

// EmbedQueries is Embed for the texts of queries.
func (m *Model) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embedAll(ctx, m.description.Prefixes.Query, texts)
}

func (m *Model) embedAll(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	err := m.runAll(ctx, m.encode(prefix, texts), func(hidden []float32, b batch, rows []int) error {
		vectors, err := pool(hidden, b, m.description)
		for i, v := range vectors {
			out[rows[i]] = v
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// runAll shows the output for each batch, with the indices of its texts. Batches
// run in parallel until one fails.
func (m *Model) runAll(ctx context.Context, e encoded, show func(hidden []float32, b batch, rows []int) error) error {
	batches := slices.Collect(e.batches(m.description.Precision, batchTokens))
	var err error
	if len(batches) == 1 { // a query, say, which then waits for no other goroutine
		err = m.runBatch(ctx, e, batches[0], show)
	} else {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(cap(m.slots))
		for _, rows := range batches {
			if ctx.Err() != nil {
				break
			}
			group.Go(func() error { return m.runBatch(ctx, e, rows, show) })
		}
		err = group.Wait()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	return nil
}

// runBatch shows the output for the texts with the given indices, in one run.
func (m *Model) runBatch(ctx context.Context, e encoded, rows []int, show func([]float32, batch, []int) error) error {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-m.closed:
		return errors.New("the model is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	b := e.batch(rows, m.tokenizer.Padding())
	return m.run.hidden(ctx, b, func(hidden []float32) error { return show(hidden, b, rows) })
}
