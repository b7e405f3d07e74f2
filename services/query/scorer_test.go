package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fakeScorer finds a text relevant by the id in it, and what it does not know not
// at all.
type fakeScorer struct {
	relevance map[string]float64
	answer    func(ctx context.Context, n int) ([]float64, error) // in its place

	queries []string
	texts   [][]string
}

func (f *fakeScorer) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	f.queries, f.texts = append(f.queries, query), append(f.texts, texts)
	if f.answer != nil {
		return f.answer(ctx, len(texts))
	}
	scores := make([]float64, len(texts))
	for i, text := range texts {
		for id, x := range f.relevance {
			if strings.HasPrefix(text, "name of "+id+".") {
				scores[i] = x
			}
		}
	}
	return scores, nil
}

func judging(t *testing.T, f *fakeScorer, mode schema.Rerank) *bench {
	b := newBench(t, shops()...)
	if f != nil {
		b.scorer = f
	}
	b.build(t, Config{Rerank: mode})
	return b
}

func TestACrossEncoderOrders(t *testing.T) {
	f := &fakeScorer{relevance: map[string]float64{"clock": 0.9, "post.track": 0.5, "bank.balance": 0.6}}
	b := judging(t, f, schema.RerankAuto)
	resp := b.search(t, schema.SearchRequest{Query: "what time is it", Explain: true})
	if got, want := ids(resp), []string{"clock", "bank.balance", "post.track", "bank.transfer", "rail.times"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if f.queries[0] != "what time is it" || f.texts[0][0] != "name of bank.transfer. does bank.transfer" {
		t.Errorf("asked %q of %q", f.queries, f.texts)
	}
	first := resp.Results[0]
	if first.Relevance == nil || *first.Relevance != 0.9 || first.Explanation.Reranking.From != 5 {
		t.Errorf("%+v, %+v", first, first.Explanation.Reranking)
	}
	if !slices.Contains(first.Explanation.Summary, "moved from place 5 to 1: by its judgement") {
		t.Errorf("said %q", first.Explanation.Summary)
	}
	if resp := b.search(t, schema.SearchRequest{Rerank: schema.RerankOff}); resp.Results[0].Relevance != nil || len(f.queries) != 1 {
		t.Errorf("asked although reranking is off: %+v", resp.Results[0])
	}
}

// Owners are clear by the relevance, as a share of the best: whether the cross-encoder is
// sure of nothing or of all.
func TestOwnersAreClearByRelevance(t *testing.T) {
	for _, most := range []float64{1, 0.02} {
		f := &fakeScorer{relevance: map[string]float64{"rail.times": most, "bank.transfer": most * 0.8, "post.track": most * 0.97, "bank.balance": most * 0.9}}
		b := judging(t, f, schema.RerankSingle)
		resp := b.search(t, schema.SearchRequest{})
		if got, want := ids(resp), []string{"rail.times", "post.track", "bank.balance", "bank.transfer", "clock"}; !slices.Equal(got, want) || resp.Reranked != schema.RerankSingle {
			t.Errorf("%v, %q", got, resp.Reranked)
		}
	}
}

// What the library has of a clear owner is judged, too, and stands where that puts it.
func TestTheExtendedListIsJudged(t *testing.T) {
	f := &fakeScorer{relevance: map[string]float64{"bank.transfer": 0.8, "bank.loans": 0.7, "bank.balance": 0.6}}
	b := judging(t, f, schema.RerankSingle)
	b.add(tool("bank.loans", "bank", 1), tool("post.label", "post", 1))
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got[:4], []string{"bank.transfer", "bank.loans", "bank.balance", "post.track"}) || slices.Contains(got, "post.label") {
		t.Errorf("%v", got)
	}
}

// Where nothing is found, nothing is judged.
func TestACrossEncoderIsNotAskedAboutNothing(t *testing.T) {
	f := &fakeScorer{}
	b := newBench(t)
	b.scorer = f
	b.build(t, Config{Rerank: schema.RerankAuto})
	if resp := b.search(t, schema.SearchRequest{}); len(resp.Results) > 0 || len(f.queries) > 0 {
		t.Errorf("%+v, asked %q", resp.Results, f.queries)
	}
}

// What has no owner is judged too.
func TestToolsBeyondTheCutAreNotJudged(t *testing.T) {
	b := newBench(t, tool("a", "", 9), tool("b", "", 8), tool("c", "", 7), tool("d", "", 6))
	b.scorer = &fakeScorer{relevance: map[string]float64{"b": 1, "d": 1}}
	cfg := Config{Rerank: schema.RerankAuto}
	cfg.Reranking = rerank.DefaultConfig()
	cfg.Reranking.KeepUnseen = 3
	b.build(t, cfg)
	resp := b.search(t, schema.SearchRequest{})
	if got := ids(resp); !slices.Equal(got, []string{"b", "a", "c", "d"}) || resp.Results[3].Relevance != nil || resp.Reranked != "" {
		t.Errorf("%v, %+v", got, resp.Results[3])
	}
}

// All that was judged is reordered, wherever that has put it: what is used is not cut
// off because unused ones were found more relevant.
func TestJudgedToolsAreNotCutOff(t *testing.T) {
	b := newBench(t, tool("used", "shop", 9), tool("x", "x", 8), tool("y", "y", 7), tool("z", "z", 6))
	b.scorer = &fakeScorer{relevance: map[string]float64{"used": 0.5, "x": 0.9, "y": 0.8, "z": 0.1}}
	cfg := Config{Rerank: schema.RerankSingle}
	cfg.Reranking = rerank.DefaultConfig()
	cfg.Reranking.KeepSeen, cfg.Reranking.KeepUnseen = 2, 4
	b.build(t, cfg)
	stop := b.start(t)
	defer stop()
	b.learn(t, "usage.default", schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: 1, Prior: map[string]float64{"used": 1}, Updated: time.Unix(1, 0)})
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"x", "y", "used", "z"}) {
		t.Errorf("%v", got)
	}
}

func TestWithoutACrossEncoderTheOrderStays(t *testing.T) {
	plain := judging(t, nil, schema.RerankSingle).search(t, schema.SearchRequest{})
	for name, answer := range map[string]func(context.Context, int) ([]float64, error){
		"away":      func(context.Context, int) ([]float64, error) { return nil, errors.New("away") },
		"too few":   func(_ context.Context, n int) ([]float64, error) { return make([]float64, n-1), nil },
		"NaN":       func(_ context.Context, n int) ([]float64, error) { return slices.Repeat([]float64{math.NaN()}, n), nil },
		"off scale": func(_ context.Context, n int) ([]float64, error) { return slices.Repeat([]float64{1.5}, n), nil },
	} {
		resp := judging(t, &fakeScorer{answer: answer}, schema.RerankSingle).search(t, schema.SearchRequest{})
		if !slices.Equal(ids(resp), ids(plain)) || !slices.Contains(resp.Degraded, "rerank") || resp.Results[0].Relevance != nil {
			t.Errorf("%s: %v, degraded %q", name, ids(resp), resp.Degraded)
		}
	}
}

func TestASearchWaitsForACrossEncoderNoLongerThanItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ int) ([]float64, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		b := judging(t, &fakeScorer{answer: hang}, schema.RerankAuto)
		start := time.Now()
		if resp := b.search(t, schema.SearchRequest{}); !slices.Contains(resp.Degraded, "rerank") || len(resp.Results) != 5 {
			t.Errorf("%+v", resp)
		}
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start = time.Now()
		if _, err := b.Search(ctx, testCaller, schema.SearchRequest{Query: "q"}); err != nil || time.Since(start) > 101*time.Millisecond {
			t.Errorf("took %s: %v", time.Since(start), err)
		}
	})
}
