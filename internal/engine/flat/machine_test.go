package flat

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// machine drives an index and a map side by side.
type machine struct {
	t      *testing.T
	folder string
	index  *Index
	make   *maker
	offset uint64
	now    time.Time
	sent   []events.Change              // everything, to be sent again
	held   map[schema.Ref]events.Change // newest change of each entity, deletes included
}

// TestMachine compares an index with a naive model through puts, deletes,
// stale and repeated changes and restarts.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &machine{
			t: t, folder: mustTemp(t), make: newMaker(rapid.Uint64().Draw(r, "seed")), now: time.UnixMicro(1e9),
			held: map[schema.Ref]events.Change{},
		}
		defer os.RemoveAll(m.folder)
		m.open(r)
		defer func() { m.index.Close() }()
		r.Repeat(map[string]func(*rapid.T){
			"":       m.check,
			"batch":  m.batch,
			"repeat": m.repeat,
			"reopen": m.reopen,
			"search": m.search,
		})
	})
}

func mustTemp(t *testing.T) string {
	return check.Value(os.MkdirTemp(t.TempDir(), ""))(t)
}

func (m *machine) open(r *rapid.T) {
	var err error
	if m.index, err = Open(m.t.Context(), config(m.t, m.folder)); err != nil {
		r.Fatal(err)
	}
	unsynced(m.index)
}

func (m *machine) apply(r *rapid.T, changes ...events.Change) {
	m.offset++
	check.OK(r, m.index.Apply(m.t.Context(), changes, map[int]uint64{0: m.offset}))
	for _, c := range changes {
		old, known := m.held[c.Ref]
		if !known || c.Version.Newer(old.Version) {
			m.held[c.Ref] = c
		}
	}
}

// batch applies new changes, some of them older than others.
func (m *machine) batch(r *rapid.T) {
	var changes []events.Change
	for range rapid.IntRange(1, 120).Draw(r, "changes") {
		tenant := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "tenant")
		c := m.make.tool(tenant, fmt.Sprintf("t%d", rapid.IntRange(0, 400).Draw(r, "id")))
		if rapid.IntRange(0, 9).Draw(r, "kind") == 0 {
			c.Kind = schema.KindProvider
		}
		if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
			c = m.make.remove(c.Ref)
		}
		c.Accepted = m.now
		if back := rapid.Uint64Range(0, 60).Draw(r, "back"); back < c.Revision && back > 40 {
			c.Revision -= back - 40
		}
		changes = append(changes, c)
	}
	m.sent = append(m.sent, changes...)
	m.apply(r, changes...)
}

// repeat sends old changes again.
func (m *machine) repeat(r *rapid.T) {
	if len(m.sent) == 0 {
		r.Skip("nothing was sent")
	}
	n := rapid.IntRange(1, len(m.sent)).Draw(r, "from the end")
	m.apply(r, m.sent[len(m.sent)-n:]...)
}

// reopen closes the index and opens it.
func (m *machine) reopen(r *rapid.T) {
	check.OK(r, m.index.Close())
	m.open(r)
}

// check compares what the catalogue says.
func (m *machine) check(r *rapid.T) {
	if got := m.index.Positions()[0]; got != m.offset {
		r.Fatalf("position %d, want %d", got, m.offset)
	}
	count := map[string]Stats{}
	for ref, c := range m.held {
		v, deleted, known := m.index.Version(ref)
		if v != c.Version || deleted != (c.Op == events.OpDelete) || !known {
			r.Fatalf("%v: version %v, deleted %v, known %v, want %v %s", ref, v, deleted, known, c.Version, c.Op)
		}
		s := count[ref.Tenant]
		switch {
		case deleted:
		case ref.Kind == schema.KindTool:
			s.Tools++
		default:
			s.Providers++
		}
		count[ref.Tenant] = s
	}
	all := map[schema.Ref]bool{}
	for ref := range m.index.All() {
		if _, held := m.held[ref]; !held || all[ref] {
			r.Fatalf("%v is listed and should not be, or twice", ref)
		}
		all[ref] = true
	}
	if len(all) != len(m.held) {
		r.Fatalf("%d entities are listed, want %d", len(all), len(m.held))
	}
	for tenant, s := range m.index.Stats() {
		if s.Tools != count[tenant].Tools || s.Providers != count[tenant].Providers {
			r.Fatalf("%s: %+v, want %+v", tenant, s, count[tenant])
		}
	}
}

// search compares a search with the exact scores of everything.
func (m *machine) search(r *rapid.T) {
	tenant := rapid.SampledFrom([]string{"a", "b", "nobody"}).Draw(r, "tenant")
	l := index.Lookup{
		Tenant: tenant, Probe: m.make.probe(), Model: adaptertest.Weights(),
		N: rapid.SampledFrom([]int{1, 10, 1000}).Draw(r, "n"),
	}
	if rapid.Bool().Draw(r, "filter") {
		l.Filters.Providers = []string{"provider1", "provider2", "provider3"}
	}
	if rapid.Bool().Draw(r, "tools only") {
		l.Kinds = []schema.Kind{schema.KindTool}
	}
	found := check.Value(m.index.Candidates(m.t.Context(), l))(r)
	want := m.expected(&l)
	if len(found) != min(l.N, len(want)) {
		r.Fatalf("%d candidates, want %d of %d", len(found), l.N, len(want))
	}
	for _, c := range found {
		exact, ok := want[c.Ref]
		if !ok {
			r.Fatalf("%v is found and should not be", c.Ref)
		}
		for f := range fusion.UsagePrior {
			lexical := f < fusion.QueryDenseName || f >= fusion.NeedsLexicalFlat && f < fusion.NeedsDenseName
			if !lexical && math.Abs(c.Features[f]-exact.Features[f]) > 1e-6 {
				r.Fatalf("%v: %s is %v, want %v", c.Ref, f, c.Features[f], exact.Features[f])
			}
		}
	}
	if t := m.index.tenants.find(tenant); t != nil {
		m.wantBest(r, t, &l)
	}
}

// expected returns the exact dense scores of what the filters allow.
func (m *machine) expected(l *index.Lookup) map[schema.Ref]index.Scores {
	out := map[schema.Ref]index.Scores{}
	for ref, c := range m.held {
		owner := c.Provider
		if ref.Kind == schema.KindProvider {
			owner = ref.ID
		}
		if c.Op == events.OpDelete || ref.Tenant != l.Tenant ||
			len(l.Filters.Providers) > 0 && !slices.Contains(l.Filters.Providers, owner) ||
			len(l.Kinds) > 0 && !slices.Contains(l.Kinds, ref.Kind) {
			continue
		}
		e := index.Entry{Vectors: c.Vectors}
		for _, p := range c.Document.Parameters {
			e.Required = append(e.Required, p.Required)
		}
		out[ref] = index.Score(&l.Probe, e)
	}
	return out
}

// wantBest asks for N and for everything, and expects the first N of it, known ones before others. Maintenance changes
// lexical scores, so it asks again if the tenant has another snapshot afterwards.
func (m *machine) wantBest(r *rapid.T, t *tenant, l *index.Lookup) {
	all := *l
	all.N = 10_000
	var found, every []index.Candidate
	for at := (*snapshot)(nil); at != t.now.Load(); {
		at = t.now.Load()
		found = check.Value(m.index.Candidates(m.t.Context(), *l))(r)
		every = check.Value(m.index.Candidates(m.t.Context(), all))(r)
	}
	refs := func(cs []index.Candidate) (out []schema.Ref) {
		for _, c := range cs {
			out = append(out, c.Ref)
		}
		return out
	}
	best := make([]*scored, len(every))
	for i := range every {
		best[i] = &scored{Candidate: every[i], score: l.Model.Linear(&every[i].Features)}
	}
	slices.SortStableFunc(best, func(a, b *scored) int { return b.known() - a.known() })
	slices.SortStableFunc(best[:len(found)], byScore)
	chosen := make([]index.Candidate, len(found))
	for i := range chosen {
		chosen[i] = best[i].Candidate
	}
	if got, want := refs(found), refs(chosen); !slices.Equal(got, want) {
		r.Fatalf("best %v, want %v", got, want)
	}
	score := func(c index.Candidate) float64 { return l.Model.Linear(&c.Features) }
	for i := 1; i < len(every); i++ {
		if score(every[i]) > score(every[i-1]) {
			r.Fatalf("%v stands before %v", every[i-1].Ref, every[i].Ref)
		}
	}
}
