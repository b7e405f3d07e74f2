//go:build !noonnx && (linux || darwin || windows) && (amd64 || arm64)

package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

const built = true

// loaded is the runtime that this process uses. It is of the process and not
// of a model because the C library is: there is one, and it cannot be loaded
// again.
var loaded struct {
	sync.Mutex
	sha256 string
	library
}

// library is a loaded runtime.
type library struct {
	*api
	version                string
	env, memory, allocator handle
}

// loadLibrary loads the library, once.
func loadLibrary(ctx context.Context, e modelstore.Entry) (library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	file := e.Files[0]
	if loaded.sha256 != "" {
		if loaded.sha256 != file.SHA256 {
			return library{}, fmt.Errorf("%s: the process already uses another runtime", e.Path(file))
		}
		return loaded.library, nil
	}
	if err := e.Compare(ctx, file, nil); err != nil {
		return library{}, err
	}
	l, err := openLibrary(e.Path(file))
	if err != nil {
		return library{}, fmt.Errorf("load %s (is it built for %s/%s?): %w", e.Path(file), runtime.GOOS, runtime.GOARCH, err)
	}
	loaded.sha256, loaded.library = file.SHA256, l
	return l, nil
}

func openLibrary(path string) (l library, err error) {
	base, err := symbol(path, "OrtGetApiBase")
	if err != nil {
		return l, err
	}
	if l.api, l.version, err = newAPI(base); err != nil {
		return l, err
	}
	if err := l.check(l.CreateEnv(logErrors, "toolstream", &l.env)); err != nil {
		return l, err
	}
	return l, l.check(l.DisableTelemetryEvents(l.env), l.CreateCPUMemoryInfo(arena, defaultPlace, &l.memory), l.GetAllocatorWithDefaultOptions(&l.allocator))
}

// session is a model in the runtime.
type session struct {
	library
	handle  handle
	in, out []*byte // names
}

func newRuntime(ctx context.Context, file, model modelstore.Entry) (run, error) {
	l, err := loadLibrary(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("runtime library: %w", err)
	}
	path := model.Path(model.Weights())
	s := &session{library: l}
	if err := s.load(path); err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	if err := s.findPorts(model.Model); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.close())
	}
	return s, nil
}

// load: a run has one thread, the caller's, as several runs go at
// once, and nothing spins. The runtime's arena stays on: as runs are bounded, it
// keeps 200 MB for minilm where the allocator of the C library comes to 350 and
// goes on growing, at the same speed.
func (s *session) load(path string) error {
	var options handle
	if err := s.check(s.CreateSessionOptions(&options)); err != nil {
		return err
	}
	defer s.ReleaseSessionOptions(options)
	err := s.check(
		s.SetIntraOpNumThreads(options, 1),
		s.SetInterOpNumThreads(options, 1),
		s.AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "0"),
	)
	if err != nil {
		return err
	}
	return s.check(s.CreateSession(s.env, cPath(path), options, &s.handle))
}

// The inputs of BERT-shaped models.
const (
	inputIDs   = "input_ids"
	attention  = "attention_mask"
	tokenTypes = "token_type_ids"
)

// port is an input or output of a model.
type port struct {
	name       string
	elements   int32 // typeInt64, typeFloat or another type
	dimensions []int64
}

// findPorts finds the names of the model's inputs and of the output to pool.
func (s *session) findPorts(d *modelstore.Description) error {
	inputs, err := s.ports(s.SessionGetInputCount, s.SessionGetInputName, s.SessionGetInputTypeInfo)
	if err != nil {
		return err
	}
	outputs, err := s.ports(s.SessionGetOutputCount, s.SessionGetOutputName, s.SessionGetOutputTypeInfo)
	if err != nil {
		return err
	}
	in, err := inputNames(inputs)
	if err != nil {
		return err
	}
	out, err := outputName(d, outputs)
	for _, name := range in {
		s.in = append(s.in, cString(name))
	}
	s.out = []*byte{cString(out)}
	return err
}

func (s *session) ports(
	count func(handle, *uintptr) status,
	name func(handle, uintptr, handle, **byte) status,
	info func(handle, uintptr, *handle) status,
) ([]port, error) {
	var n uintptr
	if err := s.check(count(s.handle, &n)); err != nil {
		return nil, err
	}
	ports := make([]port, n)
	for i := range ports {
		var text *byte
		if err := s.check(name(s.handle, uintptr(i), s.allocator, &text)); err != nil {
			return nil, err
		}
		ports[i].name = goString(text)
		var about handle
		if err := s.check(s.AllocatorFree(s.allocator, text), info(s.handle, uintptr(i), &about)); err != nil {
			return nil, err
		}
		err := s.describe(&ports[i], about)
		s.ReleaseTypeInfo(about)
		if err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// describe sets the elements and dimensions of a port that is a tensor.
func (s *session) describe(p *port, info handle) error {
	var tensor handle // of info
	if err := s.check(s.CastTypeInfoToTensorInfo(info, &tensor)); err != nil || tensor == 0 {
		return err
	}
	var rank uintptr
	if err := s.check(s.GetTensorElementType(tensor, &p.elements), s.GetDimensionsCount(tensor, &rank)); err != nil || rank == 0 {
		return err
	}
	p.dimensions = make([]int64, rank)
	return s.check(s.GetDimensions(tensor, &p.dimensions[0], rank))
}

func inputNames(inputs []port) ([]string, error) {
	have := map[string]bool{}
	for _, p := range inputs {
		if !slices.Contains([]string{inputIDs, attention, tokenTypes}, p.name) || p.elements != typeInt64 {
			return nil, fmt.Errorf("the model has the input %q (element type %d), which BERT-shaped models have not", p.name, p.elements)
		}
		have[p.name] = true
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
func outputName(about *modelstore.Description, outputs []port) (string, error) {
	rank := 3 // text, token, dimension
	if about.Pooling == modelstore.None {
		rank = 2
	}
	for _, p := range outputs {
		if len(p.dimensions) != rank || p.elements != typeFloat {
			continue
		}
		if d := p.dimensions[rank-1]; d > 0 && d != int64(about.Dimensions) {
			return "", fmt.Errorf("the model's vectors have %d dimensions, its description says %d", d, about.Dimensions)
		}
		return p.name, nil
	}
	return "", fmt.Errorf("the model has no output to pool by %q among %v", about.Pooling, outputs)
}

func (s *session) version() string { return s.library.version }

func (s *session) close() error {
	s.ReleaseSession(s.handle)
	return nil
}

func (s *session) hidden(ctx context.Context, b batch, show func([]float32) error) error {
	var pinned runtime.Pinner // the runtime keeps the addresses of inputs until they are released
	defer pinned.Unpin()
	in, err := s.inputs(b, &pinned)
	defer s.release(in)
	if err != nil {
		return fmt.Errorf("make inputs: %w", err)
	}
	out, err := s.runUntil(ctx, in)
	if err != nil {
		return fmt.Errorf("run %d texts of %d tokens: %w", b.rows, b.length, err)
	}
	defer s.ReleaseValue(out)
	hidden, err := s.data(out)
	if err != nil {
		return err
	}
	return show(hidden)
}

func (s *session) inputs(b batch, pinned *runtime.Pinner) (in []handle, err error) {
	shape := [2]int64{int64(b.rows), int64(b.length)}
	for _, column := range [][]int64{b.ids, b.mask, b.types}[:len(s.in)] {
		pinned.Pin(&column[0])
		var tensor handle
		size := uintptr(len(column)) * unsafe.Sizeof(column[0])
		if err := s.check(s.CreateTensorWithDataAsOrtValue(s.memory, &column[0], size, &shape, 2, typeInt64, &tensor)); err != nil {
			return in, err
		}
		in = append(in, tensor)
	}
	return in, nil
}

// data returns the numbers of a tensor, which are the runtime's.
func (s *session) data(tensor handle) ([]float32, error) {
	var info handle
	if err := s.check(s.GetTensorTypeAndShape(tensor, &info)); err != nil {
		return nil, err
	}
	defer s.ReleaseTensorTypeAndShapeInfo(info)
	var n uintptr
	var data *float32
	if err := s.check(s.GetTensorShapeElementCount(info, &n), s.GetTensorMutableData(tensor, &data)); err != nil {
		return nil, err
	}
	return unsafe.Slice(data, n), nil
}

// runUntil runs the model and stops it when ctx ends. It returns when the
// runtime has released everything but the output.
func (s *session) runUntil(ctx context.Context, in []handle) (out handle, err error) {
	var options handle
	if err := s.check(s.CreateRunOptions(&options)); err != nil {
		return 0, err
	}
	defer s.ReleaseRunOptions(options)
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// A run that cannot be stopped ends by itself.
		_ = s.check(s.RunOptionsSetTerminate(options))
	})
	err = s.check(s.Run(s.handle, options, &s.in[0], &in[0], uintptr(len(in)), &s.out[0], 1, &out))
	if !keep() {
		<-stopped // the options are in use until then
	}
	if ctx.Err() != nil {
		s.ReleaseValue(out)
		return 0, ctx.Err()
	}
	return out, err
}

func (s *session) release(values []handle) {
	for _, v := range values {
		s.ReleaseValue(v)
	}
}
