package query

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/search"
)

// bySupply gives suppliers a say that words do not outweigh.
func bySupply(w *schema.Weights) {
	w.Features = map[string]float64{"query.lexical.flat": 1, "related.supply": 100}
}

// supplied is a service on a real index that asks it for few candidates.
type supplied struct {
	*Service
	index   *flat.Index
	watcher *fakeWatcher
}

func (s *supplied) learn(t *testing.T, w schema.Weights) {
	t.Helper()
	(&bench{Service: s.Service, watcher: s.watcher}).learn(t, "weights.live.default", w)
}

// newSupplied returns one with ten forecasts that take a session key, a tool
// that answers with it and shares no word with them, a provider of that tool's id,
// and, for another tenant, another such tool.
func newSupplied(t *testing.T) *supplied {
	t.Helper()
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	ix, err := flat.Open(t.Context(), flat.Config{Path: t.TempDir(), Logger: log, Registerer: reg})
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, ix.Close())
	})
	s := &supplied{index: ix, watcher: newFakeWatcher()}
	if s.Service, err = New(Config{}, Deps{
		Snapshot:  search.Snapshot{Index: ix, Catalogue: ix, Embedder: &fakeEmbedder{err: errDown}},
		Publisher: streamtest.NewBus(), Watcher: s.watcher, Logger: log, Registerer: reg,
	}); err != nil {
		t.Fatal(err)
	}
	s.learn(t, sealed(1, bySupply))
	login := schema.Document{Name: "login", Response: "the session key", Tags: []string{"access"}}
	changes := []events.Change{
		upsert(schema.KindTool, "login", "auth", login), upsert(schema.KindProvider, "login", "", login), upsert(schema.KindTool, "other login", "auth", login),
	}
	changes[2].Tenant = "other"
	for i := range 10 {
		changes = append(changes, upsert(schema.KindTool, fmt.Sprint("forecast", i), "weather", schema.Document{
			Name: "forecast", Description: "weather forecast", Tags: []string{"weather"},
			Parameters: []schema.Parameter{{Name: "sessionKey", Required: true}},
		}))
	}
	for i := range 200 {
		changes = append(changes, upsert(schema.KindTool, fmt.Sprint("noise", i), "noise", schema.Document{Name: "sends letters"}))
	}
	s.apply(t, 1, changes...)
	return s
}

// apply applies changes in whose texts the model finds nothing.
func (s *supplied) apply(t *testing.T, revision uint64, changes ...events.Change) {
	t.Helper()
	for i := range changes {
		c := &changes[i]
		c.Schema, c.Revision, c.Accepted = events.ChangeSchema, revision, time.Now()
		if c.Tenant == "" {
			c.Tenant = testTenant
		}
		if c.Op == events.OpUpsert {
			c.Vectors = &events.Vectors{Model: "m", Dimensions: 2}
		}
	}
	check.OK(t, s.index.Apply(t.Context(), changes, nil))
}

func (s *supplied) search(t *testing.T, req schema.SearchRequest) schema.SearchResponse {
	t.Helper()
	req.Query, req.K, req.Explain = "weather forecast", 3, true
	return check.Value(s.Search(t.Context(), testCaller, req))(t)
}

func TestASupplierThatSharesNoWordStandsInTheAnswer(t *testing.T) {
	s := newSupplied(t)
	resp := s.search(t, schema.SearchRequest{})
	first := resp.Results[0]
	if got := ids(resp); len(got) != 3 || first.ID != "login" || first.Kind != schema.KindTool {
		t.Fatalf("found %v", got)
	}
	if got := first.Explanation.Features; got["related.supply"] < 0.9 || got["query.lexical.flat"] != 0 {
		t.Errorf("by %v", got)
	}
	providers := schema.SearchRequest{Filters: schema.Filters{Kinds: []schema.Kind{schema.KindProvider}}}
	if got := s.search(t, providers).Results; len(got) > 0 { // the provider of this id supplies nothing
		t.Errorf("of providers alone found %+v", got)
	}
	if got := ids(s.search(t, schema.SearchRequest{Rank: schema.RankProviders})); !slices.Contains(got, "auth") {
		t.Errorf("providers %v, want the supplier's owner among them", got)
	}
	if got := ids(s.search(t, schema.SearchRequest{Filters: schema.Filters{Tags: []string{"weather"}}})); slices.Contains(got, "login") || len(got) != 3 {
		t.Errorf("found %v although no supplier has the tag", got)
	}
	s.learn(t, sealed(2, func(w *schema.Weights) {
		bySupply(w)
		w.Features["related.supply"] = 0
	}))
	if got := ids(s.search(t, schema.SearchRequest{})); slices.Contains(got, "login") || len(got) != 3 {
		t.Errorf("found %v although suppliers have no say", got)
	}
}

func TestWhichSuppliersAreLookedUp(t *testing.T) {
	b := newBench(t, provider("h1", 5), tool("a", "", 3), tool("b", "", 2), tool("unsound", "", math.Inf(1)))
	b.index.hidden = []index.Candidate{tool("h1", "", 0), tool("half", "", 0), tool("h2", "", math.NaN()), tool("little", "", 0)}
	b.index.suppliers = map[string][]index.Supplier{
		"a":       {{ID: "b", Share: 1}, {ID: "h1", Share: 1}, {ID: "half", Share: 0.125}, {ID: "little", Share: 0.0625}},
		"b":       {{ID: "half", Share: 0.125}, {ID: "little", Share: 0.0625}, {ID: "h2", Share: 1}},
		"unsound": {{ID: "little", Share: 1}},
	}
	m := builtin()
	for range 5 {
		check.Value(b.Retrieve(t.Context(), testTenant, schema.SearchRequest{Query: "q", Rank: schema.RankProviders}, &m, 10))(t)
		if l := b.index.last(); l.N != 0 || !slices.Equal(l.Also, []string{"h1", "h2", "half"}) || len(l.Kinds) != 2 {
			t.Fatalf("looked up %v and %d more of %v", l.Also, l.N, l.Kinds)
		}
	}
	got := ids(b.search(t, schema.SearchRequest{}))
	if slices.Contains(got, "h2") || slices.Contains(got, "unsound") {
		t.Errorf("a supplier that has no score is shown: %v", got)
	}

	b.index.suppliers = map[string][]index.Supplier{"a": {{ID: "b", Share: 1}}}
	before := len(b.index.lookups)
	b.search(t, schema.SearchRequest{})
	if n := len(b.index.lookups) - before; n != 1 {
		t.Errorf("%d lookups although every supplier is found", n)
	}
}

func TestWithoutSuppliersThereIsNoAnswer(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.index.mute = errDown
	if _, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "q"}); !errors.Is(err, catalogue.ErrUnavailable) || !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	b.index.found = []index.Candidate{provider("a", 1)}
	req := schema.SearchRequest{Query: "q", Filters: schema.Filters{Kinds: []schema.Kind{schema.KindProvider}}}
	if _, err := b.Search(t.Context(), testCaller, req); err != nil {
		t.Errorf("providers take nothing, and yet: %v", err)
	}
}

// What a supplier is looked up without degrades the answer, as it does for the rest.
func TestSuppliersWithoutAPartOfTheIndex(t *testing.T) {
	b := newBench(t, tool("a", "", 3))
	b.add(tool("login", "", 1))
	b.index.suppliers = map[string][]index.Supplier{"a": {{ID: "login", Share: 1}}}
	b.index.partial = &index.Partial{Without: "index", Err: errDown}
	if resp := b.search(t, schema.SearchRequest{}); !slices.Equal(resp.Degraded, []string{"index"}) || !slices.Contains(ids(resp), "login") {
		t.Errorf("%v without %v", ids(resp), resp.Degraded)
	}
}
