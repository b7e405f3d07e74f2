package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Source is one file, URL or stream of an import.
type Source struct {
	Name string // in messages; the default provider is made of it; empty for standard input
	Size int64  // in bytes, 0 if unknown
	Open func(context.Context) (io.ReadCloser, error)
}

// title names s in messages.
func (s *Source) title() string { return cmp.Or(s.Name, "standard input") }

// address returns the name of s with all its folders, so that the provider does not depend on
// the folder that an import is started in.
func (s *Source) address() string {
	if s.Name == "" || strings.Contains(s.Name, "://") {
		return s.Name
	}
	if path, err := filepath.Abs(s.Name); err == nil {
		return path
	}
	return s.Name
}

// Expand returns the sources that arguments name, in their order: files, folders, globs, URLs,
// and "-" for in.
func Expand(in io.Reader, args []string) ([]Source, error) {
	var all []Source
	for _, arg := range args {
		found, err := expand(in, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func expand(in io.Reader, arg string) ([]Source, error) {
	if arg == "-" {
		return []Source{{Open: func(ctx context.Context) (io.ReadCloser, error) { return interruptible(ctx, in), nil }}}, nil
	}
	if u, err := url.Parse(arg); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return []Source{{Name: arg, Open: func(ctx context.Context) (io.ReadCloser, error) { return download(ctx, arg) }}}, nil
	}
	paths := []string{arg}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if paths, err = filepath.Glob(arg); err == nil && len(paths) == 0 {
			err = errors.New("no such file or folder")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return withReferences(arg, info.Size())
	}
	var out []Source
	for _, path := range paths {
		if out, err = appendDocuments(out, path, map[string]bool{}); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no document found (%s)", arg, strings.Join(formats.DocumentEndings(), ", "))
	}
	if len(paths) == 1 {
		if out, err = together(arg, out); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b Source) int { return rank(a) - rank(b) })
	return out, nil
}

func file(path string, size int64) Source {
	return Source{Name: path, Size: size, Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }}
}

// interruptible reads r until ctx ends, even while a read of r blocks, as on a terminal. The
// blocked read is abandoned.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	go func() {
		defer stop()
		_, err := io.Copy(out, r)
		out.CloseWithError(err)
	}()
	return in
}

// appendDocuments adds a file, or all files below a folder with the ending of a readable
// format. It skips hidden files and the query and label files of data sets. It follows
// symbolic links, because the files of a mounted ConfigMap are links.
func appendDocuments(out []Source, path string, visited map[string]bool) ([]Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err // a link to nothing: its tools must not be taken for gone
	}
	if info.Mode().IsRegular() {
		return append(out, file(path, info.Size())), nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || visited[real] || !info.IsDir() {
		return out, err
	}
	visited[real] = true
	if skill, found := skillFile(path); found {
		return appendDocuments(out, skill, visited)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		folder, statErr := os.Stat(at)
		if err != nil || strings.HasPrefix(e.Name(), ".") || !formats.IsDocument(e.Name()) && (statErr != nil || !folder.IsDir()) {
			continue
		}
		out, err = appendDocuments(out, at, visited)
	}
	return out, err
}

// skillFile returns the SKILL.md of a folder that is an agent skill. The other files of the
// folder serve the skill and are not tools.
func skillFile(folder string) (path string, found bool) {
	path = filepath.Join(folder, "SKILL.md")
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// rank puts providers before tools, so that tools find their owners.
func rank(s Source) int {
	if formats.IsProvidersFile(s.Name) {
		return 0
	}
	return 1
}

func download(ctx context.Context, address string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answers %s", address, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}
