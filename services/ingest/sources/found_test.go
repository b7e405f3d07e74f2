package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

const registry = source.MCPRegistry

// registered runs a test with a registry that names MCP servers, each with the tool one.
func registered(t *testing.T, names []string, test func(p *fixture, r *shop)) {
	r := newShop()
	r.name(names...)
	run(t, Config{}, map[string]*shop{registry: r, source.MCP: newShop("one")}, func(p *fixture) { test(p, r) })
}

// wantNames wants the tenant to have the sources of these names.
func (p *fixture) wantNames(want string) {
	p.t.Helper()
	all := check.Value(p.s.All(p.t.Context(), home))(p.t)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != want {
		p.t.Errorf("the sources are %q, want %q", got, want)
	}
}

func TestASourceThatAnotherNamesIsOneOfItsOwn(t *testing.T) {
	registered(t, []string{"io.github.acme/files", "io.github.acme/mail"}, func(p *fixture, r *shop) {
		p.put("official", registry, func(s *source.Spec) { s.Every, s.Deletes = source.Duration(time.Minute), source.Always })
		p.pass(time.Second)
		if src := p.want("official", Polling, 0); src.Found != 2 {
			p.t.Errorf("%d sources are found", src.Found)
		}
		src := p.want("official.io-github-acme_files", Polling, 1)
		if src.Parent != "official" || src.Called != "io.github.acme/files" || time.Duration(src.Every) != time.Minute || src.Deletes != source.Always {
			p.t.Errorf("%+v", src)
		}
		p.wantIndexed("official/io.github.acme/files/one official/io.github.acme/mail/one")

		r.with(func(s *shop) { s.found[0].Spec.URL = "https://other.example" })
		p.pass(2 * time.Minute)
		if src = p.want("official.io-github-acme_files", Polling, 1); src.URL != "https://other.example" {
			p.t.Errorf("it is still at %s", src.URL)
		}
		r.name("io.github.acme/mail")
		p.pass(2 * time.Minute)
		p.wantIndexed("official/io.github.acme/mail/one")
		p.wantNames("official official.io-github-acme_mail")
		r.name("io.github.acme/mail", "io.github.acme/files") // and it is back
		p.pass(2 * time.Minute)
		p.wantIndexed("official/io.github.acme/files/one official/io.github.acme/mail/one")
	})
}

func TestAFoundSourceIsChangedThroughItsParentAlone(t *testing.T) {
	registered(t, []string{"a"}, func(p *fixture, _ *shop) {
		p.put("official", registry)
		for _, tc := range []struct {
			method, path, body string
			status             int
		}{
			{"PUT", "/v1/sources/official.a", `{"kind":"mcp","url":"https://x.example"}`, 409},
			{"PUT", "/v1/sources/official.b", `{"kind":"mcp","url":"https://x.example"}`, 422},
			{"DELETE", "/v1/sources/official.a", "", 409},
			{"POST", "/v1/sources/official.a:pause", "", 409},
			{"POST", "/v1/sources/official.a:sync", "", 202},
			{"POST", "/v1/sources/official.a:test", "", 200},
			{"POST", "/v1/sources/official:test", "", 200},
			{"GET", "/v1/sources/official.a", "", 200},
		} {
			code, answer := p.call(home, tc.method, tc.path, tc.body)
			text, _ := json.Marshal(answer)
			if code != tc.status || code == 409 && !strings.Contains(string(text), "deny list") {
				p.t.Errorf("%s %s: %d %s", tc.method, tc.path, code, text)
			}
			p.pass(time.Second)
		}
		p.wantIndexed("official/a/one")
	})
}

// The tools of found sources are none of those that the source has itself.
func TestASourceMayHaveToolsAndNameSources(t *testing.T) {
	registered(t, []string{"a", "b"}, func(p *fixture, r *shop) {
		r.set("own")
		p.put("official", registry)
		p.pass(time.Second)
		p.want("official", Polling, 1)
		p.wantIndexed("official/a/one official/b/one official/own")
		p.ok(p.s.ask(p.t.Context(), id{home, "official"}))
		p.pass(10 * time.Minute)
		p.want("official", Polling, 1)
		p.wantIndexed("official/a/one official/b/one official/own")
	})
}

func TestRemovingASourceRemovesWhatItFound(t *testing.T) {
	for keep, want := range map[bool]string{false: "", true: "official/a/one official/b/one official/own"} {
		registered(t, []string{"a", "b"}, func(p *fixture, r *shop) {
			r.set("own")
			p.put("official", registry)
			p.pass(time.Second)
			p.ok(p.s.remove(p.t.Context(), id{home, "official"}, keep))
			p.pass(time.Minute)
			p.wantIndexed(want)
			p.wantNames("")
		})
	}
}

func TestPausingASourcePausesWhatItFound(t *testing.T) {
	registered(t, []string{"a", "strange"}, func(p *fixture, r *shop) {
		p.put("official", registry)
		p.pass(time.Second)
		r.with(func(s *shop) { s.found[1].Problem = "it is strange" })
		p.pass(10 * time.Minute)
		p.ok(p.s.pause(p.t.Context(), id{home, "official"}, true))
		p.pass(time.Second)
		p.want("official.a", Paused, 1)
		p.want("official.strange", Paused, 1)
		p.ok(p.s.pause(p.t.Context(), id{home, "official"}, false))
		p.pass(time.Second)
		p.want("official.a", Polling, 1)
		p.want("official.strange", Polling, 1)
	})
}

// A registry that shows less than half of its servers is asked again, and then held.
func TestALargeLossOfSourcesIsHeld(t *testing.T) {
	registered(t, toolNames(10), func(p *fixture, r *shop) {
		p.put("official", registry)
		p.pass(time.Second)
		all := p.indexed()
		r.name("t00", "new")
		p.pass(7 * time.Minute)
		src := p.want("official", Held, 0)
		if src.Held == nil || src.Held.Missing != 9 || src.Held.Some[0] != "official.t01" || src.Found != 11 {
			p.t.Fatalf("%+v", src.Status)
		}
		p.wantIndexed("official/new/one " + all)
		r.with(func(s *shop) { s.fails = errors.New("half, and then 500") })
		p.pass(30 * time.Minute)
		p.wantIndexed("official/new/one " + all)
		r.with(func(s *shop) { s.fails = nil })
		p.pass(10 * time.Minute)
		p.ok(p.s.confirm(p.t.Context(), id{home, "official"}))
		p.pass(10 * time.Second)
		if src = p.want("official", Polling, 0); src.Changed.Removed != 9 || src.Found != 2 {
			p.t.Errorf("%+v", src.Status)
		}
		p.wantIndexed("official/new/one official/t00/one")
	})
}

// What the user does not want goes at once, however much it is.
func TestPolicyDecidesWhatIsTaken(t *testing.T) {
	registered(t, []string{"acme/a", "acme/b", "evil/a", "acme/c"}, func(p *fixture, _ *shop) {
		policy := func(allow, deny string, limit int) func(*source.Spec) {
			return func(s *source.Spec) {
				s.Limit = limit
				if allow != "" {
					s.Allow = []string{allow}
				}
				if deny != "" {
					s.Deny = []string{deny}
				}
			}
		}
		for _, tc := range []struct {
			allow, deny string
			limit       int
			want        string
			problem     string
		}{
			{"", "", 0, "acme/a acme/b acme/c evil/a", ""},
			{"acme/*", "", 0, "acme/a acme/b acme/c", ""},
			{"acme/*", "*/c", 0, "acme/a acme/b", ""},
			{"", "acme/*", 0, "evil/a", ""},
			{"", "", 1, "evil/a", "beyond the limit of 1"}, // what is there stays
			{"nobody/*", "", 0, "", ""},
		} {
			p.put("r", registry, policy(tc.allow, tc.deny, tc.limit))
			p.pass(10 * time.Second)
			var want []string
			for _, name := range strings.Fields(tc.want) {
				want = append(want, "r/"+name+"/one")
			}
			p.wantIndexed(strings.Join(want, " "))
			src := p.want("r", Polling, 0)
			if src.Found != len(want) || (tc.problem != "") != (len(src.Problems) > 0) || !strings.Contains(strings.Join(src.Problems, ""), tc.problem) {
				p.t.Errorf("%+v: %d found, %q", tc, src.Found, src.Problems)
			}
		}
	})
}

func TestWhatCannotBeLookedAtIsNamed(t *testing.T) {
	registered(t, []string{"good"}, func(p *fixture, r *shop) {
		r.with(func(s *shop) {
			s.found = append(s.found,
				source.Found{Name: "starts", Spec: source.Spec{Kind: source.MCP, Command: []string{"sh", "-c", "id"}}},
				source.Found{Name: "reads", Spec: source.Spec{Kind: source.Folder, URL: "/etc"}},
				source.Found{Name: "names", Spec: source.Spec{Kind: registry, URL: "https://x.example"}},
				source.Found{Name: "nowhere", Spec: source.Spec{Kind: source.MCP, URL: "file:///etc/passwd"}},
				source.Found{Name: "secret", Problem: "needs the header X-Key"},
				source.Found{Name: "secret2", Problem: "needs the header X-Key"},
				source.Found{Name: "inside", Spec: source.Spec{Kind: source.MCP, URL: "https://10.0.0.1/mcp", AllowPrivate: true}},
			)
		})
		p.put("r", registry)
		p.pass(10 * time.Second)
		src := p.want("r", Polling, 0)
		p.wantNames("r r.good r.inside")
		if src.Found != 2 || len(src.Problems) != 5 {
			p.t.Errorf("%d found, %q", src.Found, src.Problems)
		}
		if !strings.Contains(strings.Join(src.Problems, "; "), "secret and 1 others: needs the header X-Key") {
			p.t.Errorf("%q", src.Problems)
		}
		if src = p.want("r.inside", Polling, 1); src.AllowPrivate {
			p.t.Error("a registry lets a private address be reached")
		}
	})
}

// What is still named stays, though it cannot be read or looked at just now.
func TestAFoundSourceThatCannotBeReadStays(t *testing.T) {
	registered(t, []string{"a", "b", "c", "d"}, func(p *fixture, r *shop) {
		p.put("r", registry)
		p.pass(time.Second)
		all := p.indexed()
		r.with(func(s *shop) { s.found[0].Problem = "it is strange" })
		p.pass(10 * time.Minute)
		p.wantIndexed(all)
		r.name("a", "b", "c")
		r.with(func(s *shop) { s.found = append(s.found, source.Found{Problem: "no name"}) })
		p.pass(10 * time.Minute)
		p.wantIndexed(all)
		r.name("a", "b", "c")
		p.pass(10 * time.Minute)
		p.wantIndexed("r/a/one r/b/one r/c/one")
	})
}

func TestNamesOfFoundSources(t *testing.T) {
	long := strings.Repeat("x", 300)
	registered(t, []string{"io.github.a/b", "io-github-a/b", "Ärger & mehr", "..", "a", "a/b", "c/d", "c", long[:200]}, func(p *fixture, _ *shop) {
		p.put("r", registry)
		p.pass(time.Second)
		all, err := p.s.All(p.t.Context(), home)
		if err != nil || len(all) != 10 {
			p.t.Fatalf("%d sources, %v", len(all), err)
		}
		providers := map[string]string{}
		for _, s := range all[1:] {
			providers[s.Called] = s.Provider
			if !isName(s.Name) || s.Tools != 1 {
				p.t.Errorf("%q is %q with %d tools", s.Called, s.Name, s.Tools)
			}
		}
		for called, want := range map[string]string{"io.github.a/b": "r/io.github.a/b", "Ärger & mehr": "r/Ärger & mehr", "a": "r/a", "a/b": "r/a_b", "c/d": "r/c/d", "c": "r/c-" + mark("c")} {
			if providers[called] != want {
				p.t.Errorf("%q has the provider %q, want %q", called, providers[called], want)
			}
		}
	})
}

// A credential goes to the hosts that it is bound to, and to none over a connection that is
// less safe than that to the source of its user.
func TestTheCredentialIsLentToItsHostsAlone(t *testing.T) {
	s := New(Config{Permit: source.Permit{Credentials: map[string]outbound.Credential{"own": {Hosts: []string{"mcp.example"}}}}}, Deps{})
	parent := source.Spec{Kind: registry, URL: "https://registry.example", Auth: &source.Auth{Credential: "own"}}
	for address, want := range map[string]bool{"https://mcp.example/a": true, "http://mcp.example/a": false, "https://mcp.example:8443/a": false, "https://other.example": false} {
		if got := s.crawler.inherit(parent, source.Spec{Kind: source.MCP, URL: address}).Auth != nil; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	parent.Kind = source.Kong
	if s.crawler.inherit(parent, source.Spec{Kind: source.MCP, URL: "https://mcp.example/a"}).Auth != nil {
		t.Error("what stands behind a gateway gets the credential of its administrator")
	}
}

func TestTheProviderIsWhatIsSaidOfIt(t *testing.T) {
	for _, tc := range []struct{ found, own, want string }{
		{`{"name":"Files","description":"Of the registry."}`, `{"name":"files-server"}`, `{"description":"Of the registry.","name":"files-server"}`},
		{`{"name":"Files"}`, ``, `{"name":"Files"}`},
		{``, `{"name":"x"}`, `{"name":"x"}`},
		{`[]`, ``, ``},
	} {
		if got := string(about([]byte(tc.found), []byte(tc.own))); got != tc.want {
			t.Errorf("%s and %s: %s, want %s", tc.found, tc.own, got, tc.want)
		}
	}
}

// A replica that takes over knows what the one before found, and finds nothing twice.
func TestFoundSourcesOutliveARestart(t *testing.T) {
	registered(t, []string{"a", "b", "c"}, func(p *fixture, r *shop) {
		p.put("r", registry)
		p.pass(time.Second)
		before := p.published()
		p.stop()
		r.name("b", "c")
		p.start(nil)
		p.pass(time.Minute)
		p.wantNames("r r.b r.c")
		for _, c := range p.changes(before) {
			if c.ID != "r/a/one" {
				p.t.Errorf("%s is published anew", c.ID)
			}
		}
	})
}

// A store that fails meanwhile delays what is found, and loses nothing.
func TestTheStoreFailsWhileSourcesAreFound(t *testing.T) {
	registered(t, []string{"a"}, func(p *fixture, r *shop) {
		p.put("r", registry)
		p.pass(time.Second)
		p.store.Fail(stream.ErrClosed)
		r.name("a", "b")
		p.pass(10 * time.Minute)
		p.wantIndexed("r/a/one")
		p.store.Fail(nil)
		p.pass(10 * time.Minute)
		p.wantIndexed("r/a/one r/b/one")
		if src := p.want("r", Polling, 0); src.LastError != "" || src.Found != 2 {
			p.t.Errorf("%+v", src.Status)
		}
	})
}

func TestManySourcesAreFound(t *testing.T) {
	var names []string
	for i := range 700 {
		names = append(names, fmt.Sprintf("io.github.a%d/b", i))
	}
	registered(t, names, func(p *fixture, _ *shop) {
		p.put("r", registry)
		p.pass(time.Minute)
		src := p.want("r", Polling, 0)
		if src.Found != 500 || len(src.Problems) != 1 || !strings.Contains(src.Problems[0], "199 others") {
			p.t.Errorf("%d found, %q", src.Found, src.Problems)
		}
		if n := len(strings.Fields(p.indexed())); n != 500 {
			p.t.Errorf("%d tools", n)
		}
	})
}

// The tools that a catalogue describes itself are below its provider, as far as its policy
// takes the server.
func TestACatalogueMayDescribeTools(t *testing.T) {
	registered(t, []string{"remote"}, func(p *fixture, r *shop) {
		tool := func(server string) source.Document {
			raw := fmt.Sprintf(`{"provider":%q,"id":"%s/now","document":{"name":"now","description":"Tells it.","inputSchema":{"type":"object"}}}`, server, server)
			return source.Document{Name: server + "/now", Format: "mcp", Tool: true, Group: server, Raw: []byte(raw)}
		}
		r.with(func(s *shop) { s.several, s.extra = true, []source.Document{tool("time"), tool("evil")} })
		p.put("docker", registry, func(s *source.Spec) { s.Deny = []string{"evil"} })
		p.pass(time.Second)
		p.want("docker", Polling, 1)
		p.wantIndexed("docker/remote/one docker/time/now")
		r.with(func(s *shop) { s.extra, s.several = nil, false })
		r.name("remote", "time") // it runs elsewhere by now
		p.pass(20 * time.Minute)
		p.want("docker.time", Held, 2) // it has none of those that were described
		p.ok(p.s.confirm(p.t.Context(), id{home, "docker.time"}))
		p.pass(time.Second)
		p.wantIndexed("docker/remote/one docker/time/one")
	})
}

// Through random faults of a registry, nothing that it still names is deleted, and in the
// end there is a source for each name, with its tool.
func TestNothingFoundIsLostThroughFaults(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, seed))
	names := toolNames(12)
	givenUp := map[string]bool{}
	registered(t, names, func(p *fixture, g *shop) {
		p.put("r", registry, func(s *source.Spec) { s.Every = source.Duration(20 * time.Second) })
		for n := range 300 {
			g.with(func(s *shop) { s.fails, s.closed, s.hang = nil, nil, false })
			g.name(names...)
			switch r.IntN(7) {
			case 0:
				g.with(func(s *shop) { s.fails = errors.New("half, and then 500") })
			case 1:
				g.with(func(s *shop) { s.closed, s.lost = errors.New("no route"), s.connects })
			case 2:
				g.with(func(s *shop) { s.hang = true })
			case 3:
				g.with(func(s *shop) { s.found[r.IntN(len(s.found))].Problem = "it is strange" })
			case 4: // one cannot be read, and may be any
				g.with(func(s *shop) { s.found[r.IntN(len(s.found))] = source.Found{Problem: "no name"} })
			case 5: // less than half for a moment, which is no list to be believed
				g.with(func(s *shop) { s.found = s.found[:2] })
			case 6: // a change, which is none of its faults
				i := r.IntN(len(names))
				givenUp["r/"+names[i]+"/one"] = true
				names[i] = fmt.Sprintf("new%d", n)
				g.name(names...)
			}
			p.pass(time.Duration(r.IntN(20)) * time.Second)
			if n%100 == 50 {
				p.stop()
				p.start(nil)
			}
		}
		g.with(func(s *shop) { s.fails, s.closed, s.hang = nil, nil, false })
		g.name(names...)
		p.pass(20 * time.Minute)
		var want []string
		for _, name := range names {
			want = append(want, "r/"+name+"/one")
		}
		slices.Sort(want)
		if src := p.want("r", Polling, 0); src.Found != len(names) {
			p.t.Errorf("%+v", src.Status)
		}
		p.wantIndexed(strings.Join(want, " "))
		p.wantDeleted(givenUp)
	})
}

// Found sources are divided among processes like others, whoever found them.
func TestFoundSourcesAreShared(t *testing.T) {
	registered(t, toolNames(40), func(p *fixture, r *shop) {
		p.stop()
		members := streamtest.NewKV()
		members.Expire(MemberTTL)
		first := p.replica("first", members, p.store)
		second := p.replica("second", members, p.store)
		p.s = first.s
		p.pass(30 * time.Second)
		p.put("r", registry)
		p.pass(30 * time.Second)
		p.wantOnce(41, first, second)
		if n := len(second.looks()); n < 5 || n > 36 {
			p.t.Errorf("the second process has %d of 41", n)
		}
		r.name(toolNames(30)...)
		p.pass(6 * time.Minute)
		p.wantOnce(31, first, second)
		p.ok(p.s.remove(p.t.Context(), id{home, "r"}, false))
		p.pass(time.Minute)
		p.wantOnce(0, first, second)
		p.wantIndexed("")
		second.stop()
		first.stop()
		p.start(nil)
	})
}

// A registry that names others at every look, in place of those before or beside them, is
// held by the limit: what stays of what it named counts, too.
func TestTheLimitHoldsWhatStays(t *testing.T) {
	for how, stays := range map[string]func(*shop){
		"unconfirmed": func(*shop) {},
		"unreadable": func(s *shop) {
			for i := range 100 {
				s.found = append(s.found, source.Found{Name: fmt.Sprintf("n%d", i), Problem: "it is strange"})
			}
		},
	} {
		registered(t, nil, func(p *fixture, r *shop) {
			p.put("r", registry, func(s *source.Spec) { s.Limit = 4 })
			for n := range 10 {
				r.name(fmt.Sprintf("n%d", 4*n), fmt.Sprintf("n%d", 4*n+1), fmt.Sprintf("n%d", 4*n+2), fmt.Sprintf("n%d", 4*n+3))
				r.with(stays)
				p.pass(10 * time.Minute)
			}
			if src, err := p.s.dir.get(p.t.Context(), id{home, "r"}); err != nil || src.Found > 8 {
				p.t.Errorf("%s: %d sources are found, %v", how, src.Found, err)
			}
		})
	}
}

// What a source found is looked at again once the source is, though that cannot be seen.
func TestFoundSourcesResumeWithoutTheirParent(t *testing.T) {
	registered(t, []string{"a"}, func(p *fixture, r *shop) {
		p.put("r", registry)
		p.pass(time.Second)
		for _, paused := range []bool{true, false} {
			p.ok(p.s.pause(p.t.Context(), id{home, "r"}, paused))
			r.with(func(s *shop) { s.fails = errors.New("away") })
			p.pass(time.Minute)
		}
		p.want("r.a", Polling, 1)
	})
}

// Sources that a registry names and that hang do not hold up those that work.
func TestFoundSourcesThatHangHoldUpNoOthers(t *testing.T) {
	r, hangs := newShop(), newShop("one")
	r.name(toolNames(40)...)
	hangs.hang = true
	run(t, Config{Parallel: 4, Every: 30 * time.Second}, map[string]*shop{registry: r, source.MCP: hangs, source.OpenAPI: newShop("good")}, func(p *fixture) {
		p.put("good", source.OpenAPI)
		p.put("r", registry)
		for range 20 {
			p.pass(35 * time.Second)
			if src := p.want("good", Polling, 1); time.Since(src.LastSuccess) > 35*time.Second {
				p.t.Fatalf("it was not seen for %v", time.Since(src.LastSuccess))
			}
		}
	})
}
