package weaviate

import (
	"context"
	"slices"
	"testing"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/pkg/events"
)

// invisible lists the vectors that a search for exactly them does not find, as
// "field of tool".
func (i *Index) invisible(t testing.TB, changes []events.Change) []string {
	t.Helper()
	var missing []string
	for n := range changes {
		c := &changes[n]
		for field, q := range map[string]*pb.NearVector{
			vectorName: near(vectorName, c.Vectors.Name), vectorFlat: near(vectorFlat, c.Vectors.Flat),
			vectorDescription: near(vectorDescription, c.Vectors.Description), vectorResponse: near(vectorResponse, c.Vectors.Response),
			vectorExamples: list(t, vectorExamples, c.Vectors.Examples), vectorParameters: list(t, vectorParameters, c.Vectors.Parameters),
		} {
			if q != nil && !i.finds(t, c, q) {
				missing = append(missing, field+" of "+c.ID)
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// list asks for the first of several vectors, nil where there are none.
func list(t testing.TB, field string, vectors []events.Vector) *pb.NearVector {
	t.Helper()
	if len(vectors) == 0 {
		return nil
	}
	q, err := nearList(field, plain(vectors[:1]))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (i *Index) finds(t testing.TB, c *events.Change, q *pb.NearVector) bool {
	t.Helper()
	found, err := i.client.find(t.Context(), &pb.SearchRequest{Collection: i.class, Tenant: c.Tenant, Limit: 3, NearVector: q})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(r *pb.SearchResult) bool { return r.GetMetadata().GetId() == idOf(c.Ref) })
}

// crash ends the server as kill -9 does and starts it again on its data.
func crash(t testing.TB, s *servers.Server) {
	t.Helper()
	s.Kill()
	if err := s.Restart(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// unfenced writes changes in one batch, acknowledged whole, and nothing behind
// it: what a writer leaves that ends there.
func (i *Index) unfenced(t testing.TB, changes []events.Change) {
	t.Helper()
	if err := i.tenants.add(t.Context(), someTenant); err != nil {
		t.Fatal(err)
	}
	objects, err := i.due(t.Context(), someTenant, newest(changes)[someTenant])
	if err != nil {
		t.Fatal(err)
	}
	if err := i.client.writeAll(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}

func apply(t testing.TB, i *Index, offset uint64, changes ...events.Change) {
	t.Helper()
	if err := i.Apply(t.Context(), changes, map[int]uint64{0: offset}); err != nil {
		t.Fatal(err)
	}
}

// TestAppliedOutlivesACrash is W2 and F6: what Apply said is stored is found
// after kill -9, with nothing in flight and nothing written again. Without the
// fence nothing of the last batch is, which TestUnfencedIsLost holds.
func TestAppliedOutlivesACrash(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 1)
	tools := m.tools(120)
	apply(t, i, 1, tools[:60]...)
	apply(t, i, 2, tools[60:]...)
	for round := range 2 {
		for n := range tools[:30] {
			tools[n] = m.tool(tools[n].ID)
		}
		apply(t, i, uint64(3+round), append(slices.Clone(tools[:30]), m.remove("never there"))...)
		crash(t, s)
		if missing := i.invisible(t, tools); len(missing) > 0 {
			t.Fatalf("round %d: a search does not find %d vectors: %v", round, len(missing), missing)
		}
	}
	if again := open(t, c, model("m")); again.Positions()[0] != 4 {
		t.Errorf("positions %v", again.Positions())
	}
}

// TestUnfencedIsLost holds that the fence is needed: once this fails, Weaviate
// has learned to keep what it acknowledges.
func TestUnfencedIsLost(t *testing.T) {
	s := server(t)
	i, m := open(t, client(t, s, aliasName()), model("m")), newMaker(model("m"), 2)
	tools := m.tools(60)
	i.unfenced(t, tools)
	if missing := i.invisible(t, tools); len(missing) > 0 {
		t.Fatalf("before the crash %v are missing", missing)
	}
	crash(t, s)
	if missing := i.invisible(t, tools); len(missing) == 0 {
		t.Error("Weaviate lost no vector of a batch that nothing followed: the fence may go")
	}
	// Writing the same again repairs nothing (W3).
	i.unfencedAgain(t, tools)
	if missing := i.invisible(t, tools); len(missing) == 0 {
		t.Error("the same vectors again repaired what was lost: nudging may go")
	}
}

// unfencedAgain writes changes as they are, whatever is there.
func (i *Index) unfencedAgain(t testing.TB, changes []events.Change) {
	t.Helper()
	var objects []*pb.BatchObject
	for n := range changes {
		s := stored{change: changes[n], session: i.session}
		o, err := s.object(i.class)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	if err := i.client.writeAll(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}

// TestRewritingRepairs is F5: Weaviate and the writer end between a batch and its
// fence, then what is not acknowledged comes again, to a new writer.
func TestRewritingRepairs(t *testing.T) {
	s := server(t)
	c := client(t, s, aliasName())
	first, m := open(t, c, model("m")), newMaker(model("m"), 3)
	tools := m.tools(60)
	apply(t, first, 1, tools[:20]...)
	first.unfenced(t, tools[20:])
	crash(t, s)
	if missing := first.invisible(t, tools[20:]); len(missing) == 0 {
		t.Fatal("nothing is missing: the test shows nothing")
	}
	again := open(t, c, model("m"))
	if got := again.Positions()[0]; got != 1 {
		t.Fatalf("positions %d", got)
	}
	// A newer version comes with the very vectors that were lost.
	newer := tools[30]
	newer.Revision = 1000
	tools[30] = newer
	apply(t, again, 2, tools[20:]...)
	crash(t, s)
	if missing := again.invisible(t, tools); len(missing) > 0 {
		t.Fatalf("a search does not find %d vectors: %v", len(missing), missing)
	}
	for n := range tools {
		wantStored(t, again, tools[n])
	}
}

// wantStored compares what is stored of an entity with the change it came in.
func wantStored(t testing.TB, i *Index, want events.Change) {
	t.Helper()
	got, there, err := i.Get(t.Context(), want.Ref)
	if err != nil || !there {
		t.Fatalf("%s: there %v, %v", want.ID, there, err)
	}
	want.Raw, want.Event = nil, nil
	a, b := encoded(t, got), encoded(t, want)
	if a != b {
		t.Fatalf("stored\n%s\nwant\n%s", a, b)
	}
}

// encoded returns a change as JSON, which holds vectors bit for bit.
func encoded(t testing.TB, c events.Change) string {
	t.Helper()
	raw, err := events.EncodeChange(&c)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
