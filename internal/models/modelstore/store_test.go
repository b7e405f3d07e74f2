package modelstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const described = `{"pooling": "cls", "dimensions": 8, "prefixes": {"query": "q: "}, "licence": "MIT"}`

func write(t *testing.T, path, content string) string {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// folder makes what a user has of a model.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "onnx", "model.onnx"), "the weights")
	write(t, filepath.Join(dir, "tokenizer.json"), "{}")
	write(t, filepath.Join(dir, "model.json"), described)
	write(t, filepath.Join(dir, ".git", "model.onnx"), "hidden")
	return dir
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func add(t *testing.T, s *Store, from ...string) Entry {
	t.Helper()
	return check.Value(s.Add(t.Context(), Request{Name: "mine", From: from}))(t)
}

func TestAddAModelOutsideTheCatalog(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "models"))
	e := add(t, s, folder(t))
	want := []File{{TokenizerFile, 2, sumOf("{}")}, {ModelFile, 11, sumOf("the weights")}}
	if !slices.Equal(e.Files, want) {
		t.Errorf("files %v, want %v", e.Files, want)
	}
	if e.Model.Pooling != "cls" || e.Model.Dimensions != 8 || e.Model.Prefixes.Query != "q: " || e.Licence != "MIT" || e.Model.Precision != "f32" {
		t.Errorf("%+v", e.Model)
	}
	if raw, err := os.ReadFile(e.Path(e.Weights())); err != nil || string(raw) != "the weights" {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestPrecisionIsFoundInTheModel(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "onnx", "model.onnx"), "a MatMulInteger and more")
	if e := add(t, New(t.TempDir()), dir); e.Model.Precision != "int8" {
		t.Errorf("precision %q", e.Model.Precision)
	}
}

func TestAddNamesTheMistakeInAModel(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, dir string)
		says   string
	}{
		"no weights":     {func(t *testing.T, dir string) { drop(t, dir, "onnx/model.onnx") }, "it has no model.onnx"},
		"no tokenizer":   {func(t *testing.T, dir string) { drop(t, dir, "tokenizer.json") }, "it has no tokenizer.json"},
		"no description": {func(t *testing.T, dir string) { drop(t, dir, "model.json") }, "not in the catalog"},
		"two weights":    {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "model.onnx"), "w") }, "which file is the model.onnx"},
		"no pooling":     {describe(`{"dimensions": 8}`), `pooling is ""`},
		"no dimensions":  {describe(`{"pooling": "mean"}`), "dimensions is 0"},
		"precision":      {describe(`{"pooling": "mean", "dimensions": 8, "precision": "f16"}`), `precision is "f16"`},
		"normalize":      {describe(`{"pooling": "mean", "dimensions": 8, "normalize": false}`), "unit length"},
		"max_tokens":     {describe(`{"pooling": "mean", "dimensions": 8, "max_tokens": 2}`), "max_tokens is 2"},
		"misspelt":       {describe(`{"poling": "mean"}`), `"poling"`},
		"not JSON":       {describe(`mean`), "model.json"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, s := folder(t), New(t.TempDir())
			c.change(t, dir)
			_, err := s.Add(t.Context(), Request{Name: "mine", From: []string{dir}})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
			if left, err := os.ReadDir(s.Dir()); err != nil || len(left) > 0 {
				t.Errorf("left over: %v, %v", left, err)
			}
		})
	}
}

func drop(t *testing.T, dir, name string) {
	t.Helper()
	check.OK(t, os.Remove(filepath.Join(dir, name)))
}

func describe(text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { write(t, filepath.Join(dir, "model.json"), text) }
}

func TestWrongRequestsAreRefused(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "f.so"), "library")
	cases := map[string]struct {
		r    Request
		says string
	}{
		"name":                 {Request{Name: "../x", From: []string{file}}, "cannot be a name"},
		"nothing":              {Request{Name: "mine"}, "name a folder"},
		"not there":            {Request{Name: "mine", From: []string{file + "x"}}, "is not there"},
		"address without hash": {Request{Name: "mine", From: []string{"https://h.example/m.zip"}}, "--sha256"},
		"no hash":              {Request{Name: "mine", From: []string{file}, SHA256: []string{"abc"}}, "not a SHA-256"},
		"more hashes":          {Request{Name: "mine", From: []string{file}, SHA256: []string{sumOf("a"), sumOf("b")}}, "2 SHA-256 for 1"},
		"another file":         {Request{Name: RuntimeName, From: []string{file}, SHA256: []string{sumOf("a")}}, "damaged or another file"},
		"folder with hash":     {Request{Name: "mine", From: []string{filepath.Dir(file)}, SHA256: []string{sumOf("a")}}, "is a folder"},
		"runtime":              {Request{Name: RuntimeName, From: []string{file}}, "libonnxruntime"},
	}
	for name, c := range cases {
		if _, err := New(t.TempDir()).Add(t.Context(), c.r); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}

func TestARuntimeOfAnotherVersionNeedsItsHash(t *testing.T) {
	s := New(t.TempDir())
	file := write(t, filepath.Join(t.TempDir(), "lib.so.1.31"), "library")
	e := check.Value(s.Add(t.Context(), Request{Name: RuntimeName, From: []string{file}, SHA256: []string{sumOf("library")}}))(t)
	if f := e.Files[0]; f.SHA256 != sumOf("library") {
		t.Errorf("%v", f)
	}
}

func TestAPinnedNameTakesPinnedBytesOnly(t *testing.T) {
	dir := folder(t)
	_, err := New(t.TempDir()).Add(t.Context(), Request{Name: "minilm", From: []string{dir}})
	if err == nil || !strings.Contains(err.Error(), "tokenizer.json has 2 bytes: it is damaged") {
		t.Errorf("%v", err)
	}
}

// TestVerifyFindsDamage changes files of an entry in every way that there is.
func TestVerifyFindsDamage(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, dir string)
		listed bool // by sizes already
		says   string
	}{
		"missing":  {func(t *testing.T, dir string) { drop(t, filesIn(t, dir), ModelFile) }, true, "model.onnx is missing"},
		"cut off":  {func(t *testing.T, dir string) { write(t, filepath.Join(filesIn(t, dir), ModelFile), "the wei") }, true, "7 bytes"},
		"flipped":  {func(t *testing.T, dir string) { write(t, filepath.Join(filesIn(t, dir), ModelFile), "the Weights") }, false, "is damaged"},
		"manifest": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, manifestFile), `{"name":"m`) }, true, "manifest of mine"},
		"escaping": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, manifestFile), `{"name":"mine","kind":"runtime","folder":"f","files":[{"name":"../../x","sha256":"`+sumOf("")+`"}]}`)
		}, true, "it names the file"},
		"escaping folder": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, manifestFile), `{"name":"mine","kind":"runtime","folder":"..","files":[]}`)
		}, true, "it names the folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			c.damage(t, add(t, s, folder(t)).Dir)
			all, err := s.List()
			if err != nil || len(all) != 1 || (len(all[0].Problems) > 0) != c.listed {
				t.Errorf("listed %+v, %v", all, err)
			}
			e, err := s.Verify(t.Context(), "mine", nil)
			if said := strings.Join(e.Problems, "; ") + errorText(err); !strings.Contains(said, c.says) {
				t.Errorf("verified: %s, want it to say %q", said, c.says)
			}
			if e := add(t, s, folder(t)); len(e.Problems) > 0 {
				t.Errorf("added again: %v", e.Problems)
			}
		})
	}
}

// filesIn is the only folder of an entry.
func filesIn(t *testing.T, entry string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(entry, "files-*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRemove(t *testing.T) {
	s := New(t.TempDir())
	dir := add(t, s, folder(t)).Dir
	check.OK(t, s.Remove("mine"))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := s.Remove("mine"); !errors.Is(err, ErrNotThere) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := s.Get("mine"); !errors.Is(err, ErrNotThere) {
		t.Errorf("%v", err)
	}
}

// TestAnEntryStaysWhenANewOneFails holds that nothing is replaced by half.
func TestAnEntryStaysWhenANewOneFails(t *testing.T) {
	s := New(t.TempDir())
	before := add(t, s, folder(t))
	dir := folder(t)
	write(t, filepath.Join(dir, "onnx", "model.onnx"), "other weights")
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(string, int64) io.WriteCloser { cancel(); return discard{io.Discard} }
	if _, err := s.Add(ctx, Request{Name: "mine", From: []string{dir}, Progress: stop}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if e, err := s.Verify(t.Context(), "mine", nil); err != nil || len(e.Problems) > 0 || !slices.Equal(e.Files, before.Files) {
		t.Errorf("%+v, %v", e, err)
	}
}

// An entry is there at every moment while it is replaced, so a process that is
// killed meanwhile leaves the old one or the new one.
func TestAnEntryIsReplacedInOneStep(t *testing.T) {
	s := New(t.TempDir())
	dir := folder(t)
	entry := add(t, s, dir).Dir
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
			if _, err := s.Get("mine"); err != nil {
				<-done
				ended <- err
				return
			}
		}
	}()
	for range 30 {
		add(t, s, dir)
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	filesIn(t, entry) // of the others nothing is left
}

// What a killed process left of an entry that was never complete is no entry.
func TestAnEntryWithoutAManifestIsNone(t *testing.T) {
	s := New(t.TempDir())
	write(t, filepath.Join(s.Dir(), "mine", "files-1", "model.onnx"), "half")
	if all, err := s.List(); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	filesIn(t, add(t, s, folder(t)).Dir)
}

// TestRealFiles looks at what `make models` made.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("TOOLSTREAM_MODELS")
	if dir == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	s := New(dir)
	for _, name := range Known() {
		e, err := s.Verify(t.Context(), name, nil)
		if err != nil || len(e.Problems) > 0 {
			t.Errorf("%s: %v %v", name, e.Problems, err)
		}
	}
	again := New(t.TempDir())
	check.Value(again.Add(t.Context(), Request{Name: "minilm-q", From: []string{dir}}))(t)
	if _, err := again.Add(t.Context(), Request{Name: "minilm-q", From: []string{"not read"}}); !errors.Is(err, ErrUnchanged) {
		t.Errorf("a second time: %v", err)
	}
}
