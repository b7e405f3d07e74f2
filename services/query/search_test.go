package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

func TestBestFirstTiesByIDDescending(t *testing.T) {
	b := newBench(t, tool("a", "", 1), tool("c", "", 1), tool("b", "", 1), tool("z", "", 0.5), tool("y", "", 2))
	for range 20 {
		rand.Shuffle(len(b.index.found), func(i, j int) {
			b.index.found[i], b.index.found[j] = b.index.found[j], b.index.found[i]
		})
		resp := b.search(t, schema.SearchRequest{K: 4})
		if got := ids(resp); !slices.Equal(got, []string{"y", "c", "b", "a"}) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestResultsSayWhatTheCatalogueSays(t *testing.T) {
	b := newBench(t, tool("a", "mail", 40))
	resp := b.search(t, schema.SearchRequest{})
	r := resp.Results[0]
	if r.Name != "name of a" || r.Description != "does a" || r.Provider != "mail" || r.Kind != schema.KindTool || r.Similarity != 0.4 {
		t.Errorf("got %+v", r)
	}
	if r.MissingParameters == nil || resp.Degraded == nil || r.Explanation != nil {
		t.Errorf("got %+v in %+v", r, resp)
	}
	if resp.Weights != fusion.BuiltinName || resp.Rewrite != schema.RewriteOff || len(resp.SearchID) < 22 {
		t.Errorf("got %+v", resp)
	}
	if again := b.search(t, schema.SearchRequest{}); again.SearchID == resp.SearchID {
		t.Error("two searches have one id")
	}
}

func TestEverythingIsEmbeddedInOneCallAndOnce(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.search(t, schema.SearchRequest{
		Query: "weather in Lisbon",
		Needs: []schema.Need{
			{UserIntent: "know the weather", ToolDescription: "weather service", ExpectedResponse: "forecast"},
			{UserIntent: "know the weather"},
		},
		Arguments: map[string]string{"city": "where", "date": "when"},
	})
	want := []string{
		"weather in Lisbon",
		"weather service. know the weather. forecast", "weather service", "forecast", "know the weather",
		index.ArgumentText("city", "where"), index.ArgumentText("date", "when"),
	}
	if len(b.embedder.calls) != 1 || !slices.Equal(b.embedder.calls[0], want) {
		t.Errorf("embedded %q, want %q", b.embedder.calls, want)
	}
	p := b.index.last().Probe
	if len(p.Needs) != 2 || len(p.Arguments) != 2 || p.Arguments[0].Name != "city" {
		t.Fatalf("probe %+v", p)
	}
	if n := p.Needs[1]; n.Whole.Words != "know the weather" || n.Description.Words != "" || len(n.Examples.Vector) == 0 {
		t.Errorf("second need %+v", n)
	}
}

func TestRewrite(t *testing.T) {
	tests := []struct {
		name  string
		req   schema.SearchRequest
		state schema.Rewrite
		needs []string
	}{
		{"one clause", schema.SearchRequest{Query: " book a flight "}, schema.RewriteOff, []string{"book a flight"}},
		{"clauses", schema.SearchRequest{Query: "Find a cheap flight to Rome. Then send the ticket to my boss."}, schema.RewriteOff,
			[]string{"Find a cheap flight to Rome.", "Then send the ticket to my boss."}},
		{"needs", schema.SearchRequest{Query: "a. b", Needs: []schema.Need{{ToolDescription: "d", UserIntent: "u"}}}, schema.RewriteGiven, []string{"d. u"}},
		{"arguments alone", schema.SearchRequest{Query: "book", Arguments: map[string]string{"to": "where"}}, schema.RewriteGiven, []string{"book"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(tt.req)
			var got []string
			for _, n := range p.needs {
				got = append(got, whole(n))
			}
			if p.source != tt.state || !slices.Equal(got, tt.needs) {
				t.Errorf("got %s %q", p.source, got)
			}
		})
	}
	if p := parse(schema.SearchRequest{Needs: []schema.Need{{UserIntent: "a"}, {UserIntent: "b"}}}); p.text != "a. b" {
		t.Errorf("needs without a query are asked as %q", p.text)
	}
}

func TestDegradedAnswers(t *testing.T) {
	tests := []struct {
		name string
		harm func(*bench)
		want []string
	}{
		{"embedder down", func(b *bench) { b.embedder.err = errDown }, []string{"vectors"}},
		{"embedder answers too little", func(b *bench) { b.embedder.short = true }, []string{"vectors"}},
		{"no embedder of the index's model", func(b *bench) { b.embedder = nil }, []string{"vectors"}},
		{"a part of the index down", func(b *bench) { b.index.partial = &index.Partial{Without: "index", Err: errDown} }, []string{"index"}},
		{"catalogue down", func(b *bench) { b.catalogue.err = errDown }, []string{"catalogue"}},
		{"weights behind", func(b *bench) { b.stale = func() bool { return true } }, []string{"weights"}},
		{"weights not behind", func(b *bench) { b.stale = func() bool { return false } }, nil},
		{"both", func(b *bench) { b.embedder.err, b.catalogue.err = errDown, errDown }, []string{"catalogue", "vectors"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tool("a", "", 1), tool("b", "", 2))
			tt.harm(b)
			b.build(t, Config{})
			resp := b.search(t, schema.SearchRequest{})
			if !slices.Equal(resp.Degraded, tt.want) || !slices.Equal(ids(resp), []string{"b", "a"}) {
				t.Errorf("degraded %v, results %v", resp.Degraded, ids(resp))
			}
			if n := b.metric(t, "toolstream_search_degraded_total"); int(n) != len(tt.want) {
				t.Errorf("%v counted", n)
			}
		})
	}
}

func TestWithoutAnIndexThereIsNoAnswer(t *testing.T) {
	b := newBench(t)
	b.index.err = errDown
	if _, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "q"}); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
}

func TestWhatWasDeletedMeanwhileGivesWay(t *testing.T) {
	b := newBench(t, tool("a", "", 3), tool("b", "", 2), tool("c", "", 1))
	delete(b.catalogue.entities, b.index.found[0].Ref)
	if got := ids(b.search(t, schema.SearchRequest{K: 2})); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("got %v", got)
	}
}

func TestWhatIsInQuarantineGivesWay(t *testing.T) {
	b := newBench(t, tool("a", "", 3), tool("b", "", 2), tool("c", "", 1))
	e := b.catalogue.entities[b.index.found[0].Ref]
	e.Document.Quarantined = true
	b.catalogue.entities[e.Ref] = e
	if got := ids(b.search(t, schema.SearchRequest{K: 2})); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("got %v", got)
	}
}

func TestFlagsAreShownAndExcluded(t *testing.T) {
	b := newBench(t, tool("a", "", 3), tool("b", "", 2))
	e := b.catalogue.entities[b.index.found[0].Ref]
	e.Document.Flags = []string{"mixed-scripts"}
	b.catalogue.entities[e.Ref] = e
	got := b.search(t, schema.SearchRequest{Exclude: []string{"bidi-characters"}}).Results
	if len(got) != 2 || !slices.Equal(got[0].Flags, e.Document.Flags) || got[1].Flags != nil {
		t.Errorf("got %+v", got)
	}
	if got := ids(b.search(t, schema.SearchRequest{Exclude: []string{"bidi-characters", "mixed-scripts"}})); !slices.Equal(got, []string{"b"}) {
		t.Errorf("excluded, got %v", got)
	}
	if l := b.index.last(); !slices.Equal(l.Exclude, []string{"bidi-characters", "mixed-scripts"}) {
		t.Errorf("the index was asked for all but %q", l.Exclude)
	}
}

func TestFlagsThatDoNotExistAreRefused(t *testing.T) {
	b := newBench(t, tool("a", "", 3))
	b.build(t, Config{Flags: []string{"loud", "long"}})
	_, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "q", Exclude: []string{"loud", "lond"}})
	var refused *schema.Invalid
	if !errors.As(err, &refused) || refused.Path != "/exclude_flags/1" || !strings.Contains(err.Error(), "loud, long, have \"lond\"") {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerWithoutResultsSaysThatToolsAreInQuarantine(t *testing.T) {
	b := newBench(t, tool("a", "x", 3), tool("b", "y", 2))
	e := b.catalogue.entities[b.index.found[0].Ref]
	e.Document.Quarantined = true
	b.catalogue.entities[e.Ref] = e
	if got := b.search(t, schema.SearchRequest{}); got.Quarantined || len(got.Results) != 1 {
		t.Errorf("with a result: %+v", got)
	}
	b.index.found = b.index.found[:1]
	for provider, want := range map[string]bool{"x": true, "y": false} {
		got := b.search(t, schema.SearchRequest{Filters: schema.Filters{Providers: []string{provider}}})
		if got.Quarantined != want || len(got.Results) > 0 {
			t.Errorf("of %s: %+v, want %v", provider, got, want)
		}
	}
	if !b.search(t, schema.SearchRequest{}).Quarantined {
		t.Error("of any provider: not said")
	}
}

func TestScoresThatAreNoNumbersAreNotShown(t *testing.T) {
	b := newBench(t, tool("a", "", math.NaN()), tool("b", "", math.Inf(1)), tool("c", "", 1))
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"c"}) {
		t.Errorf("got %v", got)
	}
}

// Owners lift their tools.
func TestProvidersStandWhereTheirFirstEntityStands(t *testing.T) {
	b := newBench(t,
		tool("send", "mail", 9), tool("post", "chat", 8), tool("reply", "mail", 7), tool("orphan", "", 6),
		provider("wiki", 5), tool("list", "chat", 4), provider("mail", 3))
	resp := b.search(t, schema.SearchRequest{Rank: schema.RankProviders, K: 3})
	if got := ids(resp); !slices.Equal(got, []string{"mail", "chat", "wiki"}) {
		t.Fatalf("got %v", got)
	}
	for i, want := range [][]schema.SupportingTool{{{ID: "send", Rank: 1}, {ID: "reply", Rank: 2}}, {{ID: "post", Rank: 3}, {ID: "list", Rank: 5}}, nil} {
		r := resp.Results[i]
		for j := range want {
			want[j].Score = r.SupportingTools[j].Score
			if j == 0 && r.Score != want[j].Score || j > 0 && r.Score <= want[j].Score {
				t.Errorf("result %d has %v by %+v", i, r.Score, r.SupportingTools)
			}
		}
		if !slices.Equal(r.SupportingTools, want) || r.Kind != schema.KindProvider || r.Provider != "" {
			t.Errorf("result %d is %+v, want %v", i, r, want)
		}
	}
	if r := resp.Results[1]; r.Name != "chat" || r.Score >= resp.Results[0].Score || r.Score <= resp.Results[2].Score {
		t.Errorf("an owner nobody described is %+v", r)
	}
	if n := b.index.lookups[0].N; n < 30 {
		t.Errorf("%d entities asked for 3 providers", n)
	}
	if l := b.index.last(); l.N != 0 || !slices.Equal(l.Also, []string{"chat"}) || !slices.Equal(l.Kinds, []schema.Kind{schema.KindProvider}) {
		t.Errorf("of the provider that was not found itself: %+v", l)
	}
	if got := ids(b.search(t, schema.SearchRequest{Rank: schema.RankProviders, Filters: schema.Filters{Kinds: []schema.Kind{schema.KindProvider}}})); !slices.Equal(got, []string{"wiki", "mail"}) {
		t.Errorf("providers alone: %v", got)
	}
}

// deep is an index that returns no more than it is asked for.
type deep struct{ *fakeIndex }

func (d deep) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	found, err := d.fakeIndex.Candidates(ctx, l)
	return found[:min(len(found), l.N)], err
}

func TestAnOwnerOfAllTheBestToolsDoesNotHideTheOthers(t *testing.T) {
	var tools []index.Candidate
	for i := range 900 {
		tools = append(tools, tool(fmt.Sprintf("t%03d", i), "giant", float64(1000-i)))
	}
	b := newBench(t, append(tools, tool("small", "dwarf", 1))...)
	b.now.Load().Index = deep{b.index}
	if got := ids(b.search(t, schema.SearchRequest{Rank: schema.RankProviders, K: 2})); !slices.Equal(got, []string{"giant", "dwarf"}) {
		t.Errorf("found %v", got)
	}
	if n := len(b.index.lookups); n != 3 { // the last for what the providers say of themselves
		t.Errorf("%d lookups", n)
	}
	b.search(t, schema.SearchRequest{Rank: schema.RankProviders, K: 1})
	if n := len(b.index.lookups); n != 5 {
		t.Errorf("%d lookups although the first brings all that is wanted", n-3)
	}
}

func TestMissingParameters(t *testing.T) {
	c := tool("a", "", 1)
	c.Matches = []schema.Match{{Score: 0.9, Required: true}, {Score: 0.1, Required: true}, {Score: 0.1}}
	c.BestArg = []int{1, 0, -1}
	b := newBench(t, c)
	e := b.catalogue.entities[c.Ref]
	e.Document.Parameters = []schema.Parameter{{Name: "city", Required: true}, {Name: "date", Required: true}, {Name: "unit"}, {Name: "beyond what is matched"}}
	b.catalogue.entities[c.Ref] = e
	req := schema.SearchRequest{Arguments: map[string]string{"a": "first", "b": "second"}, Explain: true}
	r := b.search(t, req).Results[0]
	if !slices.Equal(r.MissingParameters, []string{"date"}) {
		t.Errorf("missing %v", r.MissingParameters)
	}
	want := []string{"city b", "date a", "unit "}
	for i, p := range r.Explanation.Parameters {
		if got := p.Name + " " + p.Argument; got != want[i] {
			t.Errorf("parameter %d is %q, want %q", i, got, want[i])
		}
	}
	e.Document.Parameters = e.Document.Parameters[:1] // changed since the index answered
	b.catalogue.entities[c.Ref] = e
	if r := b.search(t, req).Results[0]; len(r.MissingParameters) != 0 || len(r.Explanation.Parameters) != 0 {
		t.Errorf("names of another document: %+v", r)
	}
}

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
	b := newBench(t, tool("a", "", 1))
	if got := b.search(t, schema.SearchRequest{Query: "name", Explain: true}).Results[0].Explanation.Summary; !slices.Equal(got, []string{`matches "name" in its name`}) {
		t.Errorf("a search says %q", got)
	}
}

func TestExplanationSumsToTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-50, 50)
		m := fusion.Model{Version: "m", Bias: number.Draw(t, "bias"), Tau: 0.4, Alpha: 15, Required: 1, Optional: 0.3}
		c := index.Candidate{Ref: schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: "a"}}
		for i := range c.Features {
			c.Features[i], m.Features[i] = number.Draw(t, "value"), number.Draw(t, "weight")
		}
		for range rapid.IntRange(0, 5).Draw(t, "parameters") {
			c.Matches = append(c.Matches, schema.Match{Score: rapid.Float64Range(0, 1).Draw(t, "s"), Required: rapid.Bool().Draw(t, "required")})
		}
		known := ranking.Signals{Usage: ranking.NewUsage(schema.Usage{Prior: map[string]float64{"a": 2}}).For("", nil)}
		best := ranking.Rank([]index.Candidate{c}, &m, known)[0]
		sr := &search{model: &m}
		params := make([]schema.Parameter, len(c.Matches))
		e := sr.explain(&best, sr.parameters(rewritten{}, ranking.Hit{Ref: c.Ref, By: &best}, params))
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

func TestImpressionsCarryWhatTheRankingSaw(t *testing.T) {
	c := tool("a", "mail", 1)
	for i := range c.Features {
		c.Features[i] = float64(i + 1)
	}
	c.Features[fusion.UsagePrior], c.Features[fusion.UsageSimilar] = 0, 0
	for _, f := range []fusion.Feature{fusion.UsageCoUse, fusion.RelatedSupply, fusion.RelatedNeed, fusion.RelatedName, fusion.RelatedProvider, fusion.RelatedProviderName} {
		c.Features[f] = 0
	}
	c.Features[fusion.RelatedOwner] = 1 // no owner has a better one
	c.Matches = []schema.Match{{Score: 0.25, Required: true}}
	b := newBench(t, c, tool("b", "", 0.1))
	stop := b.start(t)
	resp := b.search(t, schema.SearchRequest{Query: "send a message", K: 1, Arguments: map[string]string{"text": "of the message"}})
	stop()
	all := b.impressions(t)
	if len(all) != 1 {
		t.Fatalf("%d impressions", len(all))
	}
	i := all[0]
	if i.SearchID != resp.SearchID || i.Tenant != testTenant || i.Query != "send a message" || i.Weights != resp.Weights || i.Time.IsZero() {
		t.Errorf("got %+v", i)
	}
	if key := b.bus.Published(events.Searches)[0].Key; key != testTenant+"/"+resp.SearchID {
		t.Errorf("key %q", key)
	}
	if len(i.Shown) != 1 || i.Shown[0].ID != "a" || i.Shown[0].Provider != "mail" || i.Shown[0].Score != resp.Results[0].Score {
		t.Fatalf("shown %+v", i.Shown)
	}
	if !slices.Equal(i.Shown[0].Features, c.Features[:]) || len(i.Shown[0].Features) != len(fusion.FeatureNames()) {
		t.Errorf("features %v, want %v", i.Shown[0].Features, c.Features)
	}
	if !slices.Equal(i.Shown[0].Matches, c.Matches) {
		t.Errorf("matches %v", i.Shown[0].Matches)
	}
}

// What a language model reads in a query is not all that the caller has.
func TestOnlyStatedArgumentsCost(t *testing.T) {
	c := tool("a", "", 1)
	c.Features[fusion.QueryLexicalFlat] = 10
	c.Matches = []schema.Match{{Score: 0, Required: true}}
	b := newBench(t, c)
	e := b.catalogue.entities[c.Ref]
	e.Document.Parameters = []schema.Parameter{{Name: "date", Required: true}}
	b.catalogue.entities[c.Ref] = e
	b.rewrites(t, Config{}, &fakeRewriter{answer: rewriting.Rewritten{Arguments: map[string]string{"city": "where"}}})
	stop := b.start(t)
	read := b.search(t, schema.SearchRequest{Query: "rain", Explain: true}).Results[0]
	stated := b.search(t, schema.SearchRequest{Query: "rain", Explain: true, Arguments: map[string]string{"city": "where"}}).Results[0]
	stop()
	if read.Explanation.Penalty != 0 || stated.Explanation.Penalty <= 0 {
		t.Errorf("penalty %v of a rewriting, %v of what is stated", read.Explanation.Penalty, stated.Explanation.Penalty)
	}
	if !slices.Equal(read.MissingParameters, []string{"date"}) || !slices.Equal(stated.MissingParameters, []string{"date"}) {
		t.Errorf("missing %v and %v", read.MissingParameters, stated.MissingParameters)
	}
	if all := b.impressions(t); len(all[0].Shown[0].Matches) != 0 || len(all[1].Shown[0].Matches) != 1 {
		t.Errorf("learned from: %+v", all)
	}
}

func TestASearchNeverWaitsForTheBus(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.build(t, Config{Impressions: 1}) // and nobody publishes
	if resp := b.search(t, schema.SearchRequest{}); len(resp.Degraded) != 0 {
		t.Errorf("degraded %v", resp.Degraded)
	}
	if resp := b.search(t, schema.SearchRequest{}); !slices.Equal(resp.Degraded, []string{"impressions"}) {
		t.Errorf("degraded %v", resp.Degraded)
	}
	if n := b.metric(t, "toolstream_search_impressions_dropped_total"); n != 1 {
		t.Errorf("%v dropped", n)
	}
}

func TestShutdownPublishesWhatWaits(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	for range 3 * publishBatch {
		b.search(t, schema.SearchRequest{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(b.impressions(t)); n != 3*publishBatch {
		t.Errorf("%d impressions published", n)
	}
}

// reader says how much of every name a query says.
type reader map[string]float64

func (r reader) For(string) func(string) float64 { return func(name string) float64 { return r[name] } }

// Users name a product, and the tools of others may say all the rest.
func TestANamedProviderDecidesBetweenEquals(t *testing.T) {
	b := newBench(t, tool("a", "miro-mcp", 9), tool("b", "@x/mcp-server-trello", 9), tool("c", "", 9))
	b.names = reader{}
	b.build(t, Config{})
	resp := b.search(t, schema.SearchRequest{Query: "create a card on my Trello board", Explain: true})
	if first := resp.Results[0]; first.ID != "b" || !strings.Contains(strings.Join(first.Explanation.Summary, "; "), "provider that the query names") {
		t.Errorf("%+v", first)
	}
}

// Of tools whose texts match alike, the one whose name the query says comes first, and
// the one that by its name does something else last.
func TestNamesDecideBetweenEquals(t *testing.T) {
	tools := []index.Candidate{tool("a", "", 9), tool("b", "", 9), tool("c", "", 9), tool("d", "", 4)}
	for i, label := range []string{"create card", "delete card", "card", "weather"} {
		tools[i].Label = label
	}
	b := newBench(t, tools...)
	b.names = reader{"create card": 1, "delete card": 0.5, "card": 0.5}
	b.build(t, Config{})
	resp := b.search(t, schema.SearchRequest{Query: "create a card", Explain: true})
	if got := ids(resp); !slices.Equal(got, []string{"a", "c", "d", "b"}) {
		t.Errorf("%v", got)
	}
	if why := resp.Results[3].Explanation; why.Terms["query.verb"] >= 0 || !strings.Contains(strings.Join(why.Summary, "; "), "another kind of action") {
		t.Errorf("%+v", why)
	}
}
