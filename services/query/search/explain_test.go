package search

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// An explanation says in words what its numbers say, the most important first.
func TestASummarySaysWhyAResultIsThere(t *testing.T) {
	doc := schema.Document{
		Name: "get_forecast", Description: "Rain and wind of the coming days.", Response: "rain in millimetres",
		Parameters: []schema.Parameter{{Name: "city", Required: true}, {Name: "date", Required: true}, {Name: "unit"}},
	}
	hit := ranking.Hit{By: &ranking.Ranked{Candidate: index.Candidate{Similarity: 0.5}}}
	lexical := map[string]float64{"query.lexical.flat": 3, "query.dense.flat": 1}
	for name, c := range map[string]struct {
		req     schema.SearchRequest
		hit     ranking.Hit
		terms   map[string]float64
		missing []string
		move    *schema.Reranking
		want    []string
	}{
		"words, each where it counts first": {
			req: schema.SearchRequest{Query: "forecast of the rains, in millimetres"}, hit: hit, terms: lexical,
			want: []string{`matches "forecast" in its name, "rains" in its description, "millimetres" in its response`, "needs `city` and `date`"},
		},
		"meaning": {
			req: schema.SearchRequest{Query: "umbrella"}, hit: hit, terms: map[string]float64{"query.dense.flat": 1, "related.owner": 1},
			want: []string{"means about what the query asks for (similarity 0.50)", "needs `city` and `date`", "a tool of its provider matches"},
		},
		"arguments": {
			req: schema.SearchRequest{Query: "umbrella", Arguments: map[string]string{"city": "where"}}, hit: hit, terms: lexical, missing: []string{"date"},
			want: []string{"needs `date`, which you did not give"},
		},
		"no more than five": {
			req: schema.SearchRequest{Query: "rain"}, hit: hit, move: &schema.Reranking{From: 3, To: 1, Why: string(rerank.ClearOwner)},
			terms: map[string]float64{"query.dense.flat": 1, "usage.similar": 1, "usage.co_use": 1, "usage.prior": 1, "related.supply": 1},
			want: []string{"moved from place 3 to 1: its provider has a clearly relevant tool", `matches "rain" in its description`,
				"means about what the query asks for (similarity 0.50)", "needs `city` and `date`", "was used for queries like this one"},
		},
		"a provider": {
			req: schema.SearchRequest{Query: "umbrella", Arguments: map[string]string{"city": "where"}}, terms: lexical,
			hit:  ranking.Hit{By: hit.By, Supporting: []schema.SupportingTool{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}, {ID: "f"}}},
			move: &schema.Reranking{From: 2, To: 4, Why: string(rerank.Beyond)},
			want: []string{"found by its tools a, b, c, d and 2 more", "moved from place 2 to 4: enough tools like it come first"},
		},
	} {
		e := &schema.Explanation{Terms: c.terms, Reranking: c.move}
		if got := sentences(parse(c.req), c.hit, &doc, e, c.missing); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestExplanationSumsToTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-50, 50)
		m := fusion.Model{Version: "m", Bias: number.Draw(t, "bias"), Tau: 0.4, Alpha: 15, Required: 1, Optional: 0.3}
		c := index.Candidate{Ref: schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: "a"}}
		for i := range c.Features {
			c.Features[i], m.Features[i] = number.Draw(t, "value"), number.Draw(t, "weight")
		}
		for range rapid.IntRange(0, 5).Draw(t, "parameters") {
			c.Matches = append(c.Matches, schema.Match{Score: rapid.Float64Range(0, 1).Draw(t, "s"), Required: rapid.Bool().Draw(t, "required")})
		}
		known := ranking.Signals{Usage: ranking.NewUsage(schema.Usage{Prior: map[string]float64{"a": 2}}).For("", nil)}
		best := ranking.Rank([]index.Candidate{c}, &m, known)[0]
		hit := ranking.Hit{Ref: c.Ref, By: &best}
		params := make([]schema.Parameter, len(c.Matches))
		e := explain(&m, query{}, hit, &ordered{}, parameters(&m, query{}, hit, params), &schema.Document{}, nil)
		sum := e.Bias - e.Penalty
		for name, term := range e.Terms {
			sum += term
			f, ok := fusion.FeatureNamed(name)
			if !ok || math.Abs(term-m.Features[f]*e.Features[name]) > 1e-9 {
				t.Fatalf("term %s is %v, not weight times %v", name, term, e.Features[name])
			}
		}
		if math.Abs(sum-best.Score) > 1e-6 {
			t.Fatalf("terms sum to %v, the score is %v", sum, best.Score)
		}
		sum = e.Bias
		for _, p := range e.Parts {
			sum += p.Value
		}
		if math.Abs(sum-best.Score) > 1e-6 {
			t.Fatalf("parts sum to %v, the score is %v", sum, best.Score)
		}
		var penalty float64
		for _, p := range e.Parameters {
			penalty += p.Penalty
		}
		if math.Abs(penalty-e.Penalty) > 1e-9 {
			t.Fatalf("parameters cost %v, the penalty is %v", penalty, e.Penalty)
		}
	})
}
