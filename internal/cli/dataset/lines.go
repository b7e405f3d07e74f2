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

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 64 << 20

// record is one line of a file, decoded.
type record[T any] struct {
	value T
	at    string // file and line, for errors
}

// errorf returns an error that says where the record is.
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
		file, err := open(path)
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

// unpacked is a file that is read through gzip.
type unpacked struct {
	io.Reader
	io.Closer
}

func open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || filepath.Ext(path) != ".gz" {
		return file, err
	}
	reader, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", path, err), file.Close())
	}
	return unpacked{reader, file}, nil
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

// unique returns a check that no id is empty or repeated.
func unique(kind string) func(id string) error {
	seen := map[string]bool{}
	return func(id string) error {
		switch {
		case id == "":
			return fmt.Errorf("%s without an id", kind)
		case seen[id]:
			return fmt.Errorf("%s %s stands twice", kind, id)
		}
		seen[id] = true
		return nil
	}
}

// membersOf reads the members of an object in their written order. Nothing and null count as
// an empty object.
func membersOf(raw json.RawMessage) (iter.Seq2[string, []byte], error) {
	if len(raw) > 0 && raw[0] != '{' && string(raw) != "null" {
		return nil, fmt.Errorf("an object is wanted, have %.40s", raw)
	}
	return jsondoc.Members(raw), nil
}

// textOf returns a string's text, and any other value as JSON; null is empty.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
