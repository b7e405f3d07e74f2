package modelstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Store is a folder of entries. Several processes may use it at once.
type Store struct {
	dir    string
	client *http.Client
	pause  time.Duration // before the first retry of a download
	idle   time.Duration // after which a download without a byte ends
}

// New returns the store in dir, which need not be there yet.
func New(dir string) *Store {
	return &Store{dir: dir, client: http.DefaultClient, pause: 500 * time.Millisecond, idle: time.Minute}
}

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// Entry is an entry of a store.
type Entry struct {
	Manifest
	// Dir is the folder of the entry's files.
	Dir string `json:"dir"`
	// Problems are the reasons why the entry cannot be used, if any.
	Problems []string `json:"problems,omitempty"`
}

// Path returns the path of a file of the entry.
func (e Entry) Path(f File) string { return filepath.Join(e.Dir, e.Folder, f.Name) }

// Tokenizer returns the model's tokenizer.json or vocab.txt.
func (e Entry) Tokenizer() File {
	if f, ok := e.file(TokenizerFile); ok {
		return f
	}
	f, _ := e.file(VocabularyFile)
	return f
}

// Weights returns the model's ONNX file.
func (e Entry) Weights() File {
	f, _ := e.file(ModelFile)
	return f
}

// Compare reads a file of the entry and returns an error unless it has the SHA-256 of
// the manifest.
func (e Entry) Compare(ctx context.Context, f File, p Progress) error {
	file, err := os.Open(e.Path(f))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", e.Path(f))
	}
	if err != nil {
		return err
	}
	defer file.Close()
	sum, count := sha256.New(), p.start("verifying "+e.Name+"/"+f.Name, f.Size)
	defer count.Close()
	size, err := io.Copy(io.MultiWriter(sum, count), reader{ctx, file})
	if err != nil {
		return fmt.Errorf("read %s: %w", e.Path(f), err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s is damaged: its %d bytes have the SHA-256 %s, it should be %s", e.Path(f), size, got, f.SHA256)
	}
	return nil
}

// Get returns an entry as its manifest has it. It does not read the files:
// their user compares their SHA-256.
func (s *Store) Get(name string) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	dir := filepath.Join(s.dir, name)
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, fmt.Errorf("%s is %w: %s has no such entry", name, ErrNotThere, s.dir)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read the manifest of %s: %w", name, err)
	}
	e := Entry{Dir: dir}
	if err := json.Unmarshal(raw, &e.Manifest); err != nil {
		return Entry{}, fmt.Errorf("the manifest of %s in %s is damaged: %w", name, dir, err)
	}
	if err := e.check(name); err != nil {
		return Entry{}, fmt.Errorf("the manifest of %s in %s is damaged: %w", name, dir, err)
	}
	return e, nil
}

// check returns an error unless Add could have written the manifest: it names files
// in the entry's own folder, every file that its kind needs, and for a name of the
// catalog, the pinned files.
func (m Manifest) check(name string) error {
	if m.Name != name || m.Kind != Runtime && m.Kind != Model || (m.Kind == Model) != (m.Model != nil) {
		return fmt.Errorf("it is of %q, a %q", m.Name, m.Kind)
	}
	if filepath.Base(m.Folder) != m.Folder || !filepath.IsLocal(m.Folder) {
		return fmt.Errorf("it names the folder %q", m.Folder)
	}
	for _, f := range m.Files {
		if filepath.Base(f.Name) != f.Name || f.Name == manifestFile || len(f.SHA256) != 2*sha256.Size {
			return fmt.Errorf("it names the file %q with the SHA-256 %q", f.Name, f.SHA256)
		}
	}
	if pinned, ok := catalog()[name]; ok && m.Kind == Model && !slices.Equal(m.Files, pinned.Files) {
		return errors.New("its files differ from the files that the catalog pins for this name")
	}
	if m.Kind == Runtime {
		if len(m.Files) != 1 {
			return fmt.Errorf("it names %d libraries", len(m.Files))
		}
		return nil
	}
	e := Entry{Manifest: m}
	if e.Weights() == (File{}) || e.Tokenizer() == (File{}) {
		return errors.New("it names no weights or no tokenizer")
	}
	return m.Model.validate()
}

// List returns every entry by name, including unusable entries. It compares the
// sizes of files and does not read them.
func (s *Store) List() ([]Entry, error) {
	folders, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	var out []Entry
	for _, f := range folders {
		if !f.IsDir() || checkName(f.Name()) != nil {
			continue
		}
		e, err := s.Get(f.Name())
		if errors.Is(err, ErrNotThere) {
			continue // it was never complete
		}
		if err != nil {
			e = Entry{Manifest: Manifest{Name: f.Name()}, Dir: filepath.Join(s.dir, f.Name()), Problems: []string{err.Error()}}
		}
		for _, file := range e.Files {
			if info, err := os.Stat(e.Path(file)); err != nil {
				e.Problems = append(e.Problems, file.Name+" is missing")
			} else if info.Size() != file.Size {
				e.Problems = append(e.Problems, fmt.Sprintf("%s has %d bytes and should have %d", file.Name, info.Size(), file.Size))
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// Verify reads every file of an entry and returns the entry with its problems.
func (s *Store) Verify(ctx context.Context, name string, p Progress) (Entry, error) {
	e, err := s.Get(name)
	if err != nil {
		return Entry{}, err
	}
	for _, f := range e.Files {
		if err := e.Compare(ctx, f, p); ctx.Err() != nil {
			return e, ctx.Err()
		} else if err != nil {
			e.Problems = append(e.Problems, err.Error())
		}
	}
	return e, nil
}

// Remove deletes an entry, whole or damaged.
func (s *Store) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	// The manifest goes first, so that a half-deleted entry does not count.
	dir := filepath.Join(s.dir, name)
	err := os.Remove(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is %w: %s has no such entry", name, ErrNotThere, s.dir)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// Progress returns a counter of the bytes that are read of a file of the given
// size. Nil counts nothing.
type Progress func(what string, size int64) io.WriteCloser

func (p Progress) start(what string, size int64) io.WriteCloser {
	if p == nil {
		return discard{io.Discard}
	}
	return p(what, size)
}

type discard struct{ io.Writer }

// Close does nothing.
func (discard) Close() error { return nil }

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads unless the context has ended.
func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func isURL(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}
