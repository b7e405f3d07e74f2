package distill

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Teacher is what is learned from. Vectors need not have length 1.
type Teacher interface {
	Name() string
	Dimensions() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// cacheBatch is how many texts a teacher is given at once, and so how much of
// its work a kill can lose.
const cacheBatch = 512

// key names a text in a cache: the first half of its SHA-256.
type key [16]byte

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// Cache keeps a teacher's vectors in a file that only grows: a head with the
// teacher's name, then a record of fixed size a text, closed by its CRC-32.
// What a killed process left half written is cut off when it is opened again.
type Cache struct {
	teacher Teacher
	file    *os.File
	head    int64
	at      map[key]int // record
}

// OpenCache opens, or makes, the cache of a teacher in a folder, under a file
// name made of the teacher's. One process at a time may use it.
func OpenCache(dir string, teacher Teacher) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("teacher cache: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, CacheName(teacher.Name())), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("teacher cache: %w", err)
	}
	c := &Cache{teacher: teacher, file: file, at: map[key]int{}}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("teacher cache %s: %w", file.Name(), err), file.Close())
	}
	return c, nil
}

// CacheName returns the file name of the cache of the teacher with this name.
func CacheName(teacher string) string {
	sum := sha256.Sum256([]byte(teacher))
	return hex.EncodeToString(sum[:8]) + ".vectors"
}

// Close closes the file.
func (c *Cache) Close() error { return c.file.Close() }

func (c *Cache) recordSize() int { return len(key{}) + 4*c.teacher.Dimensions() + 4 }

// load writes the head of an empty file, or checks it and finds the records.
func (c *Cache) load() error {
	name := c.teacher.Name()
	head := binary.LittleEndian.AppendUint32([]byte("TSTEACH1"), uint32(c.teacher.Dimensions()))
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(name))), name...)
	c.head = int64(len(head))
	in := bufio.NewReaderSize(c.file, 1<<20)
	found := make([]byte, len(head))
	switch _, err := io.ReadFull(in, found); {
	case err == io.EOF:
		_, err := c.file.Write(head)
		return err
	case err != nil && err != io.ErrUnexpectedEOF:
		return err
	case string(found) != string(head):
		return fmt.Errorf("holds vectors of another model than %s with %d dimensions", name, c.teacher.Dimensions())
	}
	record := make([]byte, c.recordSize())
	for {
		if _, err := io.ReadFull(in, record); err != nil || !sound(record) {
			break
		}
		c.at[key(record[:len(key{})])] = len(c.at)
	}
	end := c.head + int64(len(c.at)*c.recordSize())
	if err := c.file.Truncate(end); err != nil {
		return err
	}
	_, err := c.file.Seek(end, io.SeekStart)
	return err
}

func sound(record []byte) bool {
	body, sum := record[:len(record)-4], record[len(record)-4:]
	return crc32.ChecksumIEEE(body) == binary.LittleEndian.Uint32(sum)
}

// Fill asks the teacher for the vectors of the texts that are not there yet.
// It tells progress how many of them are done; what is done stays, whatever
// happens then.
func (c *Cache) Fill(ctx context.Context, texts []string, progress func(done, total int)) error {
	var missing []string
	wanted := map[key]bool{}
	for _, t := range texts {
		if k := keyOf(t); !wanted[k] {
			wanted[k] = true
			if _, known := c.at[k]; !known {
				missing = append(missing, t)
			}
		}
	}
	for done := 0; done < len(missing); {
		progress(done, len(missing))
		batch := missing[done:min(done+cacheBatch, len(missing))]
		vectors, err := c.teacher.Embed(ctx, batch)
		if err != nil {
			return fmt.Errorf("teacher %s: %w", c.teacher.Name(), err)
		}
		if err := c.append(batch, vectors); err != nil {
			return err
		}
		done += len(batch)
		progress(done, len(missing))
	}
	return nil
}

// append writes a batch. A text without a vector is kept as zeros.
func (c *Cache) append(texts []string, vectors [][]float32) error {
	if len(vectors) != len(texts) {
		return fmt.Errorf("teacher %s: %d vectors for %d texts", c.teacher.Name(), len(vectors), len(texts))
	}
	var out []byte
	for i, text := range texts {
		v := vectors[i]
		if len(v) == 0 {
			v = make([]float32, c.teacher.Dimensions())
		}
		if len(v) != c.teacher.Dimensions() {
			return fmt.Errorf("teacher %s: a vector of %d dimensions, not %d", c.teacher.Name(), len(v), c.teacher.Dimensions())
		}
		start, k := len(out), keyOf(text)
		out = append(out, k[:]...)
		for _, x := range v {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("teacher %s: a vector with %v", c.teacher.Name(), x)
			}
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
	}
	if _, err := c.file.Write(out); err != nil {
		return fmt.Errorf("teacher cache: %w", err)
	}
	for _, text := range texts {
		c.at[keyOf(text)] = len(c.at)
	}
	return nil
}

// Read reads the vector of a text into out, at length 1; zeros where the
// teacher found nothing in the text. The text must have been filled in.
func (c *Cache) Read(text string, out []float32) error {
	at, known := c.at[keyOf(text)]
	if !known {
		return fmt.Errorf("teacher cache: no vector of %.40q", text)
	}
	raw := make([]byte, 4*len(out))
	if _, err := c.file.ReadAt(raw, c.head+int64(at*c.recordSize()+len(key{}))); err != nil {
		return fmt.Errorf("teacher cache: %w", err)
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	normalise(out)
	return nil
}
