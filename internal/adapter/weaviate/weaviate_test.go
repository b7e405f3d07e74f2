package weaviate

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
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

// TestSearchesGoToTheClassOfTheirModel: while a model changes, replicas search by
// the old one and by the new one side by side, wherever the alias leads.
func TestSearchesGoToTheClassOfTheirModel(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	var classes []string
	proposes := map[string]func() ([]schema.Ref, error){} // by what is in the class
	for id, name := range map[string]string{"a": "first", "b": "second"} {
		i, m := open(t, c, model(name)), newMaker(model(name), 9)
		classes = append(classes, i.Class())
		tool := m.tool(id)
		apply(t, i, 1, tool)
		local, closeLocal := replica(t, filepath.Join(t.TempDir(), name))
		t.Cleanup(closeLocal)
		if err := local.Apply(t.Context(), []events.Change{tool}, nil); err != nil {
			t.Fatal(err)
		}
		search, l := searchOver(t, c, local), m.question(tool)
		proposes[id] = func() ([]schema.Ref, error) { return search.propose(t.Context(), &l) }
	}
	for _, class := range append(classes, classes[0]) {
		if err := c.Switch(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if err := c.Drop(t.Context(), class); err == nil {
			t.Fatal("the live class is dropped")
		}
		for id, propose := range proposes {
			if proposed, err := propose(); err != nil || len(proposed) != 1 || proposed[0].ID != id {
				t.Fatalf("proposed %v, %v, want %s", proposed, err, id)
			}
		}
	}
	if err := c.Switch(t.Context(), "Nothing"); !errors.Is(err, errNoClass) {
		t.Fatalf("the alias leads nowhere: %v", err)
	}
	if err := c.Drop(t.Context(), classes[1]); err != nil {
		t.Fatal(err)
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
