package query

import (
	"fmt"
	"math"
	"testing"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// An answer says why nothing in it fits, and names the better tools that it leaves out: no tool that
// grants hide, and no words of what is in quarantine or flagged.
func TestWhatAnAnswerLeavesOutIsNamed(t *testing.T) {
	best, good, bad := scoring("best", 30, 1, .9), scoring("good", 25, .9, .8), scoring("bad", 2, 0, 0)
	best.Provider, good.Provider, bad.Provider = "x", "y", "z"
	of := func(providers ...string) schema.Filters { return schema.Filters{Providers: providers} }
	flag := func(b *bench) {
		b.index.flags = map[string][]string{"best": {"loud"}}
		b.edit(best.Ref, func(d *schema.Document) { d.Flags = []string{"loud"} })
	}
	for name, c := range map[string]struct {
		set  func(*bench)
		req  schema.SearchRequest
		want string
	}{
		"everything":            {nil, schema.SearchRequest{}, "[best good bad] false  [] map[]"},
		"what is worse":         {nil, schema.SearchRequest{Filters: of("x")}, "[best] false  [] map[]"},
		"a filter":              {nil, schema.SearchRequest{Filters: of("z")}, "[bad] true filters [best filters good filters] map[filters:2]"},
		"a filter, empty":       {nil, schema.SearchRequest{Filters: of("none")}, "[] true filters [best filters good filters] map[filters:2]"},
		"a confidence":          {nil, schema.SearchRequest{MinConfidence: .999}, "[] true filters [best filters good filters] map[filters:2]"},
		"a server that is down": {nil, schema.SearchRequest{Connected: true}, "[good bad] false  [best server_down] map[server_down:1]"},
		"down, and filtered":    {nil, schema.SearchRequest{Connected: true, Filters: of("z")}, "[bad] true server_down [best server_down good filters] map[filters:1 server_down:1]"},
		"a flag":                {flag, schema.SearchRequest{Exclude: []string{"loud"}}, "[good bad] false  [] map[filters:1]"},
		"a flag, and down":      {flag, schema.SearchRequest{Exclude: []string{"loud"}, Connected: true}, "[good bad] false  [] map[server_down:1]"},
		"quarantine": {func(b *bench) {
			b.index.held = []string{"best", "good"}
			b.edit(best.Ref, func(d *schema.Document) { d.Quarantined = true })
			b.edit(good.Ref, func(d *schema.Document) { d.Quarantined = true })
		}, schema.SearchRequest{}, "[bad] true quarantine [] map[quarantine:2]"},
		"grants": {func(b *bench) {
			b.grants(t, "{effect: allow, action: find, on: 'provider:z', to: '*'}")
			b.build(t, Config{})
			b.index.found = b.index.found[2:] // as the index does
		}, schema.SearchRequest{}, "[bad] true none [] map[]"},
		"nothing":               {func(b *bench) { b.index.found = b.index.found[2:] }, schema.SearchRequest{}, "[bad] true none [] map[]"},
		"nothing, and a filter": {func(b *bench) { b.index.found = b.index.found[2:] }, schema.SearchRequest{Filters: of("none")}, "[] true filters [] map[]"},
	} {
		b := newBench(t, best, good, bad)
		if c.set != nil {
			c.set(b)
		}
		b.Connect(fakeConnections{but: "x"})
		resp := b.search(t, c.req)
		withheld := []string{}
		for _, w := range resp.Withheld {
			withheld = append(withheld, w.Name+" "+string(w.Reason))
			if w.Why == "" || w.Confidence < .15 {
				t.Errorf("%s: %+v", name, w)
			}
		}
		if got := fmt.Sprintf("%v %v %s %v %v", ids(resp), resp.NothingFits, resp.Reason, withheld, resp.WithheldBy); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A tool is as likely as it is without a filter.
func TestAFilterMakesNoToolLikelier(t *testing.T) {
	b := newBench(t, scoring("best", 30, 1, .9), scoring("good", 25, .9, .8))
	b.index.found[0].Provider, b.index.found[1].Provider = "x", "y"
	want := b.search(t, schema.SearchRequest{}).Results[1]
	got := b.search(t, schema.SearchRequest{Filters: schema.Filters{Providers: []string{"y"}}}).Results[0]
	if got.ID != want.ID || math.Abs(got.Confidence-want.Confidence) > 1e-9 {
		t.Errorf("%s with %v, without the filter %s with %v", got.ID, got.Confidence, want.ID, want.Confidence)
	}
}

// A tool is no result only because it is often used, or because another of its provider is.
func TestWhatSharesNothingWithTheQueryIsNoResult(t *testing.T) {
	used, related := tool("used", "a", 0), tool("related", "a", 0)
	used.Features[fusion.UsagePrior], related.Features[fusion.NeedsLexicalName] = 3, .1
	b := newBench(t, tool("other", "a", 0), used)
	if resp := b.search(t, schema.SearchRequest{}); len(resp.Results) > 0 || resp.Results == nil || resp.Reason != schema.ReasonNone {
		t.Errorf("%+v", resp)
	}
	b = newBench(t, used, related)
	if got := ids(b.search(t, schema.SearchRequest{})); len(got) != 1 || got[0] != "related" {
		t.Errorf("%v", got)
	}
}
