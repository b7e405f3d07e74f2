package distill

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/vectorfile"
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

// Cache keeps a teacher's vectors in a file.
type Cache struct {
	teacher Teacher
	file    *vectorfile.File
}

// OpenCache opens, or makes, the cache of a teacher in a folder. One process at
// a time may use it.
func OpenCache(dir string, teacher Teacher) (*Cache, error) {
	file, err := vectorfile.Open(dir, teacher.Name(), teacher.Dimensions())
	if err != nil {
		return nil, fmt.Errorf("teacher %s: %w", teacher.Name(), err)
	}
	return &Cache{teacher: teacher, file: file}, nil
}

// Close closes the file.
func (c *Cache) Close() error { return c.file.Close() }

// Fill asks the teacher for the vectors of the texts that are not there yet.
// It tells progress how many of them are done; what is done stays, whatever
// happens then.
func (c *Cache) Fill(ctx context.Context, texts []string, progress func(done, total int)) error {
	var missing []string
	wanted := map[string]bool{}
	for _, t := range texts {
		if !wanted[t] && !c.file.Has(t) {
			missing = append(missing, t)
		}
		wanted[t] = true
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
	vectors = slices.Clone(vectors)
	for i, v := range vectors {
		if len(v) == 0 {
			vectors[i] = make([]float32, c.teacher.Dimensions())
		}
	}
	if err := c.file.Append(texts, vectors); err != nil {
		return fmt.Errorf("teacher %s: %w", c.teacher.Name(), err)
	}
	return nil
}

// Read reads the vector of a text into out, at length 1; zeros where the
// teacher found nothing in the text. The text must have been filled in.
func (c *Cache) Read(text string, out []float32) error {
	known, err := c.file.Read(text, out)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("teacher %s: no vector of %.40q", c.teacher.Name(), text)
	}
	normalise(out)
	return nil
}
