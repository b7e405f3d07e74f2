// Package vectorfile keeps what a slow model made of texts in a file, so that no
// text is embedded twice, whatever ends the process.
package vectorfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/filelock"
)

// magic begins every file.
const magic = "TSTEACH1"

// key names a text: the first half of its SHA-256.
type key [16]byte

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// File holds vectors of one model. It only grows: a head with the model's name,
// then a record of fixed size a text, closed by its CRC-32. What a killed
// process left half written is cut off when it is opened again. Its methods may
// be called concurrently; one process at a time may use it.
type File struct {
	file       *os.File
	dimensions int
	head       int64

	mu      sync.RWMutex // guards what follows, and appending to file
	at      map[key]int  // record
	records int          // that have a place in the file
}

// Open opens, or makes, the file of a model in a folder, under a name made of
// the model's, which says everything that its vectors depend on. It is an error
// if the file holds vectors of another model, or is open already.
func Open(dir, model string, dimensions int) (*File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("vector file: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, Name(model)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("vector file: %w", err)
	}
	f := &File{file: file, dimensions: dimensions, at: map[key]int{}}
	err = filelock.Take(file)
	if err == nil {
		err = f.load(model)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("vector file %s: %w", file.Name(), err), file.Close())
	}
	return f, nil
}

// Name returns the file name for the model with this name.
func Name(model string) string {
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:8]) + ".vectors"
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

func (f *File) recordSize() int { return len(key{}) + 4*f.dimensions + crc32.Size }

// load writes the head of an empty file, or checks it and finds the records.
func (f *File) load(model string) error {
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(f.dimensions))
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(model))), model...)
	f.head = int64(len(head))
	in := bufio.NewReaderSize(f.file, 1<<20)
	found := make([]byte, len(head))
	switch n, err := io.ReadFull(in, found); {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return err
	case err != nil && strings.HasPrefix(string(head), string(found[:n])): // it is empty, or a killed process had only begun
		_, err := f.file.WriteAt(head, 0)
		return err
	case string(found) != string(head):
		return fmt.Errorf("holds vectors of another model than %s with %d dimensions; delete it to make it anew", model, f.dimensions)
	}
	return f.find(in)
}

// find notes the records. One that the disk has spoilt is passed over; what is spoilt or
// half written at the end is cut off.
func (f *File) find(in io.Reader) error {
	record := make([]byte, f.recordSize())
	for place := 0; ; place++ {
		switch _, err := io.ReadFull(in, record); {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return f.file.Truncate(f.end())
		case err != nil:
			return err
		case sound(record):
			f.at[key(record[:len(key{})])] = place
			f.records = place + 1
		}
	}
}

// end is where the next record goes.
func (f *File) end() int64 { return f.head + int64(f.records)*int64(f.recordSize()) }

func sound(record []byte) bool {
	body, sum := record[:len(record)-crc32.Size], record[len(record)-crc32.Size:]
	return crc32.ChecksumIEEE(body) == binary.LittleEndian.Uint32(sum)
}

// Len returns how many texts have a vector.
func (f *File) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.at)
}

// Has reports whether the text has a vector.
func (f *File) Has(text string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, known := f.at[keyOf(text)]
	return known
}

// Read reads the vector of a text into out and reports whether there is one. One that
// the disk has spoilt since the file was opened is an error.
func (f *File) Read(text string, out []float32) (bool, error) {
	f.mu.RLock()
	at, known := f.at[keyOf(text)]
	f.mu.RUnlock()
	if !known {
		return false, nil
	}
	record := make([]byte, f.recordSize())
	if _, err := f.file.ReadAt(record, f.head+int64(at)*int64(len(record))); err != nil {
		return false, fmt.Errorf("vector file: %w", err)
	}
	if !sound(record) || key(record[:len(key{})]) != keyOf(text) {
		return false, fmt.Errorf("vector file %s: record %d is not what was written; delete the file to make it anew", f.file.Name(), at)
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(record[len(key{})+4*i:]))
	}
	return true, nil
}

// Append adds vectors of texts, in one write. One of another length than the
// file's, or with a number that is none, is an error, and nothing is added.
func (f *File) Append(texts []string, vectors [][]float32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []byte
	added := map[key]int{}
	for i, v := range vectors {
		k := keyOf(texts[i])
		if _, known := f.at[k]; known {
			continue
		}
		if _, twice := added[k]; twice {
			continue
		}
		if len(v) != f.dimensions {
			return fmt.Errorf("vector file: a vector of %d dimensions, not %d", len(v), f.dimensions)
		}
		start := len(out)
		out = append(out, k[:]...)
		for _, x := range v {
			if n := float64(x); math.IsNaN(n) || math.IsInf(n, 0) {
				return fmt.Errorf("vector file: a vector with %v", x)
			}
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
		added[k] = f.records + len(added)
	}
	if _, err := f.file.WriteAt(out, f.end()); err != nil {
		return fmt.Errorf("vector file: %w", errors.Join(err, f.file.Truncate(f.end())))
	}
	maps.Copy(f.at, added)
	f.records += len(added)
	return nil
}
