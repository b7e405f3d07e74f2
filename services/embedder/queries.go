package embedder

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sourcegraph/conc/panics"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxTexts bounds the texts of one request.
const maxTexts = 512

// Request asks for the vectors of texts.
type Request struct {
	Texts []string `json:"texts"`
}

// Response holds one vector for each text, as Embed returns them.
type Response struct {
	Model   string          `json:"model"`
	Vectors []events.Vector `json:"vectors"`
}

// Handle answers a Request in JSON with a Response, for request-reply. A malformed request
// is a *schema.Invalid.
func (s *Service) Handle(ctx context.Context, body []byte) ([]byte, error) {
	var req Request
	if err := jsondoc.Unmarshal(body, jsondoc.Limits{Bytes: len(body), Elements: maxTexts}, &req); err != nil {
		return nil, &schema.Invalid{Reason: `must be {"texts": [...]}: ` + err.Error()}
	}
	if n := len(req.Texts); n == 0 || n > maxTexts {
		return nil, &schema.Invalid{Path: "/texts", Value: fmt.Sprint(n), Reason: fmt.Sprintf("must hold 1 to %d texts", maxTexts)}
	}
	vectors, err := s.Embed(ctx, req.Texts)
	if err != nil {
		return nil, err
	}
	resp := Response{Model: s.documents.model.Name(), Vectors: make([]events.Vector, len(vectors))}
	for i, v := range vectors {
		resp.Vectors[i] = v
	}
	return json.Marshal(resp)
}

// Embed returns a vector for each text of a query, in order; an empty vector means that
// the text has nothing to embed. Its length is the share of the text that the model knows: the
// less it knows, the less resemblance counts. The vectors are shared and must not be changed.
// Concurrent calls with the same texts share a call of the model, which goes on if its caller
// leaves.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	normal := make([]string, len(texts))
	vectors := map[string][]float32{}
	var missing []string
	for i, text := range texts {
		normal[i] = norm.NFC.String(strings.Join(strings.Fields(text), " ")) // the differences mean nothing to a model
		if v, ok := e.recent.Get(normal[i]); ok {
			e.metrics.hit(hitQuery)
			vectors[normal[i]] = v
		} else if normal[i] != "" && !slices.Contains(missing, normal[i]) {
			missing = append(missing, normal[i])
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		call := e.calls.DoChan(fmt.Sprintf("%q", missing), func() (any, error) {
			return e.ask(context.WithoutCancel(ctx), missing)
		})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embed query: %w", ctx.Err())
		case answer := <-call:
			if answer.Err != nil {
				return nil, fmt.Errorf("embed query: %w", answer.Err)
			}
			maps.Copy(vectors, answer.Val.(map[string][]float32))
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range normal {
		out[i] = vectors[text]
	}
	return out, nil
}

// ask embeds texts of a query and caches their vectors.
func (e *Encoder) ask(ctx context.Context, texts []string) (map[string][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	vectors := map[string][]float32{}
	var err error
	panicked := panics.Try(func() {
		for i, r := range e.queries.embed(ctx, texts) {
			if r.err != nil {
				err = r.err
				continue
			}
			if e.known != nil && len(r.vector) > 0 {
				r.vector = scaled(r.vector, e.known.Known(texts[i]))
			}
			vectors[texts[i]] = r.vector
			e.recent.Add(texts[i], r.vector)
		}
	})
	if panicked != nil {
		err = fmt.Errorf("the model panicked: %w", panicked.AsError())
	}
	return vectors, err
}

func scaled(v []float32, by float32) []float32 {
	if by == 1 {
		return v
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}

// queryModel makes Embed of a QueryEmbedder embed queries.
type queryModel struct{ QueryEmbedder }

func (m queryModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.EmbedQueries(ctx, texts)
}
