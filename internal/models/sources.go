package models

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// candidate is a file that an entry may be made from.
type candidate struct {
	name string // its path in what was given
	size int64
	open func() (io.ReadCloser, error)
	hash string // that was asked for and found, if any
}

// base is the name without folders.
func (c candidate) base() string { return c.name[strings.LastIndexAny(c.name, `/\`)+1:] }

// sources holds everything that was given, archives opened.
type sources struct {
	where      string // for messages
	candidates []candidate
	closers    []io.Closer
}

func (s *sources) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// gather looks into every folder, archive, file and address that was given.
func (s *Store) gather(ctx context.Context, r Request) (*sources, error) {
	out := &sources{where: strings.Join(r.From, ", ")}
	for i, from := range r.From {
		var sum string
		if i < len(r.SHA256) {
			sum = strings.ToLower(r.SHA256[i])
		}
		if err := s.gatherOne(ctx, out, from, sum, r.Progress); err != nil {
			return nil, errors.Join(err, out.close())
		}
	}
	return out, nil
}

func (s *Store) gatherOne(ctx context.Context, out *sources, from, sum string, p Progress) error {
	if isURL(from) {
		path, err := s.download(ctx, from, sum, p)
		if err != nil {
			return fmt.Errorf("download %s: %w", from, err)
		}
		return out.file(path, nameInURL(from), sum)
	}
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there", from)
	case err != nil:
		return err
	case info.IsDir() && sum != "":
		return fmt.Errorf("%s is a folder: a SHA-256 belongs to a file or an address", from)
	case info.IsDir():
		return out.folder(from)
	}
	if sum != "" {
		got, err := hashFile(ctx, from, p.start("verifying "+filepath.Base(from), info.Size()))
		if err != nil {
			return err
		}
		if got != sum {
			return fmt.Errorf("%s is damaged or another file: its SHA-256 is %s, expected is %s", from, got, sum)
		}
	}
	return out.file(from, filepath.Base(from), sum)
}

func (s *sources) folder(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return s.file(path, rel, "")
	})
}

// file adds a file, or what is in it if it is an archive.
func (s *sources) file(path, name, sum string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".jar" || ext == ".zip" {
		return s.archive(path)
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	s.candidates = append(s.candidates, candidate{name: name, size: info.Size(), open: open, hash: sum})
	return nil
}

// archive adds the files of a zip archive, as jars are. The names in it are
// only looked at: nothing is unpacked under them.
func (s *sources) archive(path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%s is a damaged archive: %w", path, err)
	}
	s.closers = append(s.closers, z)
	for _, f := range z.File {
		if f.Mode().IsRegular() {
			s.candidates = append(s.candidates, candidate{name: f.Name, size: int64(f.UncompressedSize64), open: f.Open})
		}
	}
	return nil
}
