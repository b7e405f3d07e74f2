package weaviate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

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
	l := index.Lookup{Tenant: tool.Tenant, N: 10, Model: adaptertest.Weights()}
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
	found := check.Value(s.Candidates(t.Context(), l))(t)
	return ids(found)
}

// A search in Weaviate, over a replica without vectors, finds what an index with
// vectors finds.
func TestSearchAgreesWithAnIndex(t *testing.T) {
	c := client(t, server(t), aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 6)
	full := local(t, filepath.Join(t.TempDir(), "full"), false)
	words := replica(t, filepath.Join(t.TempDir(), "replica"))
	tools := m.tools(600)
	for n := range tools {
		if n%9 == 0 {
			tools[n].Kind, tools[n].Provider = schema.KindProvider, ""
		}
	}
	apply(t, i, tools...)
	check.OK(t, errors.Join(full.Apply(t.Context(), tools, nil), words.Apply(t.Context(), tools, nil)))
	search := searchOver(t, c, words)
	positions, off := 0, 0
	for n := range 40 {
		l := m.question(tools[n*7])
		if n%4 == 0 {
			l.Kinds = []schema.Kind{schema.KindTool}
		}
		want, got := candidates(t, full, l), candidates(t, search, l)
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

// A search that meets the first write of its tenant does not go without Weaviate.
func TestSearchDuringTheFirstWriteOfATenant(t *testing.T) {
	c := client(t, server(t), aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 11)
	local := replica(t, filepath.Join(t.TempDir(), "replica"))
	search := searchOver(t, c, local)
	for n := range 20 {
		tool := m.tool("first")
		tool.Tenant = fmt.Sprint("tenant-", n)
		check.OK(t, local.Apply(t.Context(), []events.Change{tool}, nil))
		l := m.question(tool)
		written := make(chan error, 1)
		go func() { written <- i.Apply(t.Context(), []events.Change{tool}) }()
		for done := false; !done; {
			select {
			case err := <-written:
				check.OK(t, err)
				done = true
			default:
			}
			if _, err := search.Candidates(t.Context(), l); err != nil {
				t.Fatalf("tenant %d: %v", n, err)
			}
		}
	}
}

func TestSearchesWithoutWeaviate(t *testing.T) {
	m := newMaker(model("m"), 10)
	local := replica(t, filepath.Join(t.TempDir(), "replica"))
	tools := m.tools(300)
	check.OK(t, local.Apply(t.Context(), tools, nil))
	c := check.Value(New(Config{URL: "http://127.0.0.1:1", GRPC: "127.0.0.1:1"}))(t)
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

// words is a replica that finds nothing.
type words struct{ Replica }

func (words) Candidates(context.Context, index.Lookup) ([]index.Candidate, error) { return nil, nil }

func (words) ScoreCandidates(context.Context, index.Lookup, vectorsOf) ([]index.Candidate, error) {
	return nil, nil
}

// While Weaviate hangs, a search with a short deadline is answered by the replica in
// time, and the next ones do not wait. After the pause one search alone tries again.
func TestSearchesWhileWeaviateHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause = time.Minute
		asked, released, discard := 0, make(chan struct{}), slog.New(slog.DiscardHandler)
		s := &Search{patience: pause, replica: words{}, breaker: newBreaker(pause, discard), log: discard}
		s.propose = func(ctx context.Context, _ *index.Lookup) (vectorsOf, error) {
			asked++
			select {
			case <-released:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		search := func(wait time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			_, err := s.Candidates(ctx, index.Lookup{N: 10})
			return err
		}
		partial := new(*index.Partial)
		for range 2 {
			if err := search(time.Second); !errors.As(err, partial) || asked != 1 {
				t.Fatalf("asked %d times: %v", asked, err)
			}
		}
		time.Sleep(2 * pause)
		probe := make(chan error)
		go func() { probe <- search(time.Hour) }()
		synctest.Wait()
		if err := search(time.Second); !errors.As(err, partial) || asked != 2 {
			t.Errorf("beside the probe: asked %d times: %v", asked, err)
		}
		close(released)
		if err := errors.Join(<-probe, search(time.Second)); err != nil || asked != 3 {
			t.Errorf("after Weaviate came back: asked %d times: %v", asked, err)
		}
	})
}

// TestSearchComesBack ends Weaviate under a search and starts it again.
func TestSearchComesBack(t *testing.T) {
	s := servertest.Start(t, servers.WeaviateName)
	c := client(t, s, aliasName())
	i, m := open(t, c, model("m")), newMaker(model("m"), 12)
	local := replica(t, filepath.Join(t.TempDir(), "replica"))
	tools := m.tools(300)
	apply(t, i, tools...)
	check.OK(t, local.Apply(t.Context(), tools, nil))
	search, l := searchOver(t, c, local), m.question(tools[5])
	want := candidates(t, search, l)
	s.Kill()
	found, err := search.Candidates(t.Context(), l)
	if partial := (*index.Partial)(nil); !errors.As(err, &partial) || len(found) == 0 {
		t.Errorf("while Weaviate is away %v, %v", ids(found), err)
	}
	check.OK(t, s.Restart(context.WithoutCancel(t.Context())))
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

// A model has a class of its own. While a model changes, replicas search by the old one
// and by the new one side by side, wherever the alias leads, and a tenant sees its own
// entities alone.
func TestProposalsAreOfModelAndTenant(t *testing.T) {
	c := client(t, server(t), aliasName())
	for id, name := range map[string]string{"a": "first", "b": "second"} {
		i, m := open(t, c, model(name)), newMaker(model(name), 9)
		tool := m.tool(id)
		apply(t, i, tool)
		local := replica(t, filepath.Join(t.TempDir(), name))
		check.OK(t, local.Apply(t.Context(), []events.Change{tool}, nil))
		search, l := searchOver(t, c, local), m.question(tool)
		for tenant, want := range map[string][]schema.Ref{someTenant: {tool.Ref}, "other": nil} {
			l.Tenant = tenant
			proposed, err := search.proposals(t.Context(), model(name), &l)
			proposed = slices.DeleteFunc(proposed, func(r schema.Ref) bool { return r.Kind == kindAnchor })
			if err != nil || !slices.Equal(proposed, want) {
				t.Errorf("%s for %s: proposed %v, %v, want %v", name, tenant, proposed, err, want)
			}
		}
	}
}

// A search that wants very much asks for no more than Weaviate gives: a refusal would
// count as an outage.
func TestProposalsAreBounded(t *testing.T) {
	s := &Search{least: 100}
	for n, want := range map[int]uint32{10: 100, 1_000: 500, 24_800: maxProposals} {
		if got := s.limit(&index.Lookup{N: n}); got != want {
			t.Errorf("of %d wanted %d are asked for, want %d", n, got, want)
		}
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
		if got := check.Value(ask(&l, dimensions))(t); len(got) != tt.want {
			t.Errorf("%s: %d questions, want %d", name, len(got), tt.want)
		}
	}
}

// However many grants a caller has, Weaviate is told of few names, and where it is not told
// all it is asked for more.
func TestAScopeOfManyNamesIsBounded(t *testing.T) {
	for _, effect := range []policy.Effect{policy.Allow, policy.Deny} {
		grants := []policy.Grant{{Effect: policy.Allow, Action: policy.Find, On: "*", To: "subject:ann"}}
		for n := range mostAllowed + 1 {
			grants = append(grants, policy.Grant{Effect: effect, Action: policy.Find, On: fmt.Sprint("tool:t", n), To: "*"})
		}
		p := check.Value(policy.New("1", grants))(t)
		s := &Search{least: 50}
		few := index.Lookup{N: 10, Scope: (&policy.Policy{Grants: grants[1:3]}).Scope(identity.Caller{Role: identity.Reader}, policy.Find)}
		many := index.Lookup{N: 10, Scope: p.Scope(identity.Caller{Subject: map[policy.Effect]string{policy.Deny: "ann"}[effect], Role: identity.Reader}, policy.Find)}
		if got := len(inScope(many.Scope)); got > 0 {
			t.Errorf("%s: %d filters of %d names", effect, got, len(grants))
		}
		if len(inScope(few.Scope)) == 0 || s.limit(&many) <= s.limit(&few) {
			t.Errorf("%s: %d proposals of many, %d of few", effect, s.limit(&many), s.limit(&few))
		}
	}
}
