//go:build onnx

package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

const built = true

// loaded is the runtime that this process uses. It is of the process and not
// of a model because the C library is: there is one, and it cannot be loaded
// again.
var loaded struct {
	sync.Mutex
	sha256 string
}

// loadLibrary loads the library, once.
func loadLibrary(ctx context.Context, e modelstore.Entry) error {
	loaded.Lock()
	defer loaded.Unlock()
	library := e.Files[0]
	if loaded.sha256 != "" {
		if loaded.sha256 != library.SHA256 {
			return fmt.Errorf("%s: the process already uses another runtime", e.Path(library))
		}
		return nil
	}
	if err := e.Compare(ctx, library, nil); err != nil {
		return err
	}
	ort.SetSharedLibraryPath(e.Path(library))
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return fmt.Errorf("load %s (is it built for %s/%s?): %w", e.Path(library), runtime.GOOS, runtime.GOARCH, err)
	}
	loaded.sha256 = library.SHA256
	return ort.DisableTelemetry()
}

// session is a model in the runtime.
type session struct {
	dynamic *ort.DynamicAdvancedSession
	types   bool // the model takes token types
}

func newRuntime(ctx context.Context, library, model modelstore.Entry) (run, error) {
	if err := loadLibrary(ctx, library); err != nil {
		return nil, fmt.Errorf("runtime library: %w", err)
	}
	path := model.Path(model.Weights())
	in, out, err := ports(path, model.Model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	options, err := sessionOptions()
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	dynamic, err := ort.NewDynamicAdvancedSession(path, in, []string{out}, options)
	if err := errors.Join(err, options.Destroy()); err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return &session{dynamic: dynamic, types: slices.Contains(in, tokenTypes)}, nil
}

// sessionOptions: a run has one thread, the caller's, as several runs go at
// once, and nothing spins. The runtime's arena stays on: as runs are bounded, it
// keeps 200 MB for minilm where the allocator of the C library comes to 350 and
// goes on growing, at the same speed.
func sessionOptions() (*ort.SessionOptions, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		o.SetIntraOpNumThreads(1),
		o.SetInterOpNumThreads(1),
		o.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
	)
	if err != nil {
		return nil, errors.Join(err, o.Destroy())
	}
	return o, nil
}

// The inputs of BERT-shaped models.
const (
	inputIDs   = "input_ids"
	attention  = "attention_mask"
	tokenTypes = "token_type_ids"
)

// ports returns the names of the model's inputs and of the output to pool.
func ports(path string, d *modelstore.Description) (in []string, out string, err error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, "", err
	}
	// Only the names are wanted of this load: nothing is optimized for it.
	err = options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll)
	inputs, outputs, infoErr := ort.GetInputOutputInfoWithOptions(path, options)
	if err := errors.Join(err, infoErr, options.Destroy()); err != nil {
		return nil, "", err
	}
	if in, err = inputNames(inputs); err != nil {
		return nil, "", err
	}
	out, err = outputName(d, outputs)
	return in, out, err
}

func inputNames(inputs []ort.InputOutputInfo) ([]string, error) {
	have := map[string]bool{}
	for _, p := range inputs {
		if !slices.Contains([]string{inputIDs, attention, tokenTypes}, p.Name) || p.DataType != ort.TensorElementDataTypeInt64 {
			return nil, fmt.Errorf("the model has the input %q (%v), which BERT-shaped models have not", p.Name, p.DataType)
		}
		have[p.Name] = true
	}
	if !have[inputIDs] || !have[attention] {
		return nil, fmt.Errorf("the model lacks the input %s or %s", inputIDs, attention)
	}
	in := []string{inputIDs, attention}
	if have[tokenTypes] {
		in = append(in, tokenTypes)
	}
	return in, nil
}

// outputName returns the first output that has the rank to pool, and holds
// that its vectors are as long as the description says.
func outputName(about *modelstore.Description, outputs []ort.InputOutputInfo) (string, error) {
	rank := 3 // text, token, dimension
	if about.Pooling == modelstore.None {
		rank = 2
	}
	for _, p := range outputs {
		if len(p.Dimensions) != rank || p.DataType != ort.TensorElementDataTypeFloat {
			continue
		}
		if d := p.Dimensions[rank-1]; d > 0 && d != int64(about.Dimensions) {
			return "", fmt.Errorf("the model's vectors have %d dimensions, its description says %d", d, about.Dimensions)
		}
		return p.Name, nil
	}
	return "", fmt.Errorf("the model has no output to pool by %q among %v", about.Pooling, outputs)
}

func (s *session) version() string { return ort.GetVersion() }

func (s *session) close() error { return s.dynamic.Destroy() }

func (s *session) hidden(ctx context.Context, b batch, show func([]float32) error) error {
	in, err := s.inputs(b)
	defer destroy(in)
	if err != nil {
		return fmt.Errorf("make inputs: %w", err)
	}
	out := []ort.Value{nil}
	err = s.runUntil(ctx, in, out)
	defer destroy(out)
	if err != nil {
		return fmt.Errorf("run %d texts of %d tokens: %w", b.rows, b.length, err)
	}
	tensor, ok := out[0].(*ort.Tensor[float32])
	if !ok {
		return fmt.Errorf("the model's output is a %T", out[0])
	}
	return show(tensor.GetData())
}

func (s *session) inputs(b batch) ([]ort.Value, error) {
	shape := ort.NewShape(int64(b.rows), int64(b.length))
	columns := [][]int64{b.ids, b.mask}
	if s.types {
		columns = append(columns, b.types)
	}
	var in []ort.Value
	for _, column := range columns {
		tensor, err := ort.NewTensor(shape, column)
		if err != nil {
			return in, err
		}
		in = append(in, tensor)
	}
	return in, nil
}

// runUntil runs the model and stops it when ctx ends. It returns when the
// runtime has released everything.
func (s *session) runUntil(ctx context.Context, in, out []ort.Value) error {
	options, err := ort.NewRunOptions()
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// A run that cannot be stopped ends by itself.
		_ = options.Terminate()
	})
	err = s.dynamic.RunWithOptions(in, out, options)
	if !keep() {
		<-stopped // the options are in use until then
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return errors.Join(err, options.Destroy())
}

func destroy(values []ort.Value) {
	for _, v := range values {
		if v != nil {
			// There is nothing to do about memory that cannot be given back.
			_ = v.Destroy()
		}
	}
}
