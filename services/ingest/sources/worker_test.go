package sources

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

func TestTheIndexFollowsASource(t *testing.T) {
	a := newShop("one", "two", "three")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		src := p.want("shop", Polling, 3)
		p.wantIndexed("shop/one shop/three shop/two")
		if src.Changed != (Changed{Added: 3}) || src.LastChange.IsZero() {
			p.t.Errorf("%+v", src.Changed)
		}
		before := p.published()
		p.pass(12 * time.Minute)
		if n := p.published(); n != before {
			p.t.Errorf("%d changes were published of a source that has none", n-before)
		}
		a.with(func(s *shop) {
			s.tools["two"] = "Does it anew."
			s.tools["four"] = "Does four."
			delete(s.tools, "one")
		})
		p.pass(6 * time.Minute)
		if src = p.want("shop", Polling, 3); src.Changed != (Changed{1, 1, 1}) {
			p.t.Errorf("%+v", src.Changed)
		}
		p.wantIndexed("shop/four shop/three shop/two")
		if n := p.published() - before; n != 3 {
			p.t.Errorf("%d changes were published, want 3", n)
		}
	})
}

func TestASourceThatSpeaksUpIsHeardAtOnce(t *testing.T) {
	a := newShop("one")
	a.live = true
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		p.want("shop", Live, 1)
		p.pass(time.Minute)
		a.set("one", "two")
		for range 50 {
			a.tell()
		}
		p.pass(200 * time.Millisecond)
		p.want("shop", Live, 2)
		for range 100 { // it keeps saying so
			a.tell()
			p.pass(50 * time.Millisecond)
		}
		if a.lists > 10 {
			p.t.Errorf("it was listed %d times", a.lists)
		}
	})
}

func TestTheTimeBetweenLooksIsTheSourcesOrTheUsers(t *testing.T) {
	a, b := newShop("one"), newShop("one")
	a.fresh, b.fresh = 10*time.Minute, 10*time.Minute
	run(t, Config{}, map[string]*shop{"mcp": a, "openapi": b}, func(p *fixture) {
		p.put("a", "mcp")
		p.put("b", "openapi", func(s *source.Spec) { s.Every = source.Duration(time.Minute) })
		p.pass(55 * time.Minute)
		if a.lists < 5 || a.lists > 7 || b.lists < 50 || b.lists > 62 {
			p.t.Errorf("%d and %d looks in 55 minutes", a.lists, b.lists)
		}
	})
}

// Whatever a source does but list other tools, what it had stays.
func TestAFailureCostsNoTools(t *testing.T) {
	a := newShop("one", "two")
	t.Setenv("SOURCE_TOKEN", "s3cret")
	credentials := map[string]outbound.Credential{"own": {Kind: outbound.Bearer, Hosts: []string{"mcp.example"}, Env: "SOURCE_TOKEN"}}
	run(t, Config{Timeout: 10 * time.Second, Permit: source.Permit{Credentials: credentials}}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp", func(s *source.Spec) { s.Auth = &source.Auth{Credential: "own"} })
		for _, tc := range []struct {
			name  string
			fails func(*shop)
			state State
			says  string
		}{
			{"an error of the list", func(s *shop) { s.fails = errors.New("broken") }, Stale, "broken"},
			{"no connection", func(s *shop) { s.closed, s.fails = errors.New("no route"), errors.New("lost") }, Stale, "no route"},
			{"no answer", func(s *shop) { s.hang = true }, Stale, "in time"},
			{"a credential", func(s *shop) { s.closed, s.fails = source.ErrAuth, source.ErrAuth }, AuthNeeded, "credential"},
			{"an address", func(s *shop) { s.closed, s.fails = fmt.Errorf("dial: %w", outbound.ErrAddress), errors.New("lost") }, Refused, "not public"},
			{"a private list", func(s *shop) { s.private = true }, Refused, "private"},
			{"too many tools", func(s *shop) { s.extra = make([]source.Document, 20_001) }, Stale, "more tools"},
		} {
			a.with(tc.fails)
			p.pass(30 * time.Minute)
			src := p.want("shop", tc.state, 2)
			if !strings.Contains(src.LastError, tc.says) || src.Next.IsZero() || src.LastSuccess.IsZero() {
				p.t.Errorf("%s: %+v", tc.name, src.Status)
			}
			if src.State == Stale && !src.Since.Equal(src.LastSuccess) {
				p.t.Errorf("%s: stale since %v, last seen %v", tc.name, src.Since, src.LastSuccess)
			}
			p.wantIndexed("shop/one shop/two")
			a.with(func(s *shop) { s.fails, s.closed, s.hang, s.private, s.extra = nil, nil, false, false, nil })
			p.pass(15 * time.Minute)
			if src = p.want("shop", Polling, 2); src.LastError != "" {
				p.t.Errorf("%s, and then it works: %+v", tc.name, src.Status)
			}
		}
	})
}

// What is over the limit of the tenant is named and not taken, costs no other tool, and is
// taken once there is room.
func TestASourceIsTakenAsFarAsItsTenantMayHaveTools(t *testing.T) {
	a, b := newShop("one", "two"), newShop("one")
	runAt(t, ingest.Config{Tools: quota.Quota{"": 5}}, Config{}, map[string]*shop{"mcp": a, "openapi": b}, func(p *fixture) {
		p.put("other", "openapi")
		p.put("shop", "mcp") // the provider of each counts
		src := p.want("shop", Polling, 2)
		if len(src.Problems) > 0 {
			p.t.Errorf("%q", src.Problems)
		}
		a.with(func(s *shop) {
			s.tools["one"] = "Does it anew."
			s.tools["three"], s.tools["four"] = "Does three.", "Does four."
		})
		p.pass(6 * time.Minute)
		src = p.want("shop", Polling, 2)
		if src.LastError != "" || len(src.Problems) != 1 || !strings.HasPrefix(src.Problems[0], "2 tools are not taken: ") || !strings.Contains(src.Problems[0], "limits.tools") {
			p.t.Errorf("%s %q", src.LastError, src.Problems)
		}
		if src.Changed != (Changed{Changed: 1}) {
			p.t.Errorf("%+v", src.Changed)
		}
		p.wantIndexed("other/one shop/one shop/two")

		a.with(func(s *shop) { delete(s.tools, "two") }) // another one has its place at the next look
		p.pass(6 * time.Minute)
		p.want("shop", Polling, 2)
		p.ok(p.s.remove(p.t.Context(), id{home, "other"}, false))
		p.pass(6 * time.Minute)
		if src = p.want("shop", Polling, 3); len(src.Problems) > 0 {
			p.t.Errorf("%q", src.Problems)
		}
		p.wantIndexed("shop/four shop/one shop/three")
	})
}

func TestATenantHasAsManySourcesAsItMayHave(t *testing.T) {
	declared := map[string]map[string]source.Spec{home: {"fixed": {Kind: "openapi", URL: "https://fixed.example"}}}
	r := newShop()
	r.name("a", "b", "c")
	shops := map[string]*shop{"mcp": newShop("one"), "openapi": newShop("one"), registry: r}
	run(t, Config{Declared: declared, Most: quota.Quota{"": 3, "big": 0}}, shops, func(p *fixture) {
		p.pass(time.Second)
		add := func(owner, name string) (int, string) {
			code, answer := p.call(owner, "PUT", "/v1/sources/"+name, `{"kind":"mcp","url":"https://`+name+`.example/mcp"}`)
			p.pass(time.Second)
			return code, fmt.Sprint(answer)
		}
		p.put("r", registry) // which may name one
		src, err := p.s.dir.get(p.t.Context(), id{home, "r"})
		if err != nil || src.Found != 1 || len(src.Problems) != 1 || !strings.Contains(src.Problems[0], "b and 1 others: ") || !strings.Contains(src.Problems[0], "limits.sources") {
			p.t.Errorf("%+v, %v", src.Status, err)
		}
		if code, says := add(home, "x"); code != 409 || !strings.Contains(says, "limits.sources") {
			p.t.Errorf("one more: %d %s", code, says)
		}
		for _, name := range []string{"s", "t", "u", "v"} {
			if code, says := add("big", name); code != 200 {
				p.t.Errorf("of a tenant without a limit: %d %s", code, says)
			}
		}
		p.ok(p.s.remove(p.t.Context(), id{home, "r"}, false))
		p.pass(time.Minute)
		for _, when := range []string{"after one was removed", "the same again"} {
			if code, says := add(home, "x"); code != 200 {
				p.t.Errorf("%s: %d %s", when, code, says)
			}
		}
	})
}

// The answer to a change has the status of the last look, as a later question has. The store has
// an older one, because a look that changes nothing is not written each time.
func TestAChangeAnswersWithTheLastLook(t *testing.T) {
	a := newShop("one")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		p.pass(7 * time.Minute)
		asked := p.want("shop", Polling, 1)
		changed := check.Value(p.s.ask(p.t.Context(), id{home, "shop"}))(p.t)
		// The look that was asked for may already be over.
		if changed.LastLook.Before(asked.LastLook) || changed.Next.Before(asked.Next) {
			p.t.Errorf("last look at %v, next at %v; want at least %v and %v", changed.LastLook, changed.Next, asked.LastLook, asked.Next)
		}
	})
}

// A lost connection is opened again within the same look.
func TestALostConnectionIsNoFailure(t *testing.T) {
	a := newShop("one")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		a.with(func(s *shop) { s.lost = s.connects })
		a.set("one", "two")
		p.pass(6 * time.Minute)
		src := p.want("shop", Polling, 2)
		if src.LastError != "" || a.connects != 2 {
			p.t.Errorf("%d connections, %s", a.connects, src.LastError)
		}
	})
}

func TestALargeLossIsAskedAgainAndThenHeld(t *testing.T) {
	a := newShop(toolNames(10)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		all := p.indexed()
		a.set()
		p.pass(5*time.Minute + 31*time.Second) // the first look that sees it
		a.set(toolNames(10)...)                // it was a moment's fault, or the look that asks again sees the loss
		p.pass(6 * time.Minute)
		p.want("shop", Polling, 10)
		p.wantIndexed(all)

		a.set("t00", "new")
		p.pass(7 * time.Minute)
		src := p.want("shop", Held, 11)
		p.wantIndexed("shop/new " + all)
		if src.Held == nil || src.Held.Missing != 9 || len(src.Held.Some) != 9 || src.Held.Some[0] != "shop/t01" {
			p.t.Fatalf("%+v", src.Held)
		}
		p.stop() // what is held stays so through a restart
		p.start(nil)
		p.pass(time.Minute)
		if again := p.want("shop", Held, 11); !again.LastChange.Equal(src.LastChange) {
			p.t.Errorf("the last change was at %v, after a restart at %v", src.LastChange, again.LastChange)
		}

		p.ok(p.s.confirm(p.t.Context(), id{home, "shop"}))
		p.pass(time.Second)
		if src = p.want("shop", Polling, 2); src.Changed.Removed != 9 || src.Held != nil {
			p.t.Errorf("%+v", src.Status)
		}
		p.wantIndexed("shop/new shop/t00")
		if _, err := p.s.confirm(p.t.Context(), id{home, "shop"}); !errors.Is(err, errNotHeld) {
			p.t.Errorf("confirm of nothing: %v", err)
		}
	})
}

// A connection may be what makes tools seem gone: a doubted loss is looked at over another one,
// also if the store then fails.
func TestADoubtedLossEndsTheConnectionWhateverFailsThen(t *testing.T) {
	a := newShop(toolNames(10)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		rec, _ := p.s.dir.stored(id{home, "shop"})
		confirmed := *rec
		confirmed.Confirmed = "another loss"
		w := newWorker(p.s.scheduler.deps, id{home, "shop"}, &confirmed, Status{}, nil)
		if _, _, err := w.sync(p.t.Context(), &confirmed, time.Now()); err != nil {
			p.t.Fatal(err)
		}
		a.set("t00", "t01")
		p.store.Fail(errors.New("no store"))
		_, _, err := w.sync(p.t.Context(), &confirmed, time.Now())
		p.store.Fail(nil)
		if !errors.Is(err, errStore) {
			p.t.Errorf("error %v, want that of the store", err)
		}
		if w.session != nil {
			p.t.Error("the connection of the doubted look stays")
		}
	})
}

// As many others in place of all tools are no reason to believe that those are gone.
func TestALossIsHeldWhateverIsNew(t *testing.T) {
	a := newShop(toolNames(10)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		var others []string
		for _, name := range toolNames(20) {
			others = append(others, "x"+name)
		}
		a.set(others...)
		p.pass(20 * time.Minute)
		if src := p.want("shop", Held, 30); src.Held == nil || src.Held.Missing != 10 {
			p.t.Errorf("%+v", src.Status)
		}
	})
}

// A confirmation is for once: the same tools, lost again, are held again.
func TestAConfirmationIsForOnce(t *testing.T) {
	a := newShop(toolNames(10)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		a.set("t00", "t01")
		p.pass(7 * time.Minute)
		p.ok(p.s.confirm(p.t.Context(), id{home, "shop"}))
		p.pass(time.Second)
		p.want("shop", Polling, 2)
		a.set(toolNames(10)...)
		p.pass(7 * time.Minute)
		p.want("shop", Polling, 10)
		a.set("t00", "t01")
		p.pass(7 * time.Minute)
		p.want("shop", Held, 10)
	})
}

// What was confirmed is one loss, not any.
func TestAnotherLossIsNotConfirmed(t *testing.T) {
	a := newShop(toolNames(10)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		a.set("t00", "t01")
		p.pass(7 * time.Minute)
		p.want("shop", Held, 10)
		a.set()
		p.ok(p.s.confirm(p.t.Context(), id{home, "shop"}))
		p.pass(time.Second)
		if src := p.want("shop", Held, 10); src.Held.Missing != 10 {
			p.t.Errorf("%+v", src.Held)
		}
	})
}

func TestDeletesAreAsDeclared(t *testing.T) {
	for deletes, want := range map[string]string{source.Always: "", source.Never: "shop/one shop/two"} {
		a := newShop("one", "two")
		run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
			p.put("shop", "mcp", func(s *source.Spec) { s.Deletes = deletes })
			a.set()
			p.pass(6 * time.Minute)
			p.wantIndexed(want)
		})
	}
}

// After a source moves, its tools are those of its new address as soon as it lists them there, and
// the tools that it does not list there stay those of the old one.
func TestAMovedSourceListsItsToolsAgain(t *testing.T) {
	a := newShop("one", "two")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		never := func(s *source.Spec) { s.Deletes = source.Never }
		p.put("shop", "mcp", never)
		a.set("one")
		var there source.Spec
		p.put("shop", "mcp", never, func(s *source.Spec) { s.URL += "/v2"; there = *s })
		p.wantIndexed("shop/one shop/two")
		at := map[string]string{}
		for _, c := range p.changes(0) {
			at[c.ID] = c.Endpoint
		}
		if at["shop/one"] != there.Endpoint() || at["shop/two"] == there.Endpoint() || at["shop/two"] == "" {
			t.Errorf("the tools are at %v; the source is at %s", at, there.Endpoint())
		}
	})
}

func TestAToolThatCannotBeReadStaysAsItWas(t *testing.T) {
	a := newShop("one", "two", "three")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		a.set("one", "four")
		a.with(func(s *shop) {
			s.extra = []source.Document{
				{Name: "two", Format: "mcp", Tool: true, Raw: []byte(`{"name":"two"}`), Problem: "it is wrong"},
				{Name: "three", Format: "mcp", Tool: true, Raw: []byte(`{"name":"three","inputSchema":{"type":"object","type":"object"}}`)},
				{Format: "mcp", Tool: true, Raw: []byte(`{"description":"nameless"}`)},
			}
		})
		p.pass(7 * time.Minute)
		src := p.want("shop", Polling, 4)
		if len(src.Problems) != 3 || !strings.Contains(src.Problems[0], "it is wrong") {
			p.t.Errorf("%q", src.Problems)
		}
		p.wantIndexed("shop/four shop/one shop/three shop/two")
	})
}

// A source writes below its own provider, whatever its documents say.
func TestASourceTakesNothingOfOthers(t *testing.T) {
	a := newShop("one")
	a.extra = []source.Document{{Name: "x", Format: "mcp", Tool: true, Raw: []byte(`{"id":"weather/now","provider":"weather","name":"x","inputSchema":{}}`)}}
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		item := formats.Item{ID: "weather/now", Provider: "weather", Kind: "tool", Format: "mcp", Raw: []byte(`{"name":"now"}`), Hash: "h"}
		other := formats.Item{ID: "shop/one", Provider: "weather", Kind: "tool", Format: "mcp", Raw: []byte(`{"name":"one"}`), Hash: "h"}
		check.Value(p.index.Accept(p.t.Context(), home, []formats.Item{item, other}, ingest.Options{}))(p.t)
		p.put("shop", "mcp")
		src := p.want("shop", Polling, 1)
		if len(src.Problems) != 1 || !strings.Contains(src.Problems[0], "shop/one: other_provider") {
			p.t.Errorf("%q", src.Problems)
		}
		p.wantIndexed("shop/one shop/x weather/now")
	})
}

func TestSourcesAreBulkheads(t *testing.T) {
	shops := map[string]*shop{"mcp": newShop("one"), "openapi": newShop("one")}
	shops["openapi"].hang = true
	run(t, Config{Parallel: 4}, shops, func(p *fixture) {
		for i := range 20 {
			p.put(fmt.Sprintf("hangs%d", i), "openapi")
		}
		p.pass(30 * time.Minute)
		p.put("works", "mcp", func(s *source.Spec) { s.Every = source.Duration(10 * time.Second) })
		p.pass(10 * time.Minute)
		p.want("works", Polling, 1)
		if n := shops["mcp"].lists; n < 50 {
			p.t.Errorf("it was listed %d times in ten minutes, beside those that hang", n)
		}
	})
}

func TestPauseResumeSyncRemove(t *testing.T) {
	a := newShop("one")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		ctx := p.t.Context()
		p.put("shop", "mcp")
		shop := id{home, "shop"}
		p.ok(p.s.pause(ctx, shop, true))
		a.set("one", "two")
		p.pass(time.Hour)
		p.want("shop", Paused, 1)
		if shown, err := p.s.dir.get(ctx, shop); err != nil || !shown.Next.IsZero() {
			p.t.Errorf("a paused source is looked at next at %s, %v", shown.Next, err)
		}
		if _, err := p.s.ask(ctx, shop); !errors.Is(err, errPaused) {
			p.t.Errorf("a paused source is asked: %v", err)
		}
		p.ok(p.s.pause(ctx, shop, false))
		p.pass(time.Second)
		p.want("shop", Polling, 2)

		check.Value(p.index.Remove(ctx, home, []string{"shop/two"}, ingest.Options{}))(p.t)
		p.ok(p.s.ask(ctx, shop))
		p.pass(time.Second)
		p.wantIndexed("shop/one shop/two") // everything is compared anew

		p.ok(p.s.remove(ctx, shop, false))
		if _, err := p.s.dir.get(ctx, shop); err != nil && !errors.Is(err, errNotFound) {
			p.t.Fatal(err)
		}
		p.pass(time.Second)
		p.wantIndexed("")
		if _, err := p.s.dir.get(ctx, shop); !errors.Is(err, errNotFound) {
			p.t.Errorf("after it was removed: %v", err)
		}
		p.put("shop", "mcp")
		p.want("shop", Polling, 2)
		p.ok(p.s.remove(ctx, shop, true))
		p.pass(time.Second)
		p.wantIndexed("shop/one shop/two")
	})
}

// A process that starts goes on where the one before it stopped.
func TestARestartLosesAndRepeatsNothing(t *testing.T) {
	a := newShop(toolNames(6)...)
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		p.stop()
		before := p.published()
		names := append(toolNames(5), "new")
		a.set(names...)
		p.start(nil)
		p.pass(10 * time.Second)
		src := p.want("shop", Polling, 6)
		if src.Changed != (Changed{Added: 1, Removed: 1}) || src.Problems != nil {
			p.t.Errorf("%+v", src.Changed)
		}
		if n := p.published() - before; n != 2 {
			p.t.Errorf("%d changes were published, want 2", n)
		}
	})
}

// Some servers call every list private. What they answer without a credential is for
// everyone.
func TestAListForEveryoneIsNotPrivate(t *testing.T) {
	a := newShop("one")
	a.private = true
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp")
		p.want("shop", Polling, 1)
	})
}
