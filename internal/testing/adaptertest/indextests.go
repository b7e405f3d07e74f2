package adaptertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func testFound(t *indexTest) {
	if found := t.candidates(index.Lookup{Probe: t.probe("weather")}); len(found) != 0 {
		t.Fatalf("an empty index finds %v", ids(found))
	}
	t.apply(t.tool("a", "weather"))
	if got := ids(t.candidates(index.Lookup{Probe: t.probe("weather")})); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("found %v right after Apply, want [a]", got)
	}
	if got := t.candidates(index.Lookup{Probe: t.probe("weather")})[0]; got.Provider != "owner" || got.Tenant != testTenant || got.Kind != schema.KindTool {
		t.Errorf("candidate of %+v, provider %q", got.Ref, got.Provider)
	}
}

// wantDocument checks which description is stored and found.
func (t *indexTest) wantDocument(id, description string) {
	t.Helper()
	ref := schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id}
	e, _, ok, err := t.index.Get(t.ctx, ref, nil)
	if err != nil || ok != (description != "") || e.Document.Description != description {
		t.Fatalf("%s is %q (there: %v, %v), want %q", id, e.Document.Description, ok, err, description)
	}
	found := slices.Contains(ids(t.candidates(index.Lookup{Probe: t.probe("any"), N: 100})), id)
	if found != (description != "") {
		t.Fatalf("%s is found: %v", id, found)
	}
}

func testNewestWins(t *indexTest) {
	old := t.tool("a", "old")
	middle := t.tool("a", "middle")
	t.apply(middle)
	t.apply(old, middle)
	t.wantDocument("a", "middle")
	newest, newer := t.tool("a", "newest"), t.tool("a", "newer")
	newest.Revision, newer.Revision = newer.Revision, newest.Revision
	t.apply(newer, newest, newer)
	t.wantDocument("a", "newest")
	source := t.tool("a", "a source's version decides")
	source.Revision, source.Source = old.Revision, 7
	t.apply(source)
	t.wantDocument("a", "newest") // no source version to compare with: the revision decides
	v, deleted, known := t.index.Version(newest.Ref)
	if v != newest.Version || deleted || !known {
		t.Errorf("version %v, deleted %v, known %v", v, deleted, known)
	}
}

// testEditions: a new edition of the document of a raw document supersedes the
// previous edition, even across a restart, and the next revision supersedes both.
func testEditions(t *indexTest) {
	first, second := t.tool("a", "first"), t.tool("a", "second")
	second.Version = first.Version
	second.Edition = 1 << 50
	t.apply(second, first)
	t.wantDocument("a", "second")
	t.reopen()
	t.apply(first)
	t.wantDocument("a", "second")
	if v, _, _ := t.index.Version(first.Ref); v != second.Version {
		t.Errorf("version %v, want %v", v, second.Version)
	}
	third := t.tool("a", "third")
	third.Version, third.Edition = first.Version, second.Edition+1
	t.apply(third)
	t.wantDocument("a", "third")
	t.apply(t.tool("a", "of the next raw document"))
	t.wantDocument("a", "of the next raw document")
	t.apply(second, third)
	t.wantDocument("a", "of the next raw document")
	t.apply(t.remove("a"))
	t.apply(third)
	t.wantDocument("a", "")
}

func testDeletes(t *indexTest) {
	stale, c := t.tool("a", "stale"), t.tool("a", "first")
	t.apply(c)
	del := t.remove("a")
	t.apply(del)
	t.wantDocument("a", "")
	t.apply(stale, c, del)
	t.wantDocument("a", "")
	if v, deleted, known := t.index.Version(c.Ref); v != del.Version || !deleted || !known {
		t.Errorf("version %v, deleted %v, known %v", v, deleted, known)
	}
	early, late := t.tool("b", "deleted before it came"), t.remove("b")
	t.apply(late)
	t.apply(early)
	t.wantDocument("b", "")
	t.reopen()
	t.apply(stale, early)
	t.wantDocument("a", "")
	t.wantDocument("b", "")
	t.apply(t.tool("a", "again"))
	t.wantDocument("a", "again")
	if _, _, known := t.index.Version(schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: "unknown"}); known {
		t.Error("an entity that never was is known")
	}
}

func testRefused(t *indexTest) {
	t.apply(t.tool("good", "good"))
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(c *events.Change){
		"no vectors":        func(c *events.Change) { c.Vectors = nil },
		"no dimensions":     func(c *events.Change) { c.Vectors = &events.Vectors{Model: "suite-model"} },
		"wrong length":      func(c *events.Change) { c.Vectors.Flat = c.Vectors.Flat[:testDimensions-1] },
		"not a number":      func(c *events.Change) { c.Vectors.Name = slices.Repeat([]float32{nan}, testDimensions) },
		"too long":          func(c *events.Change) { c.Vectors.Name = slices.Repeat([]float32{1}, testDimensions) },
		"vector in excess":  func(c *events.Change) { c.Vectors.Parameters = append(c.Vectors.Parameters, t.unit()) },
		"no document":       func(c *events.Change) { c.Document = nil },
		"no id":             func(c *events.Change) { c.ID = "" },
		"unknown operation": func(c *events.Change) { c.Op = "merge" },
	} {
		bad := t.tool("bad", "bad")
		spoil(&bad)
		err := t.index.Apply(t.ctx, []events.Change{t.tool("neighbour", "good"), bad}, map[int]uint64{0: 99})
		if _, permanent := stream.AsPermanent(err); !permanent {
			t.Errorf("%s: %v is not permanent", name, err)
		}
		if got := t.index.Positions()[0]; got != t.offset {
			t.Errorf("%s: position %d after a refused call, want %d", name, got, t.offset)
		}
	}
	t.wantDocument("bad", "")
	t.wantDocument("good", "good")
}

func testOneModel(t *indexTest) {
	t.apply(t.tool("a", "a"))
	other := t.tool("b", "b")
	other.Vectors.Model = "another"
	shorter := t.tool("b", "b")
	shorter.Vectors = &events.Vectors{Model: "suite-model", Dimensions: 2, Name: []float32{1, 0}}
	for _, c := range []events.Change{other, shorter} {
		if _, permanent := stream.AsPermanent(t.index.Apply(t.ctx, []events.Change{c}, nil)); !permanent {
			t.Errorf("vectors of %s in %d dimensions are taken", c.Vectors.Model, c.Vectors.Dimensions)
		}
	}
	t.wantDocument("b", "")
}

func testIndexRestart(t *indexTest) {
	if got := t.index.Positions(); len(got) != 0 {
		t.Fatalf("positions of an empty index: %v", got)
	}
	old := t.tool("b", "second")
	old.First = 1
	t.apply(t.tool("a", "first"), old)
	if err := t.index.Apply(t.ctx, []events.Change{t.tool("c", "third")}, map[int]uint64{3: 17}); err != nil {
		t.Fatal(err)
	}
	if err := t.index.Apply(t.ctx, nil, map[int]uint64{3: 21}); err != nil {
		t.Fatal(err)
	}
	l := index.Lookup{Probe: t.probe("second")}
	before := t.candidates(l)
	t.reopen()
	if got, want := t.index.Positions(), map[int]uint64{0: 1, 3: 21}; !maps.Equal(got, want) {
		t.Errorf("positions %v after a restart, want %v", got, want)
	}
	after := t.candidates(l)
	// A restart may update the lexical statistics.
	for i := range before {
		if i >= len(after) || !sameCandidate(ofWords(before[i], after[i]), after[i]) {
			t.Fatalf("after a restart %v, before %v", after, before)
		}
	}
}

func sameCandidate(a, b index.Candidate) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-5 }
	return a.Ref == b.Ref && a.Provider == b.Provider && a.First == b.First && bytes.Equal(a.Sketch, b.Sketch) && near(a.Similarity, b.Similarity) && slices.Equal(a.BestArg, b.BestArg) &&
		slices.EqualFunc(a.Features[:], b.Features[:], near) &&
		slices.EqualFunc(a.Matches, b.Matches, func(x, y schema.Match) bool { return x.Required == y.Required && near(x.Score, y.Score) })
}

// ofWords returns c with the lexical scores of another candidate.
func ofWords(c, words index.Candidate) index.Candidate {
	copy(c.Features[fusion.QueryLexicalFlat:fusion.QueryDenseName], words.Features[fusion.QueryLexicalFlat:])
	copy(c.Features[fusion.NeedsLexicalFlat:fusion.NeedsDenseName], words.Features[fusion.NeedsLexicalFlat:])
	return c
}

// exact returns the score of a change by index.Score, with the lexical scores of
// the candidate itself.
func exact(c events.Change, p *index.Probe, got index.Candidate) index.Candidate {
	e := index.Entry{Vectors: c.Vectors}
	for _, parameter := range c.Document.Parameters {
		e.Required = append(e.Required, parameter.Required)
	}
	s := index.Score(p, e)
	return ofWords(index.Candidate{
		Ref: c.Ref, Provider: c.Provider, First: cmp.Or(c.First, c.Revision), Sketch: index.SketchOf(c.Document, c.Provider),
		Features: s.Features, Matches: s.Matches, BestArg: s.BestArg, Similarity: s.Similarity,
	}, got)
}

// sparse removes some vectors of a tool.
func sparse(c events.Change, i int) events.Change {
	v := c.Vectors
	for bit, drop := range []func(){
		func() { v.Flat = nil }, func() { v.Description = nil }, func() { v.Response = nil },
		func() { v.Examples = nil }, func() { v.Parameters, c.Document.Parameters = nil, nil }, func() { v.Name = nil },
	} {
		if i>>bit&1 == 1 {
			drop()
		}
	}
	return c
}

func testExactScores(t *indexTest) {
	byID := map[string]events.Change{}
	for i := range 63 {
		c := sparse(t.tool(fmt.Sprintf("t%02d", i), "weather"), i)
		byID[c.ID] = c
		t.apply(c)
	}
	for range 5 {
		p, m := t.probe("weather"), Weights()
		found := t.candidates(index.Lookup{Probe: p, N: 63})
		if len(found) != len(byID) {
			t.Fatalf("%d candidates of %d", len(found), len(byID))
		}
		for _, got := range found {
			if want := exact(byID[got.ID], &p, got); !sameCandidate(got, want) {
				t.Fatalf("candidate\n%+v, want\n%+v", got, want)
			}
		}
		t.wantOrdered(found, &m)
	}
}

// wantOrdered checks that candidates are sorted best first, and equal candidates
// by id in descending order.
func (t *indexTest) wantOrdered(found []index.Candidate, m *fusion.Model) {
	t.Helper()
	score := func(c index.Candidate) float64 {
		return m.Linear(&c.Features)
	}
	if !slices.IsSortedFunc(found, func(a, b index.Candidate) int { return fusion.Order(score(a), a.ID, score(b), b.ID) }) {
		t.Errorf("candidates are out of order: %v", ids(found))
	}
}

func testLexicalScores(t *indexTest) {
	a, b := t.tool("a", "convert currency"), t.tool("b", "forecast weather")
	a.Document.Response, b.Document.Response = "an amount", ""
	t.apply(a, b, t.tool("c", "unrelated"))
	p := index.Probe{
		Query:     index.Text{Words: "please convert my currency"},
		Needs:     []index.Need{{Whole: index.Text{Words: "weather forecasts"}, Response: index.Text{Words: "amount"}}, {Whole: index.Text{Words: "forecasting the weather"}}},
		Arguments: []index.Argument{{Name: "first", Text: index.Text{Words: "first: of all"}}},
	}
	for _, c := range t.candidates(index.Lookup{Probe: p}) {
		if want := map[string]float64{"a": 0, "b": 1, "c": 0}[c.ID]; math.Abs(c.Covered-want) > 1e-6 {
			t.Errorf("%s covers %v of a need, want %v", c.ID, c.Covered, want)
		}
		f := &c.Features
		for feature, want := range map[fusion.Feature]bool{
			fusion.QueryLexicalFlat: c.ID == "a", fusion.QueryLexicalStem: c.ID == "a", fusion.QueryLexicalName: c.ID == "a",
			fusion.QueryLexicalDescription: c.ID == "a", fusion.QueryLexicalResponse: false, fusion.QueryLexicalExamples: c.ID == "a",
			fusion.NeedsLexicalFlat: c.ID == "b", fusion.NeedsLexicalName: c.ID == "b", fusion.NeedsLexicalDescription: false,
			fusion.NeedsLexicalResponse: c.ID == "a", fusion.NeedsLexicalParameters: true,
			fusion.QueryLexicalPairs: c.ID == "a", fusion.NeedsLexicalPairs: c.ID == "b",
		} {
			if got := f[feature] > 0; got != want {
				t.Errorf("%s of %s is %v", feature, c.ID, f[feature])
			}
		}
	}
}

// testRerank checks that each of several needs scores the same as it does alone.
func testRerank(t *indexTest) {
	a, b := t.tool("a", "convert currency"), t.tool("b", "forecast weather")
	t.apply(a, b)
	p := t.probe("weather forecasts")
	p.Needs[1].Whole.Words = "a currency"
	both := t.candidates(index.Lookup{Probe: p, Rerank: true})
	m := Weights()
	for i := range p.Needs {
		alone := p
		alone.Needs = p.Needs[i : i+1]
		for _, c := range t.candidates(index.Lookup{Probe: alone}) {
			var want float64
			for _, f := range []fusion.Feature{
				fusion.NeedsLexicalFlat, fusion.NeedsLexicalStem, fusion.NeedsLexicalName, fusion.NeedsLexicalPairs, fusion.NeedsDenseName, fusion.NeedsDenseFlat,
			} {
				want += m.Features[f] * c.Features[f]
			}
			at := slices.IndexFunc(both, func(other index.Candidate) bool { return other.ID == c.ID })
			if got := both[at].Needs; len(got) != 2 || math.Abs(got[i]-want) > 1e-5 {
				t.Errorf("need %d of %s: %v, not %v", i, c.ID, got, want)
			}
			if c.Needs != nil || c.Vector != nil {
				t.Errorf("%s has needs or a vector, unasked", c.ID)
			}
		}
	}
	for _, c := range t.candidates(index.Lookup{Probe: p}) {
		at := slices.IndexFunc(both, func(other index.Candidate) bool { return other.ID == c.ID })
		if !slices.Equal(c.Needs, both[at].Needs) || c.Vector != nil {
			t.Errorf("%s has needs %v and a vector of %d components by their weight alone", c.ID, c.Needs, len(c.Vector))
		}
	}
	for _, c := range both {
		want := map[string]events.Change{"a": a, "b": b}[c.ID].Vectors.Name
		if len(c.Vector) != len(want) || vector.Dot(c.Vector, want) < 0.9999 {
			t.Errorf("the vector of %s is another one", c.ID)
		}
	}
}

func testMatches(t *indexTest) {
	p := t.probe("same")
	given, missing := t.tool("given", "same"), t.tool("missing", "same")
	missing.Document.Name = given.Document.Name
	*missing.Vectors = *given.Vectors
	given.Vectors.Parameters = []events.Vector{p.Arguments[0].Text.Vector, p.Arguments[1].Text.Vector}
	t.apply(given, missing)
	found := t.candidates(index.Lookup{Probe: p})
	at := slices.IndexFunc(found, func(c index.Candidate) bool { return c.ID == "given" })
	if got := found[at].BestArg; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("best arguments %v", got)
	}
	p.Arguments = nil
	for _, c := range t.candidates(index.Lookup{Probe: p}) {
		if len(c.Matches)+len(c.BestArg) != 0 {
			t.Errorf("%s has matches without arguments", c.ID)
		}
	}
}

// testBestOfMany compares the best of more tools than are scored exactly with
// the exact scores of all.
func testBestOfMany(t *indexTest) {
	const tools, n = 1500, 20
	var changes []events.Change
	for i := range tools {
		changes = append(changes, sparse(t.tool(fmt.Sprintf("t%04d", i), "tool", fmt.Sprint("word", i%50)), i%32))
	}
	for batch := range slices.Chunk(changes, 333) {
		t.apply(batch...)
	}
	m := Weights()
	for f := range m.Features {
		if !strings.Contains(fusion.Feature(f).String(), "dense") {
			m.Features[f] = 0
		}
	}
	for range 10 {
		p := t.probe("nothing")
		got := ids(t.candidates(index.Lookup{Probe: p, Model: m, N: n}))
		want := best(changes, &p, &m)[:n]
		if !t.sameBest(got, want) {
			t.Fatalf("best %v\nwant %v", got, want)
		}
	}
}

// sameBest compares the best candidates as far as the adapter finds them.
func (t *indexTest) sameBest(got, want []string) bool {
	least := t.adapter.Recall
	if least == 0 || len(got) != len(want) {
		return slices.Equal(got, want)
	}
	found := 0
	for _, id := range want {
		if slices.Contains(got, id) {
			found++
		}
	}
	return float64(found) >= least*float64(len(want))
}

// best returns the ids of all changes in the order of their exact scores.
func best(changes []events.Change, p *index.Probe, m *fusion.Model) []string {
	type scored struct {
		id    string
		score float64
	}
	all := make([]scored, len(changes))
	for i, c := range changes {
		e := exact(c, p, index.Candidate{})
		all[i] = scored{c.ID, m.Linear(&e.Features)}
	}
	slices.SortFunc(all, func(a, b scored) int { return fusion.Order(a.score, a.id, b.score, b.id) })
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.id
	}
	return out
}

func testWithoutVectors(t *indexTest) {
	t.apply(t.tool("a", "currency"), t.tool("b", "weather"))
	found := t.candidates(index.Lookup{Probe: index.Probe{Query: index.Text{Words: "weather"}}, N: 1})
	if got := ids(found); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("found %v by words alone", got)
	}
	if got := found[0].Similarity; got != 0 {
		t.Errorf("similarity %v without a vector", got)
	}
	for _, p := range []index.Probe{{}, {Query: index.Text{Vector: []float32{1}}}} {
		if got := t.candidates(index.Lookup{Probe: p}); len(got) != 2 {
			t.Errorf("%d candidates for a query of nothing", len(got))
		}
	}
}

// testNothingToEmbed: a tool without vectors, because the model found nothing in its
// texts, is still found by its words, even if it is the first tool of the index.
func testNothingToEmbed(t *indexTest) {
	blank := t.tool("blank", "42")
	blank.Vectors = &events.Vectors{Model: blank.Vectors.Model, Dimensions: blank.Vectors.Dimensions}
	t.apply(blank)
	t.apply(t.tool("other", "weather"))
	for range 2 {
		t.wantDocument("blank", "42")
		for words, first := range map[string]string{"42": "blank", "weather": "other"} {
			found := t.candidates(index.Lookup{Probe: t.probe(words)})
			if len(found) != 2 || found[0].ID != first {
				t.Errorf("%q finds %v", words, ids(found))
			}
		}
		t.reopen()
	}
}

func testFilters(t *indexTest) {
	var changes []events.Change
	for i := range 500 {
		c := t.tool(fmt.Sprintf("t%03d", i), "weather")
		c.Provider = fmt.Sprintf("provider%d", i%100)
		c.Document.Tags = []string{fmt.Sprintf("tag%d", i%250), "all"}
		changes = append(changes, c)
	}
	changes[7].Document.Flags, changes[107].Document.Flags = []string{"mixed-scripts"}, []string{"bidi-characters", "mixed-scripts"}
	provider := t.tool("provider7", "a provider")
	provider.Kind, provider.Provider = schema.KindProvider, ""
	t.apply(append(changes, provider)...)
	tool, aProvider := []schema.Kind{schema.KindTool}, []schema.Kind{schema.KindProvider}
	for name, c := range map[string]struct {
		filters schema.Filters
		kinds   []schema.Kind
		exclude []string
		want    []string
	}{
		"owner, the provider itself included": {schema.Filters{Providers: []string{"provider7"}}, nil, nil, []string{"provider7", "t007", "t107", "t207", "t307", "t407"}},
		"two owners, tools":                   {schema.Filters{Providers: []string{"provider1", "provider2"}, IDs: []string{"t001", "t002", "t003"}}, tool, nil, []string{"t001", "t002"}},
		"tag":                                 {schema.Filters{Tags: []string{"tag9", "no such"}}, nil, nil, []string{"t009", "t259"}},
		"tag and owner":                       {schema.Filters{Tags: []string{"tag9"}, Providers: []string{"provider59"}}, nil, nil, []string{"t259"}},
		"ids":                                 {schema.Filters{IDs: []string{"t400", "provider7", "no such"}}, nil, nil, []string{"provider7", "t400"}},
		"providers":                           {schema.Filters{}, aProvider, nil, []string{"provider7"}},
		"providers by filter":                 {schema.Filters{Kinds: aProvider}, nil, nil, []string{"provider7"}},
		"kinds that exclude each other":       {schema.Filters{Kinds: aProvider}, tool, nil, []string{}},
		"an unknown owner":                    {schema.Filters{Providers: []string{"unknown"}}, nil, nil, []string{}},
		"excluded by a flag":                  {schema.Filters{Providers: []string{"provider7"}}, tool, []string{"bidi-characters", "no such"}, []string{"t007", "t207", "t307", "t407"}},
		"excluded by either flag":             {schema.Filters{Providers: []string{"provider7"}}, tool, []string{"bidi-characters", "mixed-scripts"}, []string{"t207", "t307", "t407"}},
	} {
		got := ids(t.candidates(index.Lookup{Probe: t.probe("weather"), Filters: c.filters, Kinds: c.kinds, Exclude: c.exclude}))
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	testBehind(t, schema.Filters{Providers: []string{"provider7"}}, tool)
	many := t.candidates(index.Lookup{Probe: t.probe("weather"), Filters: schema.Filters{Tags: []string{"all"}}, Kinds: tool, N: 1000})
	if len(many) != 500 {
		t.Errorf("%d candidates of 500 that the filter allows", len(many))
	}
}

// testBehind searches for some of five tools; t007 and t107 are flagged.
func testBehind(t *indexTest, filters schema.Filters, kinds []schema.Kind) {
	for name, c := range map[string]struct {
		n    int
		also []string
		held int
	}{
		"room for all":           {10, nil, 2},
		"room for one more":      {4, nil, 1},
		"no room":                {3, nil, 0},
		"no room, but it is one": {3, []string{"t007"}, 1},
	} {
		found := t.candidates(index.Lookup{Probe: t.probe("weather"), Filters: filters, Kinds: kinds, Behind: []string{"mixed-scripts"}, N: c.n, Also: c.also})
		others := ids(found)[:len(found)-c.held]
		slices.Sort(others)
		if !slices.Equal(others, []string{"t207", "t307", "t407"}) || slices.ContainsFunc(found[:3], func(c index.Candidate) bool { return c.HeldBack != "" }) {
			t.Errorf("%s: %v", name, ids(found))
		}
		for _, f := range found[3:] {
			if f.HeldBack != "mixed-scripts" {
				t.Errorf("%s: %s is held back for %q", name, f.ID, f.HeldBack)
			}
		}
	}
	flagged := t.candidates(index.Lookup{Probe: t.probe("weather"), Filters: schema.Filters{IDs: []string{"t007"}}, Behind: []string{"mixed-scripts"}})
	if len(flagged) != 1 {
		t.Errorf("found %v among flagged tools alone", ids(flagged))
	}
}

func testAlso(t *indexTest) {
	var changes []events.Change
	for i := range 400 {
		changes = append(changes, t.tool(fmt.Sprintf("t%03d", i), "weather"))
	}
	t.apply(changes...)
	m, p := Weights(), t.probe("weather")
	all := ids(t.candidates(index.Lookup{Probe: p, N: 400}))
	first, last := all[0], all[399]
	found := t.candidates(index.Lookup{Probe: p, N: 3, Also: []string{last, first, last, "no such"}})
	if got, want := ids(found), append(slices.Clone(all[:3]), last); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	t.wantOrdered(found, &m)
	found = t.candidates(index.Lookup{Probe: p, N: 3, Also: []string{last}, Filters: schema.Filters{IDs: all[:2]}})
	if got := ids(found); !slices.Equal(got, all[:2]) {
		t.Errorf("the filter does not hold for Also: %v", got)
	}
	owner := t.tool("p", "nothing like it")
	owner.Kind, owner.Provider = schema.KindProvider, ""
	t.apply(owner)
	both := []schema.Kind{schema.KindTool, schema.KindProvider}
	if found := t.candidates(index.Lookup{Probe: p, Kinds: both, N: 1, Also: []string{"p"}}); !slices.ContainsFunc(found, func(c index.Candidate) bool { return c.Kind == schema.KindProvider && c.ID == "p" }) {
		t.Errorf("a provider that is wanted also is not among %v", ids(found))
	}
	// No candidates except the tools of Also.
	for name, l := range map[string]index.Lookup{
		"nothing":   {},
		"alone":     {Also: []string{last, first, last, "no such"}},
		"filtered":  {Also: []string{last, first}, Filters: schema.Filters{IDs: all[:2]}},
		"providers": {Also: []string{last}, Kinds: []schema.Kind{schema.KindProvider}},
	} {
		l.Tenant, l.Probe, l.Model = testTenant, p, m
		found, err := t.index.Candidates(t.ctx, l)
		want := map[string][]string{"alone": {first, last}, "filtered": {first}}[name]
		if got := ids(found); err != nil || !slices.Equal(got, append([]string{}, want...)) {
			t.Errorf("%s: found %v, %v, want %v", name, got, err, want)
		}
	}
}

func testTenants(t *indexTest) {
	mine, other := t.tool("same", "mine"), t.tool("same", "theirs")
	other.Tenant = "other"
	t.apply(mine, other)
	t.wantDocument("same", "mine")
	t.apply(t.remove("same"))
	t.wantDocument("same", "")
	found := t.candidates(index.Lookup{Tenant: "other", Probe: t.probe("theirs")})
	if len(found) != 1 || found[0].Tenant != "other" {
		t.Errorf("the other tenant finds %v", found)
	}
	if found := t.candidates(index.Lookup{Tenant: "unknown", Probe: t.probe("theirs")}); len(found) != 0 {
		t.Errorf("an unknown tenant finds %v", ids(found))
	}
	all, _, err := t.index.List(t.ctx, testTenant, index.Listing{Kind: schema.KindTool, Limit: 10})
	if err != nil || len(all) != 0 {
		t.Errorf("the first tenant lists %v, %v", all, err)
	}
}

func testIDs(t *indexTest) {
	names := []string{"a b", "a/b", "ä", "日本", "%2F", `"`, strings.Repeat("x", 256), "A", "a"}
	for _, id := range names {
		t.apply(t.tool(id, "same"))
		provider := t.tool(id, "same")
		provider.Kind = schema.KindProvider
		t.apply(provider)
	}
	t.reopen()
	found := t.candidates(index.Lookup{Probe: t.probe("same"), N: 100})
	if len(found) != 2*len(names) {
		t.Fatalf("%d candidates, want %d: %q", len(found), 2*len(names), ids(found))
	}
	for _, id := range names {
		t.wantDocument(id, "same")
	}
}

func testCatalogue(t *indexTest) {
	var want []string
	for i := range 25 {
		c := t.tool(fmt.Sprintf("t%02d", i), "text")
		c.Provider = []string{"even", "odd"}[i%2]
		c.Document.Quarantined = i%10 == 5
		t.apply(c)
		want = append(want, c.ID)
	}
	t.apply(t.remove("t03"))
	want = slices.DeleteFunc(want, func(id string) bool { return id == "t03" })
	var got []string
	for cursor, pages := "", 0; cursor != "" || pages == 0; pages++ {
		var page []schema.Entity
		var err error
		page, cursor, err = t.index.List(t.ctx, testTenant, index.Listing{Kind: schema.KindTool, Cursor: cursor, Limit: 7})
		if err != nil || len(page) > 7 || pages > 9 {
			t.Fatalf("page %d of %d entities: %v", pages, len(page), err)
		}
		for _, e := range page {
			got = append(got, e.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	odd, next, err := t.index.List(t.ctx, testTenant, index.Listing{Kind: schema.KindTool, Provider: "odd", Cursor: "t10", Limit: 100})
	if err != nil || len(odd) != 7 || next != "" || !slices.IsSortedFunc(odd, func(a, b schema.Entity) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Errorf("listed %d tools of an owner, next %q, %v", len(odd), next, err)
	}
	held, _, err := t.index.List(t.ctx, testTenant, index.Listing{Kind: schema.KindTool, Quarantined: true, Limit: 9})
	if err != nil || len(held) != 2 || held[0].ID != "t05" || held[1].ID != "t15" {
		t.Errorf("in quarantine are %+v, %v", held, err)
	}
	c := t.tool("whole", "everything")
	t.apply(c)
	e, raw, ok, err := t.index.Get(t.ctx, c.Ref, nil)
	if err != nil || !ok || string(raw) != string(c.Raw) || e.Hash != c.Hash || e.Format != c.Format || e.Provider != c.Provider ||
		e.Version != c.Version || !e.Updated.Equal(c.Accepted) || len(e.Document.Parameters) != 2 {
		t.Errorf("got %+v with %s, %v, %v", e, raw, ok, err)
	}
}

func testCancelled(t *indexTest) {
	t.apply(t.tool("a", "a"))
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, err := t.index.Candidates(ctx, index.Lookup{Tenant: testTenant, N: 1, Model: Weights()}); err == nil {
		t.Error("a cancelled search does not fail")
	}
	if err := t.index.Apply(ctx, []events.Change{t.tool("b", "b")}, nil); err == nil {
		t.Error("a cancelled Apply does not fail")
	}
	t.wantDocument("b", "")
}
