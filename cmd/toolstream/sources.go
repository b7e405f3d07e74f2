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
		return []source{{name: "", open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(c.in), nil }}}, nil
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
		if info, err := os.Stat(m); err == nil && info.Mode().IsRegular() {
			out = append(out, file(m, info.Size()))
		}
	}
	return out, nil
}

// folder lists the documents below a folder: what has the ending of a format
// that can be read, without hidden files and without the queries and labels
// that data sets keep beside their tools. Agents come first, so that tools
// find their owners.
func folder(root string) ([]source, error) {
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(d.Name(), ".") && path != root; hidden && d.IsDir() {
			return filepath.SkipDir
		} else if hidden || !d.Type().IsRegular() || !isDocument(d.Name()) {
			return nil
		}
		info, err := d.Info()
		out = append(out, file(path, info.Size()))
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the folder holds no document (%s)", root, strings.Join(documentEndings(), ", "))
	}
	slices.SortStableFunc(out, func(a, b source) int { return rank(a) - rank(b) })
	return out, nil
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
