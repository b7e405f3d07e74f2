package modelstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cenkalti/backoff/v4"
)

// candidate is a file that an entry may be made from.
type candidate struct {
	name string // path below the given folder
	path string
	size int64
	sum  string // SHA-256 that it has to have; "" if none was given
}

// gather lists the files of every folder, file and address that was given. What comes
// from an address is kept in dir.
func (s *Store) gather(ctx context.Context, r Request, dir string) ([]candidate, error) {
	var all []candidate
	for i, from := range r.From {
		sum := strings.ToLower(r.sum(i))
		file, name := from, filepath.Base(from)
		if isURL(from) {
			file, name = filepath.Join(dir, fmt.Sprint(i)), nameInURL(from)
			if err := s.download(ctx, from, file, r.Progress); err != nil {
				return nil, fmt.Errorf("download %s: %w", from, err)
			}
		}
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is not there", from)
		case err != nil:
			return nil, err
		case info.IsDir() && sum != "":
			return nil, fmt.Errorf("%s is a folder: a SHA-256 belongs to a file or an address", from)
		case info.IsDir():
			found, err := filesOf(from)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		default:
			all = append(all, candidate{name, file, info.Size(), sum})
		}
	}
	return all, nil
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
		all = append(all, candidate{name: name, path: path, size: info.Size()})
		return err
	})
	return all, err
}

// download writes the content of an address to a file. After a failure that may pass it
// begins again.
func (s *Store) download(ctx context.Context, address, file string, p Progress) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(s.pause)), 4)
	return backoff.Retry(func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return backoff.Permanent(err)
		}
		resp, err := s.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		switch code := resp.StatusCode; {
		case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
			return fmt.Errorf("the server answers %s", resp.Status)
		case code != http.StatusOK:
			return backoff.Permanent(fmt.Errorf("the server answers %s", resp.Status))
		}
		to, err := os.Create(file)
		if err != nil {
			return backoff.Permanent(err)
		}
		count := p.start("downloading "+nameInURL(address), resp.ContentLength)
		_, err = io.Copy(io.MultiWriter(to, count), resp.Body)
		return errors.Join(err, to.Close(), count.Close())
	}, backoff.WithContext(policy, ctx))
}

// nameInURL is the last part of an address's path.
func nameInURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return address
	}
	return path.Base(u.Path)
}
