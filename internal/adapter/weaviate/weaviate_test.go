package weaviate

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestClassIsMadeOnceAndComparedAfterwards(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	first := open(t, c, model("m"))
	if second := open(t, c, model("m")); second.Class() != first.Class() {
		t.Fatalf("classes %s and %s", first.Class(), second.Class())
	}
	class, m, err := c.LiveModel(t.Context())
	if err != nil || class != first.Class() || m != model("m") {
		t.Fatalf("live %s of %+v, %v", class, m, err)
	}
	got, err := c.class(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	got.Class, got.Properties = c.ClassOf(model("other")), got.Properties[1:]
	got.ShardingConfig = nil // comes back, and is refused
	got.Description = strings.Replace(got.Description, "32", "64", 1)
	for name, v := range got.VectorConfig {
		if settings := v.VectorIndexConfig.(map[string]any); name == vectorName {
			settings["distance"] = "cosine"
		}
	}
	if err := c.schema.ClassCreator().WithClass(got).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = OpenIndex(t.Context(), c, model("other"), deps(t))
	different := (*DifferentError)(nil)
	if !errors.As(err, &different) || different.Class != got.Class {
		t.Fatalf("another class is taken: %v", err)
	}
	for _, path := range []string{"description", "properties.kind", "vectorConfig.name.vectorIndexConfig.distance: is cosine, want dot"} {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name %s", err, path)
		}
	}
	after, err := c.class(t.Context(), got.Class)
	if err != nil || len(after.Properties) != len(got.Properties) {
		t.Errorf("the class was changed: %v", err)
	}
}

// TestManyBeginAtOnce opens the index of a class that nobody has made yet.
func TestManyBeginAtOnce(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	d := []Deps{deps(t), deps(t), deps(t), deps(t)}
	err := parallel(len(d), len(d), func(n int) error {
		i, err := OpenIndex(t.Context(), c, model("m"), d[n])
		if err == nil {
			i.Close()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBadObjectIsNamedAndTheOthersAreStored(t *testing.T) {
	s := server(t)
	i, m := open(t, client(t, s, aliasName()), model("m")), newMaker(model("m"), 4)
	tools := m.tools(5)
	apply(t, i, 1, tools[0]) // from then on Weaviate knows the dimensions
	for name, n := range map[string]int{"last": 4, "first": 1} {
		var objects []*pb.BatchObject
		for at := 1; at < len(tools); at++ {
			stored := stored{change: tools[at], session: i.session}
			if at == n {
				v := *tools[at].Vectors
				v.Name = v.Name[:16]
				stored.change.Vectors = &v
			}
			o, err := stored.object(i.class)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, o)
		}
		refused, err := i.write(t.Context(), objects)
		if _, permanent := stream.AsPermanent(refused); err != nil || !permanent || stream.Reason(refused) != ReasonRejected {
			t.Fatalf("%s: %v, %v", name, refused, err)
		}
		if got := refused.Error(); !strings.Contains(got, tools[n].ID) || strings.Count(got, "tool0") != 1 {
			t.Errorf("%s: %q does not name %s alone", name, got, tools[n].ID)
		}
	}
	for _, c := range tools[1:] {
		wantStored(t, i, c)
	}
}

func TestStoredIsWhatWasApplied(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 5)
	tools := m.tools(30)
	tools[3].Vectors.Parameters, tools[4].Vectors.Examples[0] = nil, nil
	tools[5].Vectors = &events.Vectors{Model: "m", Dimensions: dimensions}
	tools[6].Kind, tools[6].Agent = schema.KindAgent, ""
	tools[7].Version = schema.Version{Revision: events.MaxRevision, Source: 1<<64 - 1}
	tools[8].Document.Tags = nil
	apply(t, i, 1, tools...)
	gone := m.remove(tools[9].ID)
	apply(t, i, 2, gone)
	want := map[string]events.Change{}
	for _, tool := range tools {
		want[idOf(tool.Ref)] = tool
	}
	want[idOf(gone.Ref)] = gone
	seen := 0
	err := i.Each(t.Context(), someTenant, func(got events.Change) error {
		seen++
		wantStored(t, i, want[idOf(got.Ref)])
		return nil
	})
	if err != nil || seen != len(want) {
		t.Fatalf("%d objects, want %d: %v", seen, len(want), err)
	}
	if _, there, err := i.Get(t.Context(), schema.Ref{Tenant: "nobody", Kind: schema.KindTool, ID: "x"}); there || err != nil {
		t.Errorf("an unknown tenant's tool: there %v, %v", there, err)
	}
	// Rewritten by another session, it still reads the same, bit for bit.
	apply(t, open(t, c, model("m")), 3, tools[0], tools[1])
	wantStored(t, i, tools[0])
	apply(t, open(t, c, model("m")), 4, tools[0])
	wantStored(t, i, tools[0])
	wantStored(t, i, tools[1])
}

// question is a lookup like a tool: what stands in it, a little off.
func (m *maker) question(tool events.Change) index.Lookup {
	near := func(v events.Vector) []float32 {
		out := slices.Clone(v)
		for n, x := range m.unit() {
			out[n] = 0.8*out[n] + 0.6*x
		}
		return out
	}
	text := func(words string, v events.Vector) index.Text { return index.Text{Words: words, Vector: near(v)} }
	d, v := tool.Document, tool.Vectors
	l := index.Lookup{Tenant: tool.Tenant, N: 10, Model: everything()}
	l.Probe = index.Probe{
		Query: text(d.Description, v.Name),
		Needs: []index.Need{{
			Whole: text(m.words(4), v.Flat), Description: text(d.Description, v.Description),
			Response: text(d.Response, v.Response), Examples: text(d.Examples[0], v.Examples[0]),
		}},
	}
	for n, p := range v.Parameters {
		l.Probe.Arguments = append(l.Probe.Arguments, index.Argument{Name: d.Parameters[n].Name, Text: text(d.Parameters[n].Name, p)})
	}
	return l
}

// everything weighs every feature.
func everything() fusion.Model {
	m := fusion.Model{Version: "test", Bias: 1, Tau: 0.3, Alpha: 15, Required: 0.5, Optional: 0.2}
	for f := range fusion.FeatureCount {
		m.Features[f] = 0.2 + 0.05*float64(f%5)
	}
	return m
}

func ids(found []index.Candidate) []string {
	var out []string
	for _, c := range found {
		out = append(out, string(c.Kind)+" "+c.ID)
	}
	return out
}

func candidates(t testing.TB, s interface {
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
}, l index.Lookup) []string {
	t.Helper()
	found, err := s.Candidates(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return ids(found)
}

func TestSearchAgreesWithTheReplica(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 6)
	local, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	tools := m.tools(600)
	for n := range tools {
		if n%9 == 0 {
			tools[n].Kind, tools[n].Agent = schema.KindAgent, ""
		}
	}
	apply(t, i, 1, tools...)
	if err := local.Apply(t.Context(), tools, nil); err != nil {
		t.Fatal(err)
	}
	search := searchOver(t, c, local)
	positions, off := 0, 0
	for n := range 40 {
		l := m.question(tools[n*7])
		if n%4 == 0 {
			l.Kinds = []schema.Kind{schema.KindTool}
		}
		want, got := candidates(t, local, l), candidates(t, search, l)
		for at := range want {
			if positions++; at >= len(got) || got[at] != want[at] {
				off++
			}
		}
	}
	if off*100 > positions {
		t.Errorf("%d of %d positions differ", off, positions)
	}
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 7)
	mine := m.tools(10)
	theirs := slices.Clone(mine)
	for n := range theirs {
		theirs[n].Tenant = "other"
	}
	apply(t, i, 1, mine...)
	replicaOfAll, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	if err := replicaOfAll.Apply(t.Context(), append(slices.Clone(mine), theirs...), nil); err != nil {
		t.Fatal(err)
	}
	search := searchOver(t, c, replicaOfAll)
	l := m.question(mine[0])
	l.Tenant = "other"
	if proposed, err := search.propose(t.Context(), &l); err != nil || len(proposed) > 0 {
		t.Fatalf("a tenant that nothing was written for is offered %v, %v", proposed, err)
	}
	apply(t, i, 2, theirs[5:]...)
	proposed, err := search.propose(t.Context(), &l)
	if err != nil || len(proposed) != 5 {
		t.Fatalf("%d proposals, %v", len(proposed), err)
	}
	for _, ref := range proposed {
		if ref.Tenant != "other" || ref.ID < "tool0005" {
			t.Errorf("another tenant's %+v is proposed", ref)
		}
	}
}

func TestDeletedAndOlderAreNotProposed(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 8)
	old := m.tool("changed")
	newer := m.tool("changed")
	newer.Vectors.Parameters, newer.Vectors.Response = nil, nil
	gone := m.tool("gone")
	apply(t, i, 1, newer, gone)
	apply(t, i, 2, old, m.remove("gone"))
	apply(t, i, 3, gone)
	for name, q := range map[string]*pb.NearVector{
		vectorName: near(vectorName, gone.Vectors.Name), vectorResponse: near(vectorResponse, old.Vectors.Response),
		vectorExamples: must(nearList(vectorExamples, plain(gone.Vectors.Examples))),
	} {
		if finds(t, i, &gone, q) {
			t.Errorf("what was deleted is found by %s", name)
		}
	}
	if finds(t, i, &old, near(vectorResponse, old.Vectors.Response)) {
		t.Error("a vector that the newer version lacks is found")
	}
	if got, there, err := i.Get(t.Context(), gone.Ref); err != nil || !there || got.Op != events.OpDelete || got.Revision <= gone.Revision {
		t.Errorf("the tombstone is %+v, there %v, %v", got, there, err)
	}
	wantStored(t, i, newer)
}

func TestSwitchLeadsSearchesToAnotherClass(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	first, second := open(t, c, model("first")), open(t, c, model("second"))
	apply(t, first, 1, newMaker(model("first"), 9).tool("a"))
	m := newMaker(model("second"), 9)
	b := m.tool("b")
	apply(t, second, 1, b)
	local, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	if err := local.Apply(t.Context(), []events.Change{b}, nil); err != nil {
		t.Fatal(err)
	}
	search, l := searchOver(t, c, local), m.question(b)
	proposes := func(want string) {
		t.Helper()
		proposed, err := search.propose(t.Context(), &l)
		if err != nil || len(proposed) != 1 || proposed[0].ID != want {
			t.Fatalf("proposed %v, %v, want %s", proposed, err, want)
		}
	}
	proposes("a")
	if err := c.Drop(t.Context(), first.Class()); err == nil {
		t.Fatal("the live class is dropped")
	}
	if err := c.Switch(t.Context(), second.Class()); err != nil {
		t.Fatal(err)
	}
	proposes("b")
	if err := c.Switch(t.Context(), first.Class()); err != nil {
		t.Fatal(err)
	}
	proposes("a")
	if err := c.Switch(t.Context(), "Nothing"); !errors.Is(err, errNoClass) {
		t.Fatalf("the alias leads nowhere: %v", err)
	}
	if err := c.Drop(t.Context(), second.Class()); err != nil {
		t.Fatal(err)
	}
}

func TestSearchesWithoutWeaviate(t *testing.T) {
	m := newMaker(model("m"), 10)
	local, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	tools := m.tools(300)
	if err := local.Apply(t.Context(), tools, nil); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{URL: "http://127.0.0.1:1", GRPC: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	search, l := searchOver(t, c, local), m.question(tools[5])
	for range 2 {
		found, err := search.Candidates(t.Context(), l)
		if partial := (*index.Partial)(nil); !errors.As(err, &partial) || partial.Without != "index" {
			t.Fatalf("error %v does not say what is missing", err)
		}
		if got, want := ids(found), candidates(t, local, l); !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search.Candidates(ended, l); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that nobody waits for: %v", err)
	}
}

// TestSearchComesBack ends Weaviate under a search and starts it again.
func TestSearchComesBack(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 12)
	local, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	tools := m.tools(300)
	apply(t, i, 1, tools...)
	if err := local.Apply(t.Context(), tools, nil); err != nil {
		t.Fatal(err)
	}
	search, l := searchOver(t, c, local), m.question(tools[5])
	want := candidates(t, search, l)
	s.Kill()
	found, err := search.Candidates(t.Context(), l)
	if partial := (*index.Partial)(nil); !errors.As(err, &partial) || !slices.Equal(ids(found), want) {
		t.Errorf("while Weaviate is away %v, %v", ids(found), err)
	}
	if err := s.Restart(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := error(&index.Partial{}); err != nil; _, err = search.Candidates(waiting, l) {
		if waiting.Err() != nil {
			t.Fatalf("Weaviate is not asked again: %v", err)
		}
	}
	if got := candidates(t, search, l); !slices.Equal(got, want) {
		t.Errorf("after it came back %v, want %v", got, want)
	}
}

// TestQuestionsAreAskedOnce counts what a lookup asks: a query that is its own
// need asks nothing twice, and every text that stands for a field that a tool
// may lack asks names.
func TestQuestionsAreAskedOnce(t *testing.T) {
	m := newMaker(model("m"), 14)
	query, other := index.Text{Vector: m.unit()}, index.Text{Vector: m.unit()}
	for name, tt := range map[string]struct {
		probe   index.Probe
		weights []fusion.Feature
		want    int
	}{
		"nothing":              {index.Probe{}, []fusion.Feature{fusion.QueryDenseName}, 0},
		"no weight":            {index.Probe{Query: query}, nil, 0},
		"name":                 {index.Probe{Query: query}, []fusion.Feature{fusion.QueryDenseName}, 1},
		"flat, and names":      {index.Probe{Query: query}, []fusion.Feature{fusion.QueryDenseFlat}, 2},
		"of other dimensions":  {index.Probe{Query: index.Text{Vector: []float32{1}}}, []fusion.Feature{fusion.QueryDenseName}, 0},
		"its own need":         {index.Probe{Query: query, Needs: []index.Need{{Whole: query}}}, []fusion.Feature{fusion.QueryDenseName, fusion.NeedsDenseName}, 1},
		"another need":         {index.Probe{Query: query, Needs: []index.Need{{Whole: other}}}, []fusion.Feature{fusion.QueryDenseName, fusion.NeedsDenseName}, 2},
		"arguments in one":     {index.Probe{Arguments: []index.Argument{{Text: query}, {Text: other}}}, []fusion.Feature{fusion.NeedsDenseParameters}, 1},
		"a field of two needs": {index.Probe{Needs: []index.Need{{Response: query}, {Response: other}}}, []fusion.Feature{fusion.NeedsDenseResponse}, 4},
	} {
		l := index.Lookup{Probe: tt.probe}
		for _, f := range tt.weights {
			l.Model.Features[f] = 1
		}
		if got := must(ask(&l, dimensions)); len(got) != tt.want {
			t.Errorf("%s: %d questions, want %d", name, len(got), tt.want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{URL: "http://127.0.0.1:1", GRPC: "127.0.0.1:2"}
	for name, spoil := range map[string]func(*Config){
		"no url": func(c *Config) { c.URL = "" }, "no scheme": func(c *Config) { c.URL = "127.0.0.1:1" },
		"a path": func(c *Config) { c.URL += "/v1" }, "a password": func(c *Config) { c.URL = "http://u:p@127.0.0.1" },
		"no grpc": func(c *Config) { c.GRPC = "" }, "alias": func(c *Config) { c.Alias = "tool" },
		"negative": func(c *Config) { c.Batch = -1 },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestPropertiesNameWhatIsStored(t *testing.T) {
	names := map[string]bool{}
	for _, p := range properties() {
		names[p.Name] = true
		if p.Tokenization != "" && p.Tokenization != models.PropertyTokenizationField {
			t.Errorf("%s is cut into words", p.Name)
		}
	}
	c := newMaker(model("m"), 11).tool("x")
	o, err := (&stored{change: c}).object("Class")
	if err != nil {
		t.Fatal(err)
	}
	for name := range o.Properties.NonRefProperties.Fields {
		if !names[name] {
			t.Errorf("%s is written and not declared", name)
		}
	}
}
