package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Folder reads the documents below a folder, such as a checkout, and looks for changes of
// its files every two seconds: watchers miss mounts and swapped links.
type Folder struct{}

const lookEvery = 2 * time.Second

// Connect implements source.Connector.
func (Folder) Connect(_ context.Context, at source.Place, changed func()) (source.Session, error) {
	root, err := os.OpenRoot(at.URL)
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, name: path.Base(at.URL), limits: at.Limits, stop: make(chan struct{}), done: make(chan struct{})}
	f.listed = f.look()
	go f.watch(changed)
	return f, nil
}

type folder struct {
	root   *os.Root // links that lead out of it are not followed
	name   string
	limits source.Limits
	listed [sha256.Size]byte // what the files looked like last
	stop   chan struct{}
	done   chan struct{}
}

// Live implements source.Session.
func (*folder) Live() bool { return true }

// Close implements source.Session.
func (f *folder) Close() {
	close(f.stop)
	<-f.done
	_ = f.root.Close() // it was only read
}

// watch calls changed whenever the files look different.
func (f *folder) watch(changed func()) {
	defer close(f.done)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if now := f.look(); now != f.listed {
				f.listed = now
				changed()
			}
		case <-f.stop:
			return
		}
	}
}

// look returns a digest of the names, sizes and times of the files.
func (f *folder) look() [sha256.Size]byte {
	h := sha256.New()
	err := f.each(func(name string, info fs.FileInfo) error {
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00", name, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	fmt.Fprint(h, err)
	return [sha256.Size]byte(h.Sum(nil))
}

// each calls fn for every file that may hold documents, except in hidden folders.
func (f *folder) each(fn func(name string, info fs.FileInfo) error) error {
	return f.walk(".", 0, fn)
}

// maxDepth bounds how deep folders are followed: links may lead in a circle.
const maxDepth = 32

func (f *folder) walk(dir string, depth int, fn func(string, fs.FileInfo) error) error {
	if depth == maxDepth {
		return errors.New("the folders are too deep, or in a circle")
	}
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := f.root.Stat(name) // follows links
		switch {
		case err != nil:
			return err // a broken link: its target must not be taken for gone
		case info.IsDir():
			err = f.walk(name, depth+1, fn)
		case info.Mode().IsRegular() && formats.IsDocument(name):
			err = fn(name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// List implements source.Session.
func (f *folder) List(context.Context, bool) (source.Listing, error) {
	var files []formats.File
	left := f.limits.Bytes
	err := f.each(func(name string, info fs.FileInfo) error {
		if left -= info.Size(); left < 0 {
			return errSize
		}
		text, err := f.root.ReadFile(name)
		files = append(files, formats.File{Name: name, Text: text})
		return err
	})
	if err != nil {
		return source.Listing{}, err
	}
	if len(files) == 0 {
		return source.Listing{Several: true}, nil
	}
	raw, err := formats.Archive(files)
	return source.Listing{Several: true, Documents: []source.Document{{Name: f.name, Raw: raw}}}, err
}
