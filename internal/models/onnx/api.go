//go:build !noonnx && (linux || darwin || windows) && (amd64 || arm64)

package onnx

import (
	"errors"
	"reflect"
	"runtime"
	"strconv"
	"unicode/utf16"
	"unsafe"

	"github.com/ebitengine/purego"
)

const (
	apiVersion = 24  // of the runtime 1.24, which later runtimes serve too
	apiLength  = 131 // the last place in struct OrtApi that is used, and 1
)

// Values of enumerations of onnxruntime_c_api.h.
const (
	logErrors    = 3 // ORT_LOGGING_LEVEL_ERROR
	arena        = 1 // OrtArenaAllocator
	defaultPlace = 0 // OrtMemTypeDefault
	typeFloat    = 1 // ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
	typeInt64    = 7 // ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
)

type (
	// handle is an object of the runtime, or 0.
	handle uintptr
	// status is an error of the runtime, or 0 for success.
	status uintptr
)

// api has the functions of struct OrtApi that are used, with their places there: new ones
// are only ever added at its end.
type api struct {
	GetErrorMessage                func(status) string                                                                                                       `at:"2"`
	CreateEnv                      func(level int32, name string, env *handle) status                                                                        `at:"3"`
	DisableTelemetryEvents         func(env handle) status                                                                                                   `at:"6"`
	CreateSession                  func(env handle, path unsafe.Pointer, options handle, session *handle) status                                             `at:"7"`
	Run                            func(session, options handle, inNames **byte, in *handle, ins uintptr, outNames **byte, outs uintptr, out *handle) status `at:"9"`
	CreateSessionOptions           func(*handle) status                                                                                                      `at:"10"`
	SetIntraOpNumThreads           func(options handle, n int32) status                                                                                      `at:"24"`
	SetInterOpNumThreads           func(options handle, n int32) status                                                                                      `at:"25"`
	SessionGetInputCount           func(session handle, n *uintptr) status                                                                                   `at:"30"`
	SessionGetOutputCount          func(session handle, n *uintptr) status                                                                                   `at:"31"`
	SessionGetInputTypeInfo        func(session handle, i uintptr, info *handle) status                                                                      `at:"33"`
	SessionGetOutputTypeInfo       func(session handle, i uintptr, info *handle) status                                                                      `at:"34"`
	SessionGetInputName            func(session handle, i uintptr, allocator handle, name **byte) status                                                     `at:"36"`
	SessionGetOutputName           func(session handle, i uintptr, allocator handle, name **byte) status                                                     `at:"37"`
	CreateRunOptions               func(*handle) status                                                                                                      `at:"39"`
	RunOptionsSetTerminate         func(options handle) status                                                                                               `at:"46"`
	CreateTensorWithDataAsOrtValue func(memory handle, data *int64, bytes uintptr, shape *[2]int64, rank uintptr, elements int32, tensor *handle) status     `at:"49"`
	GetTensorMutableData           func(tensor handle, data **float32) status                                                                                `at:"51"`
	CastTypeInfoToTensorInfo       func(info handle, tensor *handle) status                                                                                  `at:"55"`
	GetTensorElementType           func(tensor handle, elements *int32) status                                                                               `at:"60"`
	GetDimensionsCount             func(tensor handle, rank *uintptr) status                                                                                 `at:"61"`
	GetDimensions                  func(tensor handle, dimensions *int64, rank uintptr) status                                                               `at:"62"`
	GetTensorShapeElementCount     func(tensor handle, n *uintptr) status                                                                                    `at:"64"`
	GetTensorTypeAndShape          func(tensor handle, info *handle) status                                                                                  `at:"65"`
	CreateCPUMemoryInfo            func(kind, place int32, memory *handle) status                                                                            `at:"69"`
	AllocatorFree                  func(allocator handle, p *byte) status                                                                                    `at:"76"`
	GetAllocatorWithDefaultOptions func(*handle) status                                                                                                      `at:"78"`
	ReleaseStatus                  func(status)                                                                                                              `at:"93"`
	ReleaseSession                 func(handle)                                                                                                              `at:"95"`
	ReleaseValue                   func(handle)                                                                                                              `at:"96"`
	ReleaseRunOptions              func(handle)                                                                                                              `at:"97"`
	ReleaseTypeInfo                func(handle)                                                                                                              `at:"98"`
	ReleaseTensorTypeAndShapeInfo  func(handle)                                                                                                              `at:"99"`
	ReleaseSessionOptions          func(handle)                                                                                                              `at:"100"`
	AddSessionConfigEntry          func(options handle, key, value string) status                                                                            `at:"130"`
}

// newAPI binds the functions of a loaded library, and returns its version too.
func newAPI(getBase uintptr) (*api, string, error) {
	var base func() *[2]uintptr
	purego.RegisterFunc(&base, getBase)
	var table func(version uint32) *[apiLength]uintptr
	var version func() string
	purego.RegisterFunc(&table, base()[0])
	purego.RegisterFunc(&version, base()[1])
	functions := table(apiVersion)
	if functions == nil {
		return nil, "", errors.New("version " + version() + " of the runtime is too old: 1.24 to 1.31 are taken")
	}
	a := reflect.New(reflect.TypeFor[api]()).Elem()
	for field, value := range a.Fields() {
		place, err := strconv.Atoi(field.Tag.Get("at"))
		if err != nil {
			return nil, "", err
		}
		purego.RegisterFunc(value.Addr().Interface(), functions[place])
	}
	return a.Addr().Interface().(*api), version(), nil
}

// check returns the first error of the runtime with its message, and releases all.
func (a *api) check(all ...status) (err error) {
	for _, s := range all {
		if s == 0 {
			continue
		}
		if err == nil {
			err = errors.New(a.GetErrorMessage(s))
		}
		a.ReleaseStatus(s)
	}
	return err
}

// cString returns text as the runtime reads it.
func cString(text string) *byte { return &append([]byte(text), 0)[0] }

// goString copies a text of the runtime.
func goString(text *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(text, n))
}

// cPath returns a path as the runtime reads it: in UTF-16 on Windows.
func cPath(path string) unsafe.Pointer {
	if runtime.GOOS == "windows" {
		return unsafe.Pointer(&utf16.Encode([]rune(path + "\x00"))[0])
	}
	return unsafe.Pointer(cString(path))
}
