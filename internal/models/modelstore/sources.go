package modelstore

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/kit/redact"
)

// source is a folder, file, archive or address that files are taken from.
type source struct {
	from string
	sum  string // SHA-256 that it has to have; "" if none was given
	size int64  // bytes that it has to have; 0 if unknown
}

// candidate is a file that an entry may be made from.
type candidate struct {
	name string // path below the given folder, or in the archive
	size int64  // bytes
	sum  string // SHA-256 that it has to have; "" if none was given
	open func() (io.ReadCloser, error)
}

func onDisk(name, path string, size int64, sum string) candidate {
	return candidate{name, size, sum, func() (io.ReadCloser, error) { return os.Open(path) }}
}

// gather lists the files of every source. What comes from an address is kept in dir.
func (b *builder) gather(s *Store, sources []source, dir string) error {
	for i, from := range sources {
		file, name := from.from, filepath.Base(from.from)
		if isURL(from.from) {
			file, name = filepath.Join(dir, fmt.Sprint(i)), nameInURL(from.from)
			if err := s.download(b.ctx, from, file, b.request.Progress); err != nil {
				return fmt.Errorf("download %s: %w", redact.Text(from.from), err)
			}
		}
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is not there", from.from)
		case err != nil:
			return err
		case info.IsDir() && from.sum != "":
			return fmt.Errorf("%s is a folder: a SHA-256 belongs to a file or an address", from.from)
		case info.IsDir():
			found, err := filesOf(file)
			if err != nil {
				return err
			}
			b.candidates = append(b.candidates, found...)
		case slices.Contains([]string{".jar", ".zip"}, path.Ext(name)):
			if err := b.openArchive(file, redact.Text(from.from), from.sum); err != nil {
				return err
			}
		default:
			b.candidates = append(b.candidates, onDisk(name, file, info.Size(), from.sum))
		}
	}
	return nil
}

// openArchive lists the files in an archive, once it has the SHA-256. The reader of a file
// in it gives no more bytes than are listed here.
func (b *builder) openArchive(file, name, sum string) error {
	if sum != "" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		got := sha256.New()
		_, err = io.Copy(got, reader{b.ctx, opened})
		if err := errors.Join(err, opened.Close()); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := compare(name, hex.EncodeToString(got.Sum(nil)), sum); err != nil {
			return err
		}
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	b.archives = append(b.archives, z)
	for _, f := range z.File {
		if f.Mode().IsRegular() {
			b.candidates = append(b.candidates, candidate{name: f.Name, size: int64(f.UncompressedSize64), open: f.Open})
		}
	}
	return nil
}

func compare(name, got, expected string) error {
	if got != expected {
		return fmt.Errorf("%s is damaged or another file: its SHA-256 is %s, expected is %s", name, got, expected)
	}
	return nil
}

// filesOf lists the regular files of a folder, hidden folders left out.
func filesOf(dir string) (all []candidate, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, onDisk(name, path, info.Size(), ""))
		return err
	})
	return all, err
}

// errIdle ends a download that stands still.
var errIdle = errors.New("the server sent nothing for a while")

// download writes the content of an address to a file. After a failure that may pass it
// begins again.
func (s *Store) download(ctx context.Context, from source, file string, p Progress) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(s.pause)), 4)
	return backoff.Retry(func() error {
		err := s.downloadOnce(ctx, from, file, p)
		if disk := (*fs.PathError)(nil); errors.As(err, &disk) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(policy, ctx))
}

func (s *Store) downloadOnce(ctx context.Context, from source, file string, p Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.idle, func() { cancel(errIdle) })
	defer idle.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.from, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // the address is named by the caller, without secrets
		}
		return cmp.Or(idleCause(ctx), err)
	}
	defer resp.Body.Close()
	switch code := resp.StatusCode; {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fmt.Errorf("the server answers %s", resp.Status)
	case code != http.StatusOK:
		return backoff.Permanent(fmt.Errorf("the server answers %s", resp.Status))
	case from.size > 0 && resp.ContentLength >= 0 && resp.ContentLength != from.size:
		return backoff.Permanent(fmt.Errorf("the server sends another file: %d bytes, expected are %d", resp.ContentLength, from.size))
	}
	body := io.Reader(resp.Body)
	if from.size > 0 {
		body = io.LimitReader(body, from.size+1)
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	count := p.start("downloading "+nameInURL(from.from), cmp.Or(from.size, resp.ContentLength))
	_, err = io.Copy(io.MultiWriter(to, count, alive{idle, s.idle}), body)
	return cmp.Or(idleCause(ctx), errors.Join(err, to.Close(), count.Close()))
}

func idleCause(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, errIdle) {
		return err
	}
	return nil
}

// alive resets a timer with each write.
type alive struct {
	timer *time.Timer
	after time.Duration
}

// Write counts nothing.
func (a alive) Write(b []byte) (int, error) {
	a.timer.Reset(a.after)
	return len(b), nil
}

// nameInURL is the last part of an address's path.
func nameInURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return address
	}
	return path.Base(u.Path)
}
