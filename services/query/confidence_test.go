package query

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// scoring returns a tool with a score by words and the name that the query says, and what it covers of the query.
func scoring(id string, score, covered, similarity float64) index.Candidate {
	c := tool(id, "", score)
	c.Named = 1
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
	builtin := builtin()
	model := &builtin
	alone := ranking.Rank([]index.Candidate{scoring("a", 20, 1, 0)}, model, ranking.Signals{})[0]
	want, wrong := alone.Confidence(model, ranking.Scale{}), alone.Confidence(model, ranking.Scale{Same: 1})
	if got := resp.Results[0].Confidence; got != want || got == wrong {
		t.Errorf("confidence %v, want %v; with a cosine of 0 it were %v", got, want, wrong)
	}
}

// The first search asks for what shows how the model uses its range, once.
func TestTheScaleOfAModel(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.embedder.err = errDown
	b.search(t, schema.SearchRequest{Query: "one"})
	b.embedder.err = nil
	b.search(t, schema.SearchRequest{Query: "two"})
	b.search(t, schema.SearchRequest{Query: "three"})
	if n := b.embedder.scales; n != 1 {
		t.Fatalf("the scale was measured %d times", n)
	}
}

// Many texts take a slow model longer than a search may wait. No search waits for them where
// the model is elsewhere, and the scale is known once it has answered.
func TestTheScaleOfASlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tool("a", "", 1))
		b.elsewhere, b.embedder.scaleTakes = true, 4*time.Second
		b.build(t, Config{})
		began := time.Now()
		for range 5 {
			if resp := b.search(t, schema.SearchRequest{}); len(resp.Degraded) > 0 {
				t.Errorf("without %v", resp.Degraded)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("searches waited %v", took)
		}
		time.Sleep(5 * time.Second)
		b.search(t, schema.SearchRequest{})
		if len(b.embedder.calls) != 6 || b.embedder.scales != 1 {
			t.Errorf("%d calls, %d of the scale", len(b.embedder.calls), b.embedder.scales)
		}
	})
}

// A model that embeds queries and fails for many texts keeps no search waiting, and is asked for
// the scale ever more seldom.
func TestTheScaleOfAModelThatFails(t *testing.T) {
	for _, elsewhere := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, tool("a", "", 1))
			b.elsewhere, b.embedder.scaleTakes, b.embedder.scaleErr = elsewhere, 700*time.Millisecond, errDown
			b.build(t, Config{})
			waited := time.Duration(0)
			for range 3600 {
				began := time.Now()
				if resp := b.search(t, schema.SearchRequest{}); len(resp.Degraded) > 0 {
					t.Fatalf("without %v", resp.Degraded)
				}
				waited += time.Since(began)
				time.Sleep(time.Second)
			}
			if n := b.embedder.scales; n < 5 || n > 20 {
				t.Errorf("elsewhere %v: the scale was measured %d times in an hour", elsewhere, n)
			}
			if elsewhere && waited != 0 || waited > 5*time.Second {
				t.Errorf("elsewhere %v: searches waited %v", elsewhere, waited)
			}
		})
	}
}
