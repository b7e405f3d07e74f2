package app

import (
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
	"sync"

	"github.com/toolstream/toolstream/services/embedder"
)

// cachedModel keeps the vectors of a model in a file, so that what was
// embedded once costs nothing in the next evaluation.
type cachedModel struct {
	embedder.Model

	mu   sync.Mutex // guards what follows
	file *os.File
	kept map[vectorKey][]float32
}

// vectorKey names a text and how it is embedded.
type vectorKey [sha256.Size]byte

func keyOf(kind, text string) vectorKey { return sha256.Sum256([]byte(kind + "\x00" + text)) }

// The two ways in which a model may embed a text.
const (
	asDocument = "document"
	asQuery    = "query"
)

// openCachedModel opens, in dir, the file of the model, whose name says
// everything that its vectors depend on. Records are of one size: key, vector,
// CRC-32 of both; the first one that is not whole ends the file. One process
// at a time may write it.
func openCachedModel(dir string, m embedder.Model) (*cachedModel, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("vector cache: %w", err)
	}
	name := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%d", m.Name(), m.Dimensions())))
	file, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(name[:8])+".vectors"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("vector cache: %w", err)
	}
	c := &cachedModel{Model: m, file: file, kept: map[vectorKey][]float32{}}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("vector cache: %w", err), file.Close())
	}
	return c, nil
}

func (c *cachedModel) recordSize() int { return len(vectorKey{}) + 4*c.Dimensions() + crc32.Size }

// load reads the whole records and drops what follows them.
func (c *cachedModel) load() error {
	data, err := io.ReadAll(c.file)
	if err != nil {
		return err
	}
	size, good := c.recordSize(), 0
	for ; good+size <= len(data); good += size {
		record := data[good : good+size]
		body := record[:size-crc32.Size]
		if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(record[len(body):]) {
			break
		}
		vector := make([]float32, c.Dimensions())
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[len(vectorKey{})+4*i:]))
		}
		c.kept[vectorKey(body[:len(vectorKey{})])] = vector
	}
	if err := c.file.Truncate(int64(good)); err != nil {
		return err
	}
	_, err = c.file.Seek(int64(good), io.SeekStart)
	return err
}

// Close closes the file.
func (c *cachedModel) Close() error { return c.file.Close() }

// Embed is the model's Embed.
func (c *cachedModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return c.embed(ctx, asDocument, texts, c.Model.Embed)
}

// EmbedQueries embeds queries as the model does.
func (c *cachedModel) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	if q, ok := c.Model.(embedder.QueryEmbedder); ok {
		kind := asQuery
		if named, ok := c.Model.(interface{ QueryPrefix() string }); ok {
			kind += named.QueryPrefix() // not in the name, which is that of documents
		}
		return c.embed(ctx, kind, texts, q.EmbedQueries)
	}
	return c.Embed(ctx, texts)
}

func (c *cachedModel) embed(ctx context.Context, kind string, texts []string, model func(context.Context, []string) ([][]float32, error)) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	var at []int
	c.mu.Lock()
	for i, text := range texts {
		if v, ok := c.kept[keyOf(kind, text)]; ok {
			out[i] = v
		} else {
			missing, at = append(missing, text), append(at, i)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	vectors, err := model(ctx, missing)
	if err != nil || len(vectors) != len(missing) {
		return vectors, err // of a wrong number the caller complains
	}
	for i, v := range vectors {
		out[at[i]] = v
	}
	return out, c.keep(kind, missing, vectors)
}

// keep adds vectors to the file. Those that are empty or of another length
// than the model promises are not kept.
func (c *cachedModel) keep(kind string, texts []string, vectors [][]float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records []byte
	for i, v := range vectors {
		if len(v) != c.Dimensions() {
			continue
		}
		key, start := keyOf(kind, texts[i]), len(records)
		records = append(records, key[:]...)
		for _, x := range v {
			records = binary.LittleEndian.AppendUint32(records, math.Float32bits(x))
		}
		records = binary.LittleEndian.AppendUint32(records, crc32.ChecksumIEEE(records[start:]))
		c.kept[key] = v
	}
	if _, err := c.file.Write(records); err != nil {
		return fmt.Errorf("vector cache: %w", err)
	}
	return nil
}
