package modelstore

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
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/files"
)

// Request names an entry to add, and its sources.
type Request struct {
	Name string
	// From holds folders, files, archives (.jar, .zip) and http(s) addresses of files. Without
	// it, a name of the catalog is downloaded from Repository.
	From []string
	// Repository is the address of a Maven repository.
	Repository string
	// SHA256 belongs to the sources of the same place. An address needs one,
	// and so does a runtime, unless the name is in the catalog.
	SHA256   []string
	Progress Progress
}

// ErrUnchanged says that the entry is there already, with every byte.
var ErrUnchanged = errors.New("already there")

// Add makes an entry, and replaces an older one once the new one is complete. If
// the store already has every byte of a name in the catalog, it returns the entry
// with ErrUnchanged.
func (s *Store) Add(ctx context.Context, r Request) (Entry, error) {
	pinned, known := catalog()[r.Name]
	sources, err := r.sources(known)
	if err != nil {
		return Entry{}, err
	}
	if known && len(r.SHA256) == 0 {
		if e, err := s.Verify(ctx, r.Name, r.Progress); err == nil && len(e.Problems) == 0 && slices.Equal(e.Files, pinned.Files) {
			return e, ErrUnchanged
		}
	}
	if err := s.build(ctx, r, sources); err != nil {
		err = fmt.Errorf("add %s: %w", r.Name, err)
		if disk := (*fs.PathError)(nil); len(r.From) == 0 && ctx.Err() == nil && !errors.As(err, &disk) {
			err = fmt.Errorf("%w; set models.mirror (--mirror) to a mirror of Maven Central or HTTPS_PROXY to a proxy, or get this file elsewhere and name it with --from", err)
		}
		return Entry{}, err
	}
	return s.Get(r.Name)
}

// build copies the files into a new folder of the entry. The manifest then names
// that folder, which replaces the entry in one step.
func (s *Store) build(ctx context.Context, r Request, sources []source) error {
	entry := filepath.Join(s.dir, r.Name)
	if err := os.MkdirAll(entry, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(entry, "files-")
	if err != nil {
		return err
	}
	downloads := filepath.Join(dir, "downloads")
	b := builder{ctx: ctx, request: r, dir: dir}
	var m Manifest
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(downloads, 0o755))
	if err == nil {
		err = b.gather(s, sources, downloads)
	}
	if err == nil {
		m, err = b.build()
	}
	for _, archive := range b.archives {
		err = errors.Join(err, archive.Close())
	}
	var raw []byte
	if err == nil {
		m.Folder = filepath.Base(dir)
		raw, err = json.MarshalIndent(m, "", "  ")
	}
	if err == nil {
		err = errors.Join(os.RemoveAll(downloads), files.Write(filepath.Join(entry, manifestFile), append(raw, '\n'), 0o644))
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
		_ = os.Remove(entry) // if it is empty
		return err
	}
	all, err := os.ReadDir(entry)
	for _, f := range all { // of earlier versions
		if f.Name() != m.Folder && f.Name() != manifestFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(entry, f.Name())))
		}
	}
	return err
}

// sources returns what the request names, or else the catalog.
func (r Request) sources(known bool) (all []source, err error) {
	if err := checkName(r.Name); err != nil {
		return nil, err
	}
	if len(r.SHA256) > len(r.From) {
		return nil, fmt.Errorf("%d SHA-256 for %d sources", len(r.SHA256), len(r.From))
	}
	switch {
	case len(r.From) > 0:
	case known && r.Repository != "":
		return []source{published(r.Name, r.Repository)}, nil
	case r.Name == RuntimeName:
		return nil, fmt.Errorf("the catalog has no runtime for %s/%s: name a file to add it from, and its SHA-256", runtime.GOOS, runtime.GOARCH)
	default:
		return nil, fmt.Errorf("name a folder, file or address to add from: the catalog has only %s", strings.Join(Known(), ", "))
	}
	for i, from := range r.From {
		next := source{from: from}
		if i < len(r.SHA256) {
			next.sum = strings.ToLower(r.SHA256[i])
		}
		if isURL(from) && next.sum == "" && !known {
			return nil, fmt.Errorf("%s: say with --sha256 what its SHA-256 has to be, as %s is not in the catalog", from, r.Name)
		}
		if sum, err := hex.DecodeString(next.sum); next.sum != "" && (err != nil || len(sum) != sha256.Size) {
			return nil, fmt.Errorf("%q is not a SHA-256, which has 64 hexadecimal digits", r.SHA256[i])
		}
		all = append(all, next)
	}
	return all, nil
}

// builder makes one entry in a folder of its own.
type builder struct {
	ctx        context.Context
	request    Request
	candidates []candidate
	archives   []io.Closer // of candidates
	dir        string
}

func (b *builder) build() (Manifest, error) {
	pinned, known := catalog()[b.request.Name]
	switch {
	case known && !(pinned.Kind == Runtime && len(b.request.SHA256) > 0 && b.request.SHA256[0] != ""):
		return pinned, b.addPinned(pinned)
	case b.request.Name == RuntimeName:
		// A library that is cut off would kill the process that loads it.
		if len(b.candidates) != 1 || b.candidates[0].sum == "" {
			return Manifest{}, errors.New("a runtime that is not in the catalog is added from one file, with its SHA-256")
		}
		name := "libonnxruntime.so"
		switch runtime.GOOS {
		case "windows":
			name = "onnxruntime.dll"
		case "darwin":
			name = "libonnxruntime.dylib"
		}
		file, err := b.copy(b.candidates[0], name)
		return Manifest{Name: RuntimeName, Kind: Runtime, Files: []File{file}}, err
	}
	return b.addModel()
}

// where returns the sources, for messages.
func (b *builder) where() string {
	if len(b.request.From) == 0 {
		return "the package"
	}
	return strings.Join(b.request.From, ", ")
}

// addPinned copies the pinned files, found by size and SHA-256.
func (b *builder) addPinned(m Manifest) error {
	for _, f := range m.Files {
		taken := false
		for _, c := range b.candidates {
			if taken || c.size != f.Size {
				continue
			}
			got, err := b.copy(c, f.Name)
			if err != nil {
				return err
			}
			taken = got.SHA256 == f.SHA256
		}
		if !taken {
			err := fmt.Errorf("%s: nothing in it is the %s of %s %s (%d bytes, SHA-256 %s)", b.where(), f.Name, m.Name, m.Version, f.Size, f.SHA256)
			for _, c := range b.candidates {
				if filepath.Ext(c.name) == filepath.Ext(f.Name) {
					err = errors.Join(err, fmt.Errorf("%s has %d bytes: it is damaged, of another platform or another file", c.name, c.size))
				}
			}
			return err
		}
	}
	return nil
}

// addModel copies a model that is not in the catalog: its ONNX file, its
// tokenizer and its description.
func (b *builder) addModel() (Manifest, error) {
	m := Manifest{Name: b.request.Name, Kind: Model}
	d, err := b.description()
	if err != nil {
		return m, err
	}
	weights, err := b.only(ModelFile)
	if err != nil {
		return m, err
	}
	name := TokenizerFile
	tokenizer, err := b.only(TokenizerFile)
	if err != nil {
		vocabulary, missing := b.only(VocabularyFile)
		if missing != nil {
			return m, err
		}
		name, tokenizer = VocabularyFile, vocabulary
	}
	for _, take := range []struct {
		c  candidate
		as string
	}{{tokenizer, name}, {weights, ModelFile}} {
		f, err := b.copy(take.c, take.as)
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, f)
	}
	graph, err := os.ReadFile(filepath.Join(b.dir, ModelFile))
	if err != nil {
		return m, err
	}
	for _, operator := range []string{"DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul"} {
		if bytes.Contains(graph, []byte(operator)) {
			d.Precision = cmp.Or(d.Precision, "int8")
		}
	}
	d.Precision = cmp.Or(d.Precision, "f32")
	m.Model, m.Licence = d, d.Licence
	return m, nil
}

// maxDescription is the most that is read of a model.json, in bytes.
const maxDescription = 1 << 20

func (b *builder) description() (*Description, error) {
	c, err := b.only(describedIn)
	if err != nil {
		return nil, fmt.Errorf("%w; %s is not in the catalog (%s), so a %s has to say how it is used", err, b.request.Name, strings.Join(Known(), ", "), describedIn)
	}
	file, err := c.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxDescription))
	if err != nil {
		return nil, err
	}
	var d Description
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return &d, d.validate()
}

// only returns the only candidate of that name.
func (b *builder) only(name string) (candidate, error) {
	var found []candidate
	var names []string
	for _, c := range b.candidates {
		if filepath.Base(c.name) == name {
			found, names = append(found, c), append(names, c.name)
		}
	}
	switch len(found) {
	case 0:
		return candidate{}, fmt.Errorf("%s: it has no %s", b.where(), name)
	case 1:
		return found[0], nil
	}
	return candidate{}, fmt.Errorf("%s: which file is the %s: %s? Name files one by one", b.where(), name, strings.Join(names, ", "))
}

// copy writes a candidate under a name and returns its size and SHA-256.
func (b *builder) copy(c candidate, name string) (File, error) {
	from, err := c.open()
	if err != nil {
		return File{}, err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(b.dir, name))
	if err != nil {
		return File{}, err
	}
	count := b.request.Progress.start("adding "+b.request.Name+"/"+name, c.size)
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(to, sum, count), reader{b.ctx, from})
	if err == nil {
		err = to.Sync()
	}
	if err := errors.Join(err, to.Close(), count.Close()); err != nil {
		return File{}, fmt.Errorf("copy %s: %w", c.name, err)
	}
	f := File{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	if c.sum != "" {
		err = compare(c.name, f.SHA256, c.sum)
	}
	return f, err
}
