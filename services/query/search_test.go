package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

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
	if _, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "q"}); !errors.Is(err, catalogue.ErrUnavailable) || !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
}

// A result gives its place to the next if it cannot be shown any more.
func TestDeletedAndQuarantinedToolsGiveWay(t *testing.T) {
	b := newBench(t, tool("a", "", 4), tool("b", "", 3), tool("c", "", 2), tool("d", "", 1))
	delete(b.catalogue.entities, b.index.found[0].Ref)
	b.edit(b.index.found[1].Ref, func(d *schema.Document) { d.Quarantined = true })
	if got := ids(b.search(t, schema.SearchRequest{K: 2})); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("got %v", got)
	}
}

func TestFlagsAreShownAndExcluded(t *testing.T) {
	b := newBench(t, tool("a", "", 3), tool("b", "", 2))
	b.edit(b.index.found[0].Ref, func(d *schema.Document) { d.Flags = []string{"mixed-scripts"} })
	got := b.search(t, schema.SearchRequest{Exclude: []string{"bidi-characters"}}).Results
	if len(got) != 2 || !slices.Equal(got[0].Flags, []string{"mixed-scripts"}) || got[1].Flags != nil {
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

// Owners lift their tools.
func TestProvidersStandWhereTheirFirstEntityStands(t *testing.T) {
	b := newBench(t,
		tool("send", "mail", 9), tool("post", "chat", 8), tool("reply", "mail", 7), tool("orphan", "", 6),
		provider("wiki", 5), tool("list", "chat", 4), provider("mail", 3))
	resp := b.search(t, schema.SearchRequest{Rank: schema.RankProviders, K: 3})
	if got := ids(resp); !slices.Equal(got, []string{"mail", "chat", "wiki"}) {
		t.Fatalf("got %v", got)
	}
	r := resp.Results[1]
	if r.Name != "chat" || r.Kind != schema.KindProvider || r.Provider != "" || len(r.SupportingTools) != 2 || r.SupportingTools[0].ID != "post" || r.Score != r.SupportingTools[0].Score {
		t.Errorf("a provider without a document is %+v", r)
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
	b.ix = deep{b.index}
	b.build(t, Config{})
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
	b.edit(c.Ref, func(d *schema.Document) {
		d.Parameters = []schema.Parameter{{Name: "city", Required: true}, {Name: "date", Required: true}, {Name: "unit"}, {Name: "beyond what is matched"}}
	})
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
	b.edit(c.Ref, func(d *schema.Document) { d.Parameters = d.Parameters[:1] }) // changed since the index answered
	if r := b.search(t, req).Results[0]; len(r.MissingParameters) != 0 || len(r.Explanation.Parameters) != 0 {
		t.Errorf("names of another document: %+v", r)
	}
}

func TestImpressionsCarryTheFeatures(t *testing.T) {
	c := tool("a", "mail", 1)
	for i := range c.Features {
		c.Features[i] = float64(i + 1)
	}
	c.Features[fusion.UsagePrior], c.Features[fusion.UsageSimilar] = 0, 0
	for _, f := range []fusion.Feature{fusion.UsageCoUse, fusion.RelatedSupply, fusion.RelatedNeed, fusion.RelatedName, fusion.RelatedProvider, fusion.RelatedProviderName, fusion.RelatedKnown, fusion.RelatedRare} {
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
	b.edit(c.Ref, func(d *schema.Document) { d.Parameters = []schema.Parameter{{Name: "date", Required: true}} })
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
	b.waiting = 1
	b.build(t, Config{}) // and nobody publishes
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
	for range 768 {
		b.search(t, schema.SearchRequest{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	check.OK(t, b.Run(ctx))
	if n := len(b.impressions(t)); n != 768 {
		t.Errorf("%d impressions published", n)
	}
}

// reader says how much of every name a query says.
type reader map[string]float64

func (r reader) For(string) func(string) float64 {
	return func(name string) float64 { return r[name] }
}

func (r reader) Learned(word string) bool { return word == "learned" }

// A misspelt word is read before anything is looked up, and the answer says so.
func TestAMisspeltWordIsRead(t *testing.T) {
	b := newBench(t, tool("a", "", 9))
	b.names, b.index.spellings = reader{}, map[string]string{"restarants": "restaurants", "learned": "never"}
	b.build(t, Config{})
	resp := b.search(t, schema.SearchRequest{Query: "learned restarants", Explain: true})
	if got := b.index.last().Probe.Query.Words; got != "learned restaurants" {
		t.Errorf("asked for %q", got)
	}
	if read := resp.Searched.Read; len(read) != 1 || read[0].To != "restaurants" || !strings.Contains(strings.Join(resp.Results[0].Explanation.Summary, "; "), `read "restarants" as "restaurants"`) {
		t.Errorf("%v, %v", read, resp.Results[0].Explanation.Summary)
	}
}

// A tool whose name is the query is first, and a slip before resemblance.
func TestAKnownNameIsFirst(t *testing.T) {
	exact, similar, rare := tool("exact", "", 1), tool("similar", "", 9), tool("rare", "", 2)
	exact.Known, rare.Rare = 1, 1
	b := newBench(t, similar, exact, rare)
	if got := ids(b.search(t, schema.SearchRequest{Query: "exact"})); !slices.Equal(got, []string{"exact", "rare", "similar"}) {
		t.Errorf("%v", got)
	}
}

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
