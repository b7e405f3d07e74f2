// Package vectorcache keeps the vectors of a slow embedding model on disk, so that a text
// is embedded once, however a process ends.
package vectorcache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/services/embedder"
)

// key is the first half of the SHA-256 of a text and of the way it is embedded.
type key [16]byte

func keyOf(kind, text string) key {
	sum := sha256.Sum256([]byte(kind + "\x00" + text))
	return key(sum[:16])
}

// Model is a model with a cache in front of it. The cache only grows. Model implements
// embedder.QueryEmbedder, and may be used concurrently if the model may.
type Model struct {
	embedder.Model

	mu     sync.Mutex // guards the fields below
	log    *segmentlog.Log
	places map[key]segmentlog.Place
}

// Open opens the cache of a model in a folder, in a subfolder named after the model: the name
// determines the vectors. It sets a damaged cache aside and starts an empty one. The error
// wraps files.ErrLocked while another process has the cache open, and segmentlog.ErrFormat if
// the cache holds other dimensions.
func Open(dir string, m embedder.Model) (*Model, error) {
	sum := sha256.Sum256([]byte(m.Name()))
	folder := filepath.Join(dir, hex.EncodeToString(sum[:8])+".vectors")
	c, err := load(folder, m)
	if errors.Is(err, segmentlog.ErrDamaged) {
		if _, err = segmentlog.SetAside(folder); err == nil {
			c, err = load(folder, m)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("vectors in %s: %w", folder, err)
	}
	return c, nil
}

func load(folder string, m embedder.Model) (_ *Model, err error) {
	c := &Model{Model: m, places: map[key]segmentlog.Place{}}
	c.log, err = segmentlog.Open(context.Background(), folder, uint64(m.Dimensions()), func(p segmentlog.Place, record []byte) error {
		if len(record) != len(key{})+4*m.Dimensions() {
			return fmt.Errorf("%w: a record of %d bytes", segmentlog.ErrDamaged, len(record))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.places[key(record[:len(key{})])] = p
		return nil
	})
	return c, err
}

// Close closes the files.
func (c *Model) Close() error { return c.log.Close() }

// Embed returns the vectors of documents. It asks the model for the vectors that the cache
// lacks.
func (c *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return c.embed(ctx, "document", texts, c.Model.Embed)
}

// EmbedQueries returns the vectors of queries. It asks the model for the vectors that the
// cache lacks.
func (c *Model) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	q, ok := c.Model.(embedder.QueryEmbedder)
	if !ok {
		return c.Embed(ctx, texts)
	}
	kind := "query"
	if named, ok := c.Model.(interface{ QueryPrefix() string }); ok {
		kind += named.QueryPrefix() // the name of the model includes only the prefix of documents
	}
	return c.embed(ctx, kind, texts, q.EmbedQueries)
}

// Known is the model's, or 1.
func (c *Model) Known(text string) float32 {
	if k, ok := c.Model.(embedder.Knower); ok {
		return k.Known(text)
	}
	return 1
}

func (c *Model) embed(ctx context.Context, kind string, texts []string, model func(context.Context, []string) ([][]float32, error)) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	var at []int
	for i, text := range texts {
		var err error
		if out[i], err = c.read(keyOf(kind, text)); err != nil {
			return nil, err
		}
		if out[i] == nil {
			missing, at = append(missing, text), append(at, i)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	vectors, err := model(ctx, missing)
	if err != nil || len(vectors) != len(missing) {
		return vectors, err // the caller checks the number
	}
	for i, v := range vectors {
		out[at[i]] = v
	}
	return out, c.append(kind, missing, vectors)
}

// read returns the vector of a key, nil if there is no such vector.
func (c *Model) read(k key) ([]float32, error) {
	c.mu.Lock()
	p, known := c.places[k]
	c.mu.Unlock()
	if !known {
		return nil, nil
	}
	record, err := p.Read()
	if err != nil {
		return nil, fmt.Errorf("cached vector: %w", err)
	}
	vector := make([]float32, c.Dimensions())
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(record[len(k)+4*i:]))
	}
	return vector, nil
}

// append adds the vectors of texts, all or none. A text without a vector is left out. A
// vector of another length, or with a component that is not finite, is an error.
func (c *Model) append(kind string, texts []string, vectors [][]float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records [][]byte
	var keys []key
	for i, v := range vectors {
		k := keyOf(kind, texts[i])
		if _, known := c.places[k]; known || len(v) == 0 || slices.Contains(keys, k) {
			continue
		}
		if len(v) != c.Dimensions() {
			return fmt.Errorf("model %s: a vector of %d dimensions, not %d", c.Name(), len(v), c.Dimensions())
		}
		record := append(make([]byte, 0, len(k)+4*len(v)), k[:]...)
		for _, x := range v {
			if n := float64(x); math.IsNaN(n) || math.IsInf(n, 0) {
				return fmt.Errorf("model %s: a vector with %v", c.Name(), x)
			}
			record = binary.LittleEndian.AppendUint32(record, math.Float32bits(x))
		}
		records, keys = append(records, record), append(keys, k)
	}
	if len(records) == 0 {
		return nil
	}
	places, err := c.log.Append(records)
	if err != nil {
		return fmt.Errorf("cached vectors: %w", err)
	}
	for i, k := range keys {
		c.places[k] = places[i]
	}
	return nil
}
