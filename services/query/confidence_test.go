package query

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// scoring returns a tool with a score by words, and what it covers of the query.
func scoring(id string, score, covered, similarity float64) index.Candidate {
	c := tool(id, "", score)
	c.Features[fusion.QueryLexicalFlat], c.Covered, c.Similarity = score, covered, similarity
	return c
}

func TestConfidenceOfResults(t *testing.T) {
	b := newBench(t, scoring("right", 20, 1, 0.9), scoring("near", 15, 0.5, 0.5), scoring("far", 5, 0.1, 0.1))
	resp := b.search(t, schema.SearchRequest{})
	var got []float64
	for _, r := range resp.Results {
		got = append(got, r.Confidence)
	}
	if len(got) != 3 || !slices.IsSortedFunc(got, func(x, y float64) int { return int(1e6 * (y - x)) }) || got[0] < 0.4 || got[2] > 0.1 || resp.NothingFits {
		t.Fatalf("confidence %v, nothing fits: %v", got, resp.NothingFits)
	}
	sure := b.search(t, schema.SearchRequest{MinConfidence: got[1]})
	if !slices.Equal(ids(sure), []string{"right", "near"}) || sure.NothingFits {
		t.Errorf("with at least %v: %v", got[1], ids(sure))
	}
	none := newBench(t, scoring("far", 5, 0, 0), scoring("further", 4.9, 0, 0))
	if resp := none.search(t, schema.SearchRequest{}); !resp.NothingFits || len(resp.Results) != 2 {
		t.Errorf("what does not fit: %+v", resp)
	}
	if resp := newBench(t).search(t, schema.SearchRequest{}); !resp.NothingFits {
		t.Error("no tools fit")
	}
}

// Where the query cannot be embedded, or the vectors of tools are away, similarities say
// nothing.
func TestConfidenceByWordsAlone(t *testing.T) {
	b, away := newBench(t, scoring("a", 20, 1, 0)), newBench(t, scoring("a", 20, 1, 0))
	b.embedder.err = errDown
	away.index.partial = &index.Partial{Without: "index", Err: errDown}
	resp := b.search(t, schema.SearchRequest{})
	if got := away.search(t, schema.SearchRequest{}); got.Results[0].Confidence != resp.Results[0].Confidence {
		t.Errorf("confidence %v without vectors of tools, %v without that of the query", got.Results[0].Confidence, resp.Results[0].Confidence)
	}
	model := b.now.Load().builtin
	alone := ranking.Rank([]index.Candidate{scoring("a", 20, 1, 0)}, model, ranking.Signals{})[0]
	want, wrong := alone.Evidence(model, ranking.Scale{}).Confidence(), alone.Evidence(model, ranking.Scale{Same: 1}).Confidence()
	if got := resp.Results[0].Confidence; got != want || got == wrong {
		t.Errorf("confidence %v, want %v; with a cosine of 0 it were %v", got, want, wrong)
	}
}

// The first search asks for what shows how the model uses its range, once.
func TestTheScaleOfAModel(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.now.Load().scale.Store(nil)
	b.embedder.err = errDown
	b.search(t, schema.SearchRequest{Query: "one"})
	b.embedder.err = nil
	b.search(t, schema.SearchRequest{Query: "two"})
	b.search(t, schema.SearchRequest{Query: "three"})
	if calls := b.embedder.calls; len(calls) != 4 || len(calls[1]) != 1 || len(calls[2]) != len(scaleTexts()) || len(calls[3]) != 1 {
		t.Fatalf("calls %v", calls)
	}
	vectors, err := meaner{}.Embed(context.Background(), scaleTexts())
	if err != nil {
		t.Fatal(err)
	}
	if s := scaleOf(vectors); s.Same != 1 || s.Unrelated != 0 || !s.Known() {
		t.Errorf("scale %+v", s)
	}
	if s := scaleOf(make([][]float32, len(vectors))); s.Known() {
		t.Errorf("of a model that tells nothing: %+v", s)
	}
}

// Many texts take a slow model longer than a search may wait. Its queries are embedded all
// the same, and the scale is known once it has answered.
func TestTheScaleOfASlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tool("a", "", 1))
		b.embedder.takes = 200 * time.Millisecond
		b.now.Load().scale.Store(nil)
		for range 5 {
			if resp := b.search(t, schema.SearchRequest{}); len(resp.Degraded) > 0 {
				t.Errorf("without %v", resp.Degraded)
			}
		}
		if calls := len(b.embedder.calls); calls != 6 || b.now.Load().scale.Load() == nil {
			t.Errorf("%d calls, scale %v", calls, b.now.Load().scale.Load())
		}
	})
}

// meaner knows what the texts of the scale mean, and gives each meaning an axis.
type meaner struct{}

func (meaner) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range texts {
		out[i] = make([]float32, len(requests))
		out[i][i%len(requests)] = 1
	}
	return out, nil
}
