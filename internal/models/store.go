package models

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
	pause  time.Duration // before a download that broke off goes on, the first time
}

// New returns the store in dir, which need not be there yet.
func New(dir string) *Store {
	return &Store{dir: dir, client: http.DefaultClient, pause: 500 * time.Millisecond}
}

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// Entry is what lies in a store.
type Entry struct {
	Manifest
	// Dir is the folder of the entry's files.
	Dir string `json:"dir"`
	// Problems says what is wrong with the entry; nothing, if it can be used.
	Problems []string `json:"problems,omitempty"`
}

// Path returns where a file of the entry lies.
func (e Entry) Path(f File) string { return filepath.Join(e.Dir, f.Name) }

// Tokenizer returns the model's tokenizer.json or vocab.txt.
func (e Entry) Tokenizer() (File, bool) {
	if f, ok := e.file(TokenizerFile); ok {
		return f, true
	}
	return e.file(VocabularyFile)
}

// Weights returns the model's ONNX file.
func (e Entry) Weights() (File, bool) { return e.file(ModelFile) }

// Library returns the library of a runtime.
func (e Entry) Library() (File, bool) {
	if e.Kind != Runtime || len(e.Files) != 1 {
		return File{}, false
	}
	return e.Files[0], true
}

// Get returns an entry as its manifest has it. It does not read the files:
// whoever uses them compares their SHA-256.
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

// check holds that the manifest is one that Add writes: it names files of the
// entry's own folder, and for a name of the catalog, the pinned ones.
func (m Manifest) check(name string) error {
	if m.Name != name || m.Kind != Runtime && m.Kind != Model || (m.Kind == Model) != (m.Model != nil) {
		return fmt.Errorf("it is of %q, a %q", m.Name, m.Kind)
	}
	for _, f := range m.Files {
		if filepath.Base(f.Name) != f.Name || f.Name == manifestFile || len(f.SHA256) != 2*sha256.Size {
			return fmt.Errorf("it names the file %q with the SHA-256 %q", f.Name, f.SHA256)
		}
	}
	if pinned, ok := catalog()[name]; ok && m.Kind == Model && !slices.Equal(m.Files, pinned.Files) {
		return errors.New("its files are not those that the catalog pins for this name")
	}
	if m.Model != nil {
		return m.Model.validate()
	}
	return nil
}

// List returns every entry by name, also those that can not be used. It
// compares the sizes of files and does not read them.
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
		if err != nil {
			e = Entry{Manifest: Manifest{Name: f.Name()}, Dir: filepath.Join(s.dir, f.Name()), Problems: []string{err.Error()}}
		}
		for _, file := range e.Files {
			if problem := e.sizeProblem(file); problem != "" {
				e.Problems = append(e.Problems, problem)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

func (e Entry) sizeProblem(f File) string {
	info, err := os.Stat(e.Path(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.Name + " is missing"
	case err != nil:
		return err.Error()
	case info.Size() != f.Size:
		return fmt.Sprintf("%s has %d bytes and should have %d", f.Name, info.Size(), f.Size)
	}
	return ""
}

// Verify reads every file of an entry and returns it with what is wrong.
func (s *Store) Verify(ctx context.Context, name string, p Progress) (Entry, error) {
	e, err := s.Get(name)
	if err != nil {
		return Entry{}, err
	}
	for _, f := range e.Files {
		if problem := e.sizeProblem(f); problem != "" {
			e.Problems = append(e.Problems, problem)
			continue
		}
		sum, err := hashFile(ctx, e.Path(f), p.start("verifying "+name+"/"+f.Name, f.Size))
		if err != nil {
			return e, fmt.Errorf("verify %s: %w", name, err)
		}
		if sum != f.SHA256 {
			e.Problems = append(e.Problems, fmt.Sprintf("%s is damaged: its SHA-256 is %s and should be %s", f.Name, sum, f.SHA256))
		}
	}
	return e, nil
}

// Remove deletes an entry, whole or damaged.
func (s *Store) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is %w: %s has no such entry", name, ErrNotThere, s.dir)
	}
	// Renamed first: what is half deleted is no entry any more.
	gone, err := os.MkdirTemp(s.dir, ".removed-")
	if err == nil {
		err = os.Rename(dir, filepath.Join(gone, name))
	}
	if err := errors.Join(err, os.RemoveAll(gone)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// Progress is told what is being read and how many bytes it has, and returns
// where to count them. Nil counts nothing.
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

// hashFile returns the SHA-256 of a file in hex.
func hashFile(ctx context.Context, path string, count io.WriteCloser) (string, error) {
	defer count.Close()
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, count), reader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

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
