package sources

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// trial tests a declaration and returns what would change, as JSON.
func (p *fixture) trial(name string, spec source.Spec) string {
	p.t.Helper()
	t, err := p.s.testSpec(p.t.Context(), id{home, name}, spec)
	if err != nil {
		return err.Error()
	}
	text := check.Value(json.Marshal(t.Changes))(p.t)
	return string(text)
}

// What a test says is what comes of the declaration, and nothing of it is kept.
func TestATestForeseesWhatALookChanges(t *testing.T) {
	mcp := newShop("one", "two", "three", "four", "five")
	run(t, Config{}, map[string]*shop{"mcp": mcp}, func(p *fixture) {
		t := p.t
		p.pass(time.Second)
		spec := source.Spec{Kind: "mcp", URL: "https://mcp.example/mcp"}
		if got, want := p.trial("shop", spec), `{"added":["shop/five","shop/four","shop/one","shop/three","shop/two"],"changed":[],"removed":[]}`; got != want {
			t.Errorf("of a new source: %s", got)
		}
		if n := p.published(); n != 0 {
			t.Errorf("%d records are published by a test", n)
		}
		p.put("shop", "mcp")
		p.want("shop", Polling, 5)
		if got, want := p.trial("shop", spec), `{"added":[],"changed":[],"removed":[]}`; got != want {
			t.Errorf("of one that is as it was: %s", got)
		}
		before := p.published()
		mcp.set("one", "two", "three", "six")
		mcp.with(func(s *shop) {
			s.tools["two"] = "Does more."
			s.extra = []source.Document{{Name: "four", Tool: true, Problem: "it cannot be read"}}
		})
		const want = `{"added":["shop/six"],"changed":["shop/two"],"removed":["shop/five"]}`
		if got := p.trial("shop", spec); got != want {
			t.Errorf("of one that has changed: %s, want %s", got, want)
		}
		if got, err := p.s.test(t.Context(), id{home, "shop"}); err != nil || *got.Changed != (Changed{1, 1, 1}) || !slices.Equal(got.Changes.Removed, []string{"shop/five"}) {
			t.Errorf("of what is declared: %+v, %v", got, err)
		}
		keeps := spec
		if keeps.Deletes = source.Never; p.trial("shop", keeps) != `{"added":["shop/six"],"changed":["shop/two"],"removed":[]}` {
			t.Errorf("of one that keeps its tools: %s", p.trial("shop", keeps))
		}
		if p.published() != before {
			t.Error("a test has published something")
		}
		p.ok(p.s.ask(t.Context(), id{home, "shop"}))
		p.pass(10 * time.Second)
		src := p.want("shop", Polling, 5)
		if text, _ := json.Marshal(src.LastChanges); string(text) != want || src.Changed != (Changed{1, 1, 1}) {
			t.Errorf("the look came to %s, %+v", text, src.Changed)
		}
		if _, answer := p.call(home, "GET", "/v1/sources/shop", ""); answer["last_changes"] == nil {
			t.Errorf("shown is %v", answer)
		}
		if _, answer := p.call(home, "GET", "/v1/sources", ""); answer["sources"].([]any)[0].(map[string]any)["last_changes"] != nil {
			t.Errorf("listed is %v", answer)
		}
		p.stop()
		p.start(nil)
		p.pass(10 * time.Second)
		if text, _ := json.Marshal(p.want("shop", Polling, 5).LastChanges); string(text) != want {
			t.Errorf("after a restart: %s", text)
		}
	})
}

func TestATestNamesTheFirstAlone(t *testing.T) {
	run(t, Config{}, map[string]*shop{"mcp": newShop(toolNames(30)...)}, func(p *fixture) {
		t := p.t
		p.pass(time.Second)
		got, err := p.s.testSpec(t.Context(), id{home, "shop"}, source.Spec{Kind: "mcp", URL: "https://shop.example/mcp"})
		if err != nil || got.Changed.Added != 30 || len(got.Changes.Added) != 20 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// What would be refused when it is accepted is a problem of the test, too.
func TestATestSaysWhatWouldBeRefused(t *testing.T) {
	mcp := newShop("one", "two")
	run(t, Config{}, map[string]*shop{"mcp": mcp}, func(p *fixture) {
		t := p.t
		p.pass(time.Second)
		taken := formats.Item{ID: "shop/one", Name: "one", Provider: "another", Kind: schema.KindTool, Format: "mcp", Raw: []byte(`{"name":"one"}`), Hash: "x"}
		check.Value(p.index.Accept(t.Context(), home, []formats.Item{taken}, ingest.Options{}))(t)
		got, err := p.s.testSpec(t.Context(), id{home, "shop"}, source.Spec{Kind: "mcp", URL: "https://shop.example/mcp"})
		if err != nil || got.Changed.Added != 1 || len(got.Problems) != 1 || got.Problems[0][:9] != "shop/one:" {
			t.Errorf("%+v, %v", got, err)
		}
		mcp.with(func(s *shop) { s.closed = errors.New("nobody is there") })
		if says := p.trial("shop", source.Spec{Kind: "mcp", URL: "https://shop.example/mcp"}); says != "nobody is there" {
			t.Error(says)
		}
	})
}

// Sources that a registry names come and go with it.
func TestATestForeseesTheSourcesThatAreNamed(t *testing.T) {
	registry := newShop()
	registry.name("a", "b", "c")
	run(t, Config{}, map[string]*shop{"mcp-registry": registry, "mcp": newShop("one")}, func(p *fixture) {
		t := p.t
		p.pass(time.Second)
		spec := source.Spec{Kind: "mcp-registry", URL: "https://mcp-registry.example/mcp"}
		if got, want := p.trial("all", spec), `{"added":["all.a","all.b","all.c"],"changed":[],"removed":[]}`; got != want {
			t.Errorf("of a new one: %s", got)
		}
		p.put("all", "mcp-registry")
		p.pass(30 * time.Second)
		registry.name("a", "b", "d")
		if got, want := p.trial("all", spec), `{"added":["all.d"],"changed":[],"removed":["all.c"]}`; got != want {
			t.Errorf("of one that has changed: %s", got)
		}
		spec.Deny = []string{"a"}
		spec.Every = source.Duration(time.Minute)
		if got, want := p.trial("all", spec), `{"added":["all.d"],"changed":["all.b"],"removed":["all.a","all.c"]}`; got != want {
			t.Errorf("of another declaration: %s", got)
		}
		if code, answer := p.call(home, "GET", "/v1/sources", ""); code != 200 || len(answer["sources"].([]any)) != 4 {
			t.Errorf("%d %v", code, answer)
		}
	})
}
