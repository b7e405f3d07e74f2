package embedder

import (
	"context"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// prefixed is a model that sees queries with a word before them.
type prefixed struct{ model }

func (p *prefixed) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	asked := make([]string, len(texts))
	for i, text := range texts {
		asked[i] = "query: " + text
	}
	return p.Embed(ctx, asked)
}

func TestQueriesAreEmbeddedAsTheModelWantsThem(t *testing.T) {
	m := &prefixed{}
	s := start(t, m, nil)
	s.put(t, upsert("a", 1, schema.Document{Name: "weather"}))
	if v := s.embedded(t, "a").Vectors.Name; cosineOf(v, "weather") < 0.999999 {
		t.Errorf("the document has the vector %v", v)
	}
	got, err := s.Embed(t.Context(), []string{"weather"})
	if err != nil || cosineOf(got[0], "query: weather") < 0.999999 {
		t.Errorf("the query has the vector %v: %v", got, err)
	}
}
