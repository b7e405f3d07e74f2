package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 64 << 20

// record is one line of a file, decoded.
type record[T any] struct {
	value T
	at    string // file and line, for errors
}

// errorf describes what is wrong with a record.
func (r record[T]) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", r.at, fmt.Errorf(format, args...))
}

// records reads the file of that name, one JSON value a line; blank lines are
// passed over. It ends after the first error.
func records[T any](s *Set, name string) iter.Seq2[record[T], error] {
	return func(yield func(record[T], error) bool) {
		path, err := s.path(name)
		if err != nil {
			yield(record[T]{}, err)
			return
		}
		file, err := unpacked(path)
		if err != nil {
			yield(record[T]{}, fmt.Errorf("data set %s: %w", s.Name, err))
			return
		}
		defer file.Close() // only read from
		scan(file, filepath.Join(s.Name, filepath.Base(path)), yield)
	}
}

func scan[T any](r io.Reader, name string, yield func(record[T], error) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number := 1
	for ; lines.Scan(); number++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
		if len(line) == 0 {
			continue
		}
		rec := record[T]{at: fmt.Sprintf("%s:%d", name, number)}
		if err := json.Unmarshal(line, &rec.value); err != nil {
			yield(rec, rec.errorf("%w", err))
			return
		}
		if !yield(rec, nil) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		yield(record[T]{}, fmt.Errorf("%s:%d: %w", name, number, err))
	}
}

// opened is a file and what unpacks it.
type opened struct {
	io.Reader
	file *os.File
}

// Close closes the file.
func (o opened) Close() error { return o.file.Close() }

func unpacked(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || filepath.Ext(path) != ".gz" {
		return file, err
	}
	reader, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", path, err), file.Close())
	}
	return opened{Reader: reader, file: file}, nil
}

// collect reads a whole file into a list; convert checks each record.
func collect[T, U any](s *Set, name string, convert func(record[T]) (U, error)) ([]U, error) {
	var list []U
	for rec, err := range records[T](s, name) {
		if err != nil {
			return nil, err
		}
		value, err := convert(rec)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}
