package main

import (
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

// source is one file, URL or stream of an import.
type source struct {
	name string // in messages, and where the default agent comes from
	size int64  // in bytes, 0 if it is not known
	open func(context.Context) (io.ReadCloser, error)
}

// sources expands the arguments of an import, in their order: files, folders,
// globs, URLs, "-" for standard input.
func (c *console) sources(args []string) ([]source, error) {
	var all []source
	for _, arg := range args {
		found, err := c.expand(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (c *console) expand(arg string) ([]source, error) {
	if arg == "-" {
		return []source{{name: "", open: func(ctx context.Context) (io.ReadCloser, error) { return interruptible(ctx, c.in), nil }}}, nil
	}
	if u, err := url.Parse(arg); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return []source{{name: arg, open: func(ctx context.Context) (io.ReadCloser, error) { return download(ctx, arg) }}}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return glob(arg)
	case err != nil:
		return nil, err
	case info.IsDir():
		return folder(arg)
	}
	return []source{file(arg, info.Size())}, nil
}

func file(path string, size int64) source {
	return source{name: path, size: size, open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }}
}

// interruptible reads r until ctx ends, though r may wait for somebody who types.
// The last read of r is left behind.
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

func glob(pattern string) ([]source, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("%s: no such file or folder", pattern)
	}
	var out []source
	for _, m := range matches {
		info, err := os.Stat(m)
		switch {
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			out = append(out, file(m, info.Size()))
		case info.IsDir():
			found, err := documents(m)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	return agentsFirst(pattern, out)
}

// folder lists the documents below a folder.
func folder(root string) ([]source, error) {
	out, err := documents(root)
	if err != nil {
		return nil, err
	}
	return agentsFirst(root, out)
}

// agentsFirst orders documents so that tools find their owners.
func agentsFirst(place string, found []source) ([]source, error) {
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there is no document (%s)", place, strings.Join(documentEndings(), ", "))
	}
	slices.SortStableFunc(found, func(a, b source) int { return rank(a) - rank(b) })
	return found, nil
}

// documents lists what has the ending of a format that can be read, below a
// folder, without hidden files and without the queries and labels that data sets
// keep beside their tools. Symbolic links are followed: the files of a mounted
// ConfigMap are some.
func documents(root string) ([]source, error) {
	var out []source
	visited := map[string]bool{}
	var visit func(dir string) error
	visit = func(dir string) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || visited[real] {
			return err
		}
		visited[real] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			info, err := os.Stat(path)
			switch {
			case err == nil && info.IsDir():
				if err := visit(path); err != nil {
					return err
				}
			case !isDocument(e.Name()):
			case err != nil:
				return err // a link to nothing: its tools must not be taken for gone
			case info.Mode().IsRegular():
				out = append(out, file(path, info.Size()))
			}
		}
		return nil
	}
	return out, visit(root)
}

func rank(s source) int {
	if strings.HasPrefix(filepath.Base(s.name), "agents") {
		return 0
	}
	return 1
}

func documentEndings() []string {
	return []string{".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".md", ".txt", ".py"}
}

func isDocument(name string) bool {
	if formats.IsDataSetSidecar(name) {
		return false
	}
	return slices.Contains(documentEndings(), strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".gz"))))
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
