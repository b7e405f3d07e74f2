package app

import (
	"context"

	"github.com/toolstream/toolstream/internal/vectorfile"
	"github.com/toolstream/toolstream/services/embedder"
)

// cachedModel keeps the vectors of a model in a file, so that what was
// embedded once costs nothing in the next evaluation.
type cachedModel struct {
	embedder.Model
	file *vectorfile.File
}

// The two ways in which a model may embed a text.
const (
	asDocument = "document"
	asQuery    = "query"
)

// openCachedModel opens, in dir, the file of the model, whose name says
// everything that its vectors depend on. One process at a time may use it.
func openCachedModel(dir string, m embedder.Model) (*cachedModel, error) {
	file, err := vectorfile.Open(dir, m.Name(), m.Dimensions())
	if err != nil {
		return nil, err
	}
	return &cachedModel{Model: m, file: file}, nil
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
	for i, text := range texts {
		vector := make([]float32, c.Dimensions())
		known, err := c.file.Read(keyText(kind, text), vector)
		if err != nil {
			return nil, err
		}
		if known {
			out[i] = vector
		} else {
			missing, at = append(missing, text), append(at, i)
		}
	}
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

// keyText is a text together with how it is embedded.
func keyText(kind, text string) string { return kind + "\x00" + text }

// keep adds vectors to the file. A text without one is not kept.
func (c *cachedModel) keep(kind string, texts []string, vectors [][]float32) error {
	var names []string
	var kept [][]float32
	for i, v := range vectors {
		if len(v) > 0 {
			names, kept = append(names, keyText(kind, texts[i])), append(kept, v)
		}
	}
	return c.file.Append(names, kept)
}
