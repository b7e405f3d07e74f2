package models

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Request says what is to be added.
type Request struct {
	Name string
	// From holds folders, files, archives (zip, jar) and http(s) addresses.
	From []string
	// SHA256 belongs to the sources of the same place. An address needs one,
	// and so does a runtime, unless the name is in the catalog.
	SHA256   []string
	Progress Progress
}

// ErrUnchanged says that the entry is there already, with every byte.
var ErrUnchanged = errors.New("already there")

// Add makes an entry, or makes it anew. What was there before is replaced only
// when the new entry is complete. Where a name of the catalog is there already
// with every byte, it returns the entry with ErrUnchanged.
func (s *Store) Add(ctx context.Context, r Request) (Entry, error) {
	pinned, known := catalog()[r.Name]
	if err := r.validate(known); err != nil {
		return Entry{}, err
	}
	if known && len(r.SHA256) == 0 {
		if e, err := s.Verify(ctx, r.Name, r.Progress); err == nil && len(e.Problems) == 0 && slices.Equal(e.Files, pinned.Files) {
			return e, ErrUnchanged
		}
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return Entry{}, fmt.Errorf("models: %w", err)
	}
	s.sweep()
	src, err := s.gather(ctx, r)
	if err != nil {
		return Entry{}, err
	}
	staging, err := os.MkdirTemp(s.dir, ".adding-")
	if err != nil {
		return Entry{}, errors.Join(err, src.close())
	}
	b := builder{ctx: ctx, request: r, src: src, dir: staging}
	m, err := b.build(pinned, known)
	if err == nil {
		err = s.place(staging, m)
	}
	if ctx.Err() == nil {
		s.dropDownloads(r) // also of what turned out to be something else
	}
	if err := errors.Join(err, src.close(), os.RemoveAll(staging)); err != nil {
		return Entry{}, fmt.Errorf("add %s: %w", r.Name, err)
	}
	return s.Get(r.Name)
}

func (r Request) validate(known bool) error {
	if err := checkName(r.Name); err != nil {
		return err
	}
	if len(r.From) == 0 {
		return errors.New("name a folder, file or address to add from")
	}
	if len(r.SHA256) > len(r.From) {
		return fmt.Errorf("%d SHA-256 for %d sources", len(r.SHA256), len(r.From))
	}
	for i, from := range r.From {
		given := i < len(r.SHA256) && r.SHA256[i] != ""
		if isURL(from) && !given && !known {
			return fmt.Errorf("%s: say with --sha256 what its SHA-256 has to be, as %s is not in the catalog", from, r.Name)
		}
		if sum, err := hex.DecodeString(r.sum(i)); given && (err != nil || len(sum) != sha256.Size) {
			return fmt.Errorf("%q is no SHA-256: 64 hexadecimal digits are", r.SHA256[i])
		}
	}
	return nil
}

// sum is the one of the source at that place, "" if there is none.
func (r Request) sum(i int) string {
	if i < len(r.SHA256) {
		return r.SHA256[i]
	}
	return ""
}

// sweep deletes what processes left that were killed while they added or
// removed. What is young may be another's at work.
func (s *Store) sweep() {
	for _, pattern := range []string{".adding-*", ".removed-*"} {
		left, _ := filepath.Glob(filepath.Join(s.dir, pattern)) // fails only for a bad pattern
		for _, path := range left {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
				_ = os.RemoveAll(path) // it takes room, no more
			}
		}
	}
}

// builder makes one entry in a folder of its own.
type builder struct {
	ctx     context.Context
	request Request
	src     *sources
	dir     string
}

func (b *builder) build(pinned Manifest, known bool) (Manifest, error) {
	switch {
	case known && !(pinned.Kind == Runtime && b.request.sum(0) != ""):
		return pinned, b.takePinned(pinned)
	case b.request.Name == RuntimeName:
		return b.takeLibrary()
	}
	return b.takeModel()
}

// takePinned finds each file by its size and SHA-256.
func (b *builder) takePinned(m Manifest) error {
	for _, f := range m.Files {
		if err := b.takePinnedFile(m, f); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) takePinnedFile(m Manifest, f File) error {
	for _, c := range b.src.candidates {
		if c.size != f.Size {
			continue
		}
		got, err := b.copy(c, f.Name, nil)
		if err != nil {
			return err
		}
		if got.SHA256 == f.SHA256 {
			return nil
		}
	}
	return b.missing(m, f)
}

// missing says which file is wanted and what there is instead.
func (b *builder) missing(m Manifest, f File) error {
	err := fmt.Errorf("%s: nothing in it is the %s of %s %s (%d bytes, SHA-256 %s)", b.src.where, f.Name, m.Name, m.Version, f.Size, f.SHA256)
	for _, c := range b.src.candidates {
		switch platform := platformOf(c.size); {
		case m.Kind == Runtime && platform != "":
			err = errors.Join(err, fmt.Errorf("%s is built for %s", c.name, platform))
		case c.size == f.Size:
			err = errors.Join(err, fmt.Errorf("%s is as long and has another SHA-256: it is damaged", c.name))
		case filepath.Ext(c.name) == filepath.Ext(f.Name):
			err = errors.Join(err, fmt.Errorf("%s has %d bytes: it is cut off or another file", c.name, c.size))
		}
	}
	return err
}

// takeLibrary takes a runtime that is not in the catalog. Its SHA-256 has to
// be given: a library that is cut off would kill the process that loads it.
func (b *builder) takeLibrary() (Manifest, error) {
	if len(b.src.candidates) != 1 || b.src.candidates[0].hash == "" {
		return Manifest{}, errors.New("a runtime that is not in the catalog is added from one file, with its SHA-256")
	}
	file, err := b.copy(b.src.candidates[0], libraryName(), nil)
	return Manifest{Name: RuntimeName, Kind: Runtime, Files: []File{file}}, err
}

// takeModel takes a model that is not in the catalog: its ONNX file, its
// tokenizer and its description.
func (b *builder) takeModel() (Manifest, error) {
	m := Manifest{Name: b.request.Name, Kind: Model}
	d, err := b.description()
	if err != nil {
		return m, err
	}
	weights, err := b.only(".onnx", ModelFile)
	if err != nil {
		return m, err
	}
	tokenizer, name, err := b.tokenizer()
	if err != nil {
		return m, err
	}
	quantized := &finder{wanted: [][]byte{[]byte("DynamicQuantizeLinear"), []byte("MatMulInteger"), []byte("QLinearMatMul")}}
	for _, take := range []struct {
		c    candidate
		as   string
		look io.Writer
	}{{tokenizer, name, nil}, {weights, ModelFile, quantized}} {
		f, err := b.copy(take.c, take.as, take.look)
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, f)
	}
	if quantized.found {
		d.Precision = cmp.Or(d.Precision, "int8")
	}
	d.Precision = cmp.Or(d.Precision, "f32")
	m.Model, m.Licence = d, d.Licence
	return m, nil
}

func (b *builder) description() (*Description, error) {
	c, err := b.only(".json", describedIn)
	if err != nil {
		return nil, fmt.Errorf("%w; %s is not in the catalog (%s), so a %s has to say how it is used", err, b.request.Name, strings.Join(Known(), ", "), describedIn)
	}
	r, err := c.open()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", c.name, err)
	}
	var d Description
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return &d, d.validate()
}

func (b *builder) tokenizer() (candidate, string, error) {
	c, err := b.only(".json", TokenizerFile)
	if err == nil {
		return c, TokenizerFile, nil
	}
	if c, err := b.only(".txt", VocabularyFile); err == nil {
		return c, VocabularyFile, nil
	}
	return candidate{}, "", err
}

// only returns the candidate of that name, or the only one of that ending if
// it is not shared by files of other kinds.
func (b *builder) only(ext, name string) (candidate, error) {
	var exact, alike []candidate
	var names []string
	for _, c := range b.src.candidates {
		if c.base() == name {
			exact = append(exact, c)
		}
		if strings.HasSuffix(c.base(), "-"+name) || ext == ".onnx" && strings.HasSuffix(c.base(), ext) {
			alike = append(alike, c)
			names = append(names, c.name)
		}
	}
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(exact) == 0 && len(alike) == 1:
		return alike[0], nil
	case len(exact)+len(alike) == 0:
		return candidate{}, fmt.Errorf("%s: it has no %s", b.src.where, name)
	}
	return candidate{}, fmt.Errorf("%s: which one is the %s: %s? Name files one by one", b.src.where, name, strings.Join(names, ", "))
}

// copy writes a candidate under a name, lets look see it, and returns what it
// was.
func (b *builder) copy(c candidate, name string, look io.Writer) (File, error) {
	from, err := c.open()
	if err != nil {
		return File{}, fmt.Errorf("open %s: %w", c.name, err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(b.dir, name))
	if err != nil {
		return File{}, err
	}
	count := b.request.Progress.start("adding "+b.request.Name+"/"+name, c.size)
	sum := sha256.New()
	writers := []io.Writer{to, sum, count}
	if look != nil {
		writers = append(writers, look)
	}
	size, err := io.Copy(io.MultiWriter(writers...), reader{b.ctx, from})
	if err == nil {
		err = to.Sync()
	}
	if err := errors.Join(err, to.Close(), count.Close()); err != nil {
		return File{}, fmt.Errorf("copy %s: %w", c.name, err)
	}
	return File{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// finder looks for words in what is written to it.
type finder struct {
	wanted [][]byte
	tail   []byte // of the last write, as a word can lie across two
	found  bool
}

// Write looks at p.
func (f *finder) Write(p []byte) (int, error) {
	f.tail = append(f.tail, p...)
	for _, w := range f.wanted {
		f.found = f.found || bytes.Contains(f.tail, w)
	}
	f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-64):]...)
	return len(p), nil
}

// place writes the manifest and moves the entry to where it belongs. An entry
// is what has a manifest under its name, so that this is one step.
func (s *Store) place(staging string, m Manifest) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(staging, manifestFile), append(raw, '\n')); err != nil {
		return err
	}
	if err := os.Chmod(staging, 0o755); err != nil {
		return err
	}
	err = s.Remove(m.Name)
	if err != nil && !errors.Is(err, ErrNotThere) {
		return err
	}
	if err := os.Rename(staging, filepath.Join(s.dir, m.Name)); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

func writeSynced(path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes renames in a folder last. Not every file system can.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // where it is refused, a crash may undo the rename, as a whole
	return d.Close()
}
