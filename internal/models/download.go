package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cenkalti/backoff/v4"
)

const (
	downloads = ".downloads" // in the store's folder: what has come so far
	attempts  = 5            // of a download that breaks off
)

// download returns where the content of an address lies. It goes on where an
// earlier one broke off. Content of which no SHA-256 is known, as its members
// are pinned, is gone on with only if the server says that it is the same.
func (s *Store) download(ctx context.Context, address, sum string, p Progress) (string, error) {
	f := fetch{client: s.client, address: address, sum: sum, progress: p, path: s.downloadPath(address, sum)}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return "", err
	}
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(s.pause))
	err := backoff.Retry(func() error { return f.try(ctx) }, backoff.WithContext(backoff.WithMaxRetries(policy, attempts-1), ctx))
	if err != nil {
		return "", err
	}
	if sum == "" {
		return f.path, nil
	}
	got, err := hashFile(ctx, f.path, discard{io.Discard})
	if err != nil {
		return "", err
	}
	if got != sum {
		return "", errors.Join(fmt.Errorf("its SHA-256 is %s, expected is %s", got, sum), os.Remove(f.path))
	}
	return f.path, nil
}

// downloadPath keeps apart what is expected to be different.
func (s *Store) downloadPath(address, sum string) string {
	key := sha256.Sum256([]byte(address + " " + sum))
	return filepath.Join(s.dir, downloads, hex.EncodeToString(key[:16]))
}

// dropDownloads forgets what was downloaded for an entry that is placed. What
// can not be deleted only takes room.
func (s *Store) dropDownloads(r Request) {
	for i, from := range r.From {
		if isURL(from) {
			part := s.downloadPath(from, strings.ToLower(r.sum(i)))
			_, _ = os.Remove(part), os.Remove(part+validatorSuffix)
		}
	}
	_ = os.Remove(filepath.Join(s.dir, downloads)) // unless others are under way
}

// validatorSuffix names the file that holds the server's name for what has
// come so far.
const validatorSuffix = ".validator"

// fetch is a download into a file.
type fetch struct {
	client       *http.Client
	address, sum string
	path         string
	progress     Progress
}

// try asks for what is missing and appends it.
func (f *fetch) try(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	have := f.resumable(req)
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have):
		return nil // all of it has come
	case resp.StatusCode == http.StatusPartialContent && startsAt(resp, have):
	case resp.StatusCode == http.StatusOK:
		have = 0
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent:
		return errors.Join(fmt.Errorf("the server can not go on after %d bytes", have), os.Remove(f.path))
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("the server answers %s", resp.Status)
	default:
		return backoff.Permanent(fmt.Errorf("the server answers %s", resp.Status))
	}
	return f.append(ctx, resp, have)
}

// resumable asks for the rest if a part is there, and returns its length.
func (f *fetch) resumable(req *http.Request) int64 {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() == 0 {
		return 0
	}
	validator, err := os.ReadFile(f.path + validatorSuffix)
	if err != nil && f.sum == "" {
		return 0
	}
	if len(validator) > 0 {
		req.Header.Set("If-Range", string(validator))
	}
	req.Header.Set("Range", "bytes="+strconv.FormatInt(info.Size(), 10)+"-")
	return info.Size()
}

func startsAt(resp *http.Response, offset int64) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset))
}

func (f *fetch) append(ctx context.Context, resp *http.Response, have int64) error {
	if err := f.remember(resp); err != nil {
		return backoff.Permanent(err)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return backoff.Permanent(err)
	}
	if err := errors.Join(file.Truncate(have), seek(file, have)); err != nil {
		return backoff.Permanent(errors.Join(err, file.Close()))
	}
	size := resp.ContentLength
	if size >= 0 {
		size += have
	}
	count := f.progress.start("downloading "+nameInURL(f.address), size)
	if have > 0 {
		_, _ = io.CopyN(count, zeros{}, have) // a bar that counts wrong is no reason to stop
	}
	_, err = io.Copy(io.MultiWriter(file, count), reader{ctx, resp.Body})
	return errors.Join(err, file.Close(), count.Close())
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}

// remember keeps the server's name for the content; a weak one does not hold
// for its bytes.
func (f *fetch) remember(resp *http.Response) error {
	validator := resp.Header.Get("ETag")
	if validator == "" || strings.HasPrefix(validator, "W/") {
		err := os.Remove(f.path + validatorSuffix)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.WriteFile(f.path+validatorSuffix, []byte(validator), 0o644)
}

// zeros is a reader without an end.
type zeros struct{}

// Read reads nothing of interest.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// nameInURL is the last part of an address's path.
func nameInURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return address
	}
	return path.Base(u.Path)
}
