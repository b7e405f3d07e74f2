package query

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// fakeRewriter answers after a while, or not at all.
type fakeRewriter struct {
	answer rewriting.Rewritten
	err    error
	takes  time.Duration
	hangs  bool
	failed map[string][]rewriting.Failed

	mu    sync.Mutex
	asked []rewriting.Query
}

func (f *fakeRewriter) Rewrite(ctx context.Context, q rewriting.Query) (rewriting.Rewritten, error) {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.mu.Unlock()
	var answer <-chan time.Time
	if !f.hangs {
		answer = time.After(f.takes)
	}
	select {
	case <-answer:
		return f.answer, f.err
	case <-ctx.Done():
		return rewriting.Rewritten{}, ctx.Err()
	}
}

func (f *fakeRewriter) Failed(tenant string) []rewriting.Failed { return f.failed[tenant] }

// sampleRewrite is what the fake makes of every query, unless a test says otherwise.
func sampleRewrite() rewriting.Rewritten {
	return rewriting.Rewritten{
		Needs:     []schema.Need{{UserIntent: "know the weather", ToolDescription: "Tells the weather.", ExpectedResponse: "A forecast."}},
		Arguments: map[string]string{"city": "the name of a city"},
	}
}

// rewrites gives the service a rewriter.
func (b *bench) rewrites(t *testing.T, cfg Config, r *fakeRewriter) {
	t.Helper()
	b.rewriter = r
	b.build(t, cfg)
}

func TestARewrittenQueryIsSearchedWithItsNeeds(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	r := &fakeRewriter{answer: sampleRewrite()}
	b.rewrites(t, Config{}, r)
	req := schema.SearchRequest{
		Query: "will it rain, and where", K: 7,
		Filters: schema.Filters{Providers: []string{"x"}, Tags: []string{"y"}, Kinds: []schema.Kind{schema.KindTool}},
	}
	if got := b.search(t, req); got.Rewrite != schema.RewriteLLM || got.Searched != nil {
		t.Errorf("rewrite %q, searched for %+v", got.Rewrite, got.Searched)
	}
	l := b.index.last()
	p := l.Probe
	if p.Query.Words != req.Query || len(p.Needs) != 1 || p.Needs[0].Examples.Words != "know the weather" || p.Needs[0].Response.Words != "A forecast." ||
		len(p.Arguments) != 1 || p.Arguments[0].Name != "city" || p.Arguments[0].Text.Words != "city: the name of a city" {
		t.Errorf("searched for %+v", p)
	}
	if !reflect.DeepEqual(l.Filters, req.Filters) || l.N != 7*2+100 || l.Tenant != testTenant {
		t.Errorf("the request's own are %+v, %d, %s", l.Filters, l.N, l.Tenant)
	}
	want := rewriting.Query{Tenant: testTenant, Text: req.Query, Filters: schema.Filters{Providers: []string{"x"}, Tags: []string{"y"}}}
	if !reflect.DeepEqual(r.asked, []rewriting.Query{want}) {
		t.Errorf("asked %+v", r.asked)
	}
	r.answer.Cached = true
	if got := b.search(t, req); got.Rewrite != schema.RewriteCache {
		t.Errorf("rewrite %q of a known one", got.Rewrite)
	}
	req.Explain = true
	if got := b.search(t, req).Searched; !reflect.DeepEqual(got.Needs, r.answer.Needs) || !reflect.DeepEqual(got.Arguments, r.answer.Arguments) {
		t.Errorf("explained as %+v", got)
	}
	r.answer.Arguments = nil
	if got := b.search(t, req).Searched; got.Arguments == nil || len(got.Arguments) != 0 {
		t.Errorf("explained as %+v", got)
	}
	if got := b.index.last().Probe.Arguments; len(got) != 0 {
		t.Errorf("no argument was found, and %+v are searched for", got)
	}
}

func TestSearchesThatAreNotRewritten(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	r := &fakeRewriter{answer: sampleRewrite()}
	b.rewrites(t, Config{}, r)
	for name, c := range map[string]struct {
		req  schema.SearchRequest
		want schema.Rewrite
	}{
		"switched off":    {schema.SearchRequest{Rewrite: schema.RewriteOff}, schema.RewriteOff},
		"given needs":     {schema.SearchRequest{Needs: []schema.Need{{UserIntent: "x"}}}, schema.RewriteGiven},
		"given arguments": {schema.SearchRequest{Arguments: map[string]string{"a": "b"}}, schema.RewriteGiven},
	} {
		if got := b.search(t, c.req); got.Rewrite != c.want {
			t.Errorf("%s: %q, want %q", name, got.Rewrite, c.want)
		}
	}
	model := builtin()
	check.Value(b.Retrieve(t.Context(), testTenant, schema.SearchRequest{Query: "q"}, &model, 5))(t)
	if len(r.asked) != 0 {
		t.Errorf("asked %+v", r.asked)
	}
	if got := b.metric(t, "toolstream_search_rewrites_total"); got != 3 {
		t.Errorf("%v searches are counted", got)
	}
}

func TestAFailedRewriteLeavesTheQueryAsItIs(t *testing.T) {
	const text = "book a ferry to the island, and find me a hotel there"
	b := newBench(t, tool("a", "", 1))
	off := b.search(t, schema.SearchRequest{Query: text})
	plain := b.index.last().Probe
	b.rewrites(t, Config{}, &fakeRewriter{err: errors.New("no")})
	got := b.search(t, schema.SearchRequest{Query: text})
	if off.Rewrite != schema.RewriteOff || got.Rewrite != schema.RewriteFallback || len(got.Degraded) != 0 {
		t.Errorf("rewrite %q, then %q without %q", off.Rewrite, got.Rewrite, got.Degraded)
	}
	if fallback := b.index.last().Probe; !reflect.DeepEqual(fallback, plain) || len(plain.Needs) != 2 || len(plain.Arguments) != 0 {
		t.Errorf("searched for %+v, without a rewriter for %+v", fallback, plain)
	}
}

func TestHowLongASearchWaitsForItsRewriting(t *testing.T) {
	const indexTakes = 100 * time.Millisecond
	for name, c := range map[string]struct {
		rewriter *fakeRewriter
		cfg      Config
		patience time.Duration // of the caller
		want     schema.Rewrite
		took     time.Duration
	}{
		"in time":                 {rewriter: &fakeRewriter{takes: time.Second}, want: schema.RewriteLLM, took: time.Second + indexTakes},
		"never":                   {rewriter: &fakeRewriter{hangs: true}, want: schema.RewriteFallback, took: 1500*time.Millisecond + indexTakes},
		"never, own budget":       {rewriter: &fakeRewriter{hangs: true}, cfg: Config{RewriteBudget: 300 * time.Millisecond}, want: schema.RewriteFallback, took: 300*time.Millisecond + indexTakes},
		"never, impatient caller": {rewriter: &fakeRewriter{hangs: true}, patience: time.Second, want: schema.RewriteFallback, took: 500*time.Millisecond + indexTakes},
		"fails":                   {rewriter: &fakeRewriter{err: errDown}, want: schema.RewriteFallback, took: indexTakes},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tool("a", "", 1))
				c.rewriter.answer = sampleRewrite()
				b.index.takes = indexTakes
				b.rewrites(t, c.cfg, c.rewriter)
				ctx := t.Context()
				if c.patience > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.patience)
					defer cancel()
				}
				began := time.Now()
				got, err := b.Search(ctx, testCaller, schema.SearchRequest{Query: "will it rain, and where"})
				if took := time.Since(began); err != nil || got.Rewrite != c.want || took != c.took || !slices.Equal(ids(got), []string{"a"}) {
					t.Errorf("%q after %s, %v; want %q after %s", got.Rewrite, took, err, c.want, c.took)
				}
				better := slices.ContainsFunc(b.index.lookups, func(l index.Lookup) bool { return l.Probe.Needs[0].Description.Words == "Tells the weather." })
				if better != (c.want == schema.RewriteLLM) {
					t.Errorf("searched for the needs of the rewriter: %v", better)
				}
			})
		})
	}
}

func TestFailedRewritesOverHTTP(t *testing.T) {
	b := newBench(t)
	list := func() (out struct{ Failed []rewriting.Failed }) {
		t.Helper()
		if status := b.call(t, http.MethodGet, "/v1/rewrites/failed", "", &out); status != http.StatusOK || out.Failed == nil {
			t.Fatalf("%d %+v", status, out)
		}
		return out
	}
	if got := list(); len(got.Failed) != 0 {
		t.Errorf("without a rewriter %+v", got)
	}
	b.rewrites(t, Config{}, &fakeRewriter{failed: map[string][]rewriting.Failed{
		testTenant: {{Query: "mine", Reason: "no need"}}, "other": {{Query: "theirs"}},
	}})
	if got := list(); len(got.Failed) != 1 || got.Failed[0].Query != "mine" {
		t.Errorf("%+v", got)
	}
}
