package live

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// world is what events are made of, and the index that tells of changes.
type world struct {
	mu      sync.Mutex
	reports int
	tools   int
	letters map[string]int
	sources []sources.Source
	stuck   bool // the store of sources does not answer
	version string
	policy  *policy.Policy // nil: there are no grants
	erasing bool
	watch   func(string, iter.Seq[flat.Changed])
}

func (w *world) Watch(fn func(string, iter.Seq[flat.Changed])) { w.set(func() { w.watch = fn }) }

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// change tells of changes as the index does.
func (w *world) change(tenant string, changes ...flat.Changed) {
	w.mu.Lock()
	watch := w.watch
	w.mu.Unlock()
	if watch != nil {
		watch(tenant, slices.Values(changes))
	}
}

func (w *world) hub() *Hub {
	return New(Deps{
		Report: func(ctx context.Context) status.Status {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reports++
			return status.Status{Tools: w.tools, Model: identity.From(ctx).Tenant}
		},
		Samples: func(string, int) []status.Sample {
			return []status.Sample{{Time: time.Now().Truncate(status.SampleEvery)}}
		},
		Scope: func(c identity.Caller, a policy.Action) (*policy.Scope, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if c.Subject == "unknown" {
				return nil, policy.ErrUnknown
			}
			if w.policy == nil {
				return nil, nil
			}
			return w.policy.Scope(c, a), nil
		},
		Index: func() Index { return w },
		DeadLetters: func(context.Context) (int, map[string]int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			open := 0
			for _, n := range w.letters {
				open += n
			}
			return open, maps.Clone(w.letters)
		},
		Sources: func(ctx context.Context, _ string) ([]sources.Source, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.stuck {
				w.mu.Unlock()
				<-ctx.Done()
				w.mu.Lock()
				return nil, ctx.Err()
			}
			return slices.Clone(w.sources), nil
		},
		Weights: func(string) (string, uint64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.version, 1
		},
		Closed:     func(string) bool { w.mu.Lock(); defer w.mu.Unlock(); return w.erasing },
		Registerer: prometheus.NewRegistry(),
	})
}

// listen joins a caller, who leaves with the test.
func listen(t *testing.T, h *Hub, subject string, role identity.Role) *listener {
	t.Helper()
	l := check.Value(h.join(identity.Caller{Tenant: "acme", Subject: subject, Role: role}))(t)
	t.Cleanup(func() { h.leave(l, endedClient) })
	return l
}

// heard returns the events that a stream has got, each as its name and its data.
func heard(l *listener) (out []string) {
	for {
		select {
		case f := <-l.frames:
			text := strings.TrimSuffix(strings.TrimPrefix(string(f), "event: "), "\n\n")
			out = append(out, strings.Replace(text, "\ndata: ", " ", 1))
		default:
			return out
		}
	}
}

func want(t *testing.T, l *listener, begins ...string) {
	t.Helper()
	got := heard(l)
	slices.Sort(got)
	slices.Sort(begins)
	if len(got) != len(begins) {
		t.Fatalf("heard %q, want %q", got, begins)
	}
	for i, begin := range begins {
		if !strings.HasPrefix(got[i], begin) {
			t.Errorf("heard %q, want %q", got[i], begin)
		}
	}
}

// A stream begins with the present state, as far as the caller's role sees it, and hears of
// what changes, and of nothing else.
func TestAStreamTellsTheStateAndThenItsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{version: "w1", letters: map[string]int{"bad": 2}, sources: []sources.Source{{Name: "shop"}, {Name: "weather"}}}
		h := w.hub()
		reader, operator := listen(t, h, "ann", identity.Reader), listen(t, h, "bob", identity.Operator)
		writer := listen(t, h, "cas", identity.Writer)
		synctest.Wait()
		want(t, reader)
		want(t, writer, `sources {"sources":[{"name":"shop"`)
		all := []string{`status {"version":"`, `sample {"time"`, `dead_letters {"open":2,"reasons":{"bad":2}}`, `sources {"sources":[{"name":"shop"`, `weights {"live":"w1","epoch":1}`}
		want(t, operator, all...)
		late := listen(t, h, "dan", identity.Admin)
		want(t, late, all...) // at once
		time.Sleep(status.SampleEvery - 1)
		synctest.Wait()
		want(t, operator)
		w.set(func() {
			w.letters["bad"], w.version, w.tools = 3, "w2", 7
			w.sources = []sources.Source{{Name: "weather", Status: sources.Status{State: sources.Held}}}
		})
		time.Sleep(2*stateEvery + 1)
		synctest.Wait()
		want(t, operator, `status {`, `sample {`, `dead_letters {"open":3`, `sources {"sources":[{"name":"weather"`, `weights {"live":"w2"`)
		if got := heard(writer); len(got) != 1 || !strings.Contains(got[0], `"removed":["shop"]`) {
			t.Errorf("a writer hears %q", got)
		}
		want(t, reader)
	})
}

// However many listen, a status is worked out once; where nobody does, or nobody who sees it,
// it is not.
func TestTheWorkIsDoneOnceForATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		h := w.hub()
		var all []*listener
		for i := range 40 {
			l := check.Value(h.join(identity.Caller{Tenant: "acme", Subject: fmt.Sprint(i), Role: identity.Operator}))(t)
			all = append(all, l)
		}
		time.Sleep(10*stateEvery + 1)
		synctest.Wait()
		if w.reports > 13 {
			t.Errorf("%d reports in %s", w.reports, 10*stateEvery)
		}
		for _, l := range all {
			h.leave(l, endedClient)
		}
		done := w.reports
		reader := listen(t, h, "ann", identity.Reader)
		time.Sleep(10 * stateEvery)
		synctest.Wait()
		if w.reports != done {
			t.Errorf("%d reports that nobody sees", w.reports-done)
		}
		want(t, reader)
	})
	w := &world{}
	h := w.hub()
	l, err := h.join(identity.Caller{Tenant: "acme"})
	if err != nil || w.watch == nil {
		t.Fatalf("%v, and the index is not watched", err)
	}
	if h.leave(l, endedClient); w.watch != nil || len(h.feeds) > 0 {
		t.Error("nobody listens, and the index is watched")
	}
}

// tool is what grants know a tool of a provider by.
func tool(id, provider string, tags ...string) *policy.Tool {
	t := policy.ToolOf(schema.Ref{Kind: schema.KindTool, ID: id}, provider, "", tags)
	return &t
}

func changed(id string, revision uint64, before, after *policy.Tool) flat.Changed {
	return flat.Changed{Ref: schema.Ref{Tenant: "acme", Kind: schema.KindTool, ID: id}, Revision: revision, Before: before, After: after}
}

// Where the store of sources does not answer, changes of tools are told all the same.
func TestAStoreThatDoesNotAnswerHoldsNoChangesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{stuck: true}
		l := listen(t, w.hub(), "ann", identity.Admin)
		synctest.Wait()
		w.change("acme", changed("rain", 1, nil, tool("rain", "weather")))
		time.Sleep(pollWithin + 2*toolsEvery + 1) // behind the tick
		synctest.Wait()
		if got := heard(l); !slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "tools ") }) {
			t.Errorf("heard %q", got)
		}
	})
}

// A caller hears of the tools that it may find, and of those that it could find before.
// Nothing is said of others, and nothing where the grants are not known.
func TestEventsOmitToolsThatGrantsHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := check.Value(policy.New("1", []policy.Grant{
			{Effect: policy.Allow, To: "subject:ann", Action: policy.Find, On: "provider:weather"},
			{Effect: policy.Allow, To: "subject:ann", Action: policy.Find, On: "tag:public"},
			{Effect: policy.Allow, To: "subject:bob", Action: policy.Find, On: "*"},
		}))(t)
		w := &world{policy: grants}
		h := w.hub()
		ann, bob, cas := listen(t, h, "ann", identity.Reader), listen(t, h, "bob", identity.Reader), listen(t, h, "cas", identity.Reader)
		unknown := listen(t, h, "unknown", identity.Reader)
		synctest.Wait()
		tell := func(changes ...flat.Changed) {
			w.change("acme", changes...)
			time.Sleep(toolsEvery + 1)
			synctest.Wait()
		}
		tell(changed("pay", 1, nil, tool("pay", "shop")), changed("rain", 2, nil, tool("rain", "weather")))
		want(t, ann, `tools {"changed":1,"some":[{"id":"rain","kind":"tool","revision":2}]}`)
		want(t, bob, `tools {"changed":2,"some":[{"id":"rain","kind":"tool","revision":2},{"id":"pay"`)
		tell(changed("pay", 3, tool("pay", "shop"), tool("pay", "shop", "secret")))
		want(t, ann)
		want(t, bob, `tools {"changed":1`)
		tell(changed("menu", 4, tool("menu", "shop", "public"), tool("menu", "shop")))
		want(t, ann, `tools {"changed":1,"some":[{"id":"menu","kind":"tool","revision":4,"deleted":true}]}`)
		want(t, bob, `tools {"changed":1,"some":[{"id":"menu","kind":"tool","revision":4}]}`)
		tell(changed("pay", 5, tool("pay", "shop"), nil), changed("rain", 6, tool("rain", "weather"), nil))
		want(t, ann, `tools {"changed":1,"some":[{"id":"rain","kind":"tool","revision":6,"deleted":true}]}`)
		want(t, bob, `tools {"changed":2`)
		// Made and deleted between two events: nobody has seen it.
		tell(changed("snow", 7, nil, tool("snow", "weather")), changed("snow", 8, tool("snow", "weather"), nil))
		want(t, ann)
		var many []flat.Changed
		for i := range 25 {
			many = append(many, changed(fmt.Sprint(i), uint64(i), nil, tool(fmt.Sprint(i), "weather")))
		}
		tell(many...)
		got := heard(ann)
		if len(got) != 1 || !strings.Contains(got[0], `"changed":25`) || strings.Count(got[0], `"id"`) != namedTools || !strings.Contains(got[0], `"id":"24"`) {
			t.Errorf("heard %q", got)
		}
		w.change("other", changed("x", 9, nil, tool("x", "weather")))
		tell()
		want(t, cas)
		want(t, unknown)
		want(t, ann)
	})
}

// Who does not read is not waited for.
func TestASlowStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		h := w.hub()
		slow, quick := listen(t, h, "slow", identity.Reader), listen(t, h, "quick", identity.Reader)
		for i := range buffered + 1 {
			w.change("acme", changed("a", uint64(i), nil, tool("a", "p")))
			time.Sleep(toolsEvery)
			synctest.Wait()
			heard(quick)
		}
		select {
		case <-slow.ended:
			if slow.why != endedSlow {
				t.Errorf("it ended because of %q", slow.why)
			}
		default:
			t.Error("the slow one has not ended")
		}
		select {
		case <-quick.ended:
			t.Error("the quick one has ended")
		default:
		}
	})
}

// Readers leave room for operators, and one tenant for others.
func TestStreamsAreBounded(t *testing.T) {
	w := &world{}
	h := w.hub()
	join := func(tenant string, role identity.Role, n int) (joined int) {
		for range n {
			l, err := h.join(identity.Caller{Tenant: tenant, Role: role})
			if err != nil {
				break
			}
			t.Cleanup(func() { h.leave(l, endedClient) })
			joined++
		}
		return joined
	}
	if n := join("acme", identity.Reader, 1000); n != maxPerTenant-reservedForOperators {
		t.Errorf("%d readers", n)
	}
	if n := join("acme", identity.Operator, 1000); n != reservedForOperators {
		t.Errorf("%d operators", n)
	}
	if n := join("other", identity.Reader, 1); n != 1 {
		t.Error("there is no room for another tenant")
	}
}

// answer is what comes of a request, while it comes.
type answer struct {
	*httptest.ResponseRecorder
	done chan struct{}
}

func serve(h http.Handler, r *http.Request) *answer {
	a := &answer{httptest.NewRecorder(), make(chan struct{})}
	go func() {
		defer close(a.done)
		h.ServeHTTP(a, r)
	}()
	return a
}

func (a *answer) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// provider is an identity provider that knows one token.
type provider struct {
	mu     sync.Mutex
	caller identity.Caller
	err    error
}

func (p *provider) Caller(context.Context, string) (identity.Caller, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.caller, p.err
}

func (p *provider) set(c identity.Caller, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caller, p.err = c, err
}

// The stream ends with the credential: when it has expired, and when it means another role.
// It ends when the tenant is erased, and begins anew only after that.
func TestAStreamEndsWithItsCredentialAndItsTenant(t *testing.T) {
	operator := identity.Caller{Tenant: "acme", Subject: "bob", Groups: []string{"ops"}, Role: identity.Operator}
	demoted := operator
	demoted.Role = identity.Reader
	for name, end := range map[string]func(*provider, *world, *Hub){
		"expired": func(p *provider, _ *world, _ *Hub) { p.set(identity.Caller{}, identity.ErrExpired) },
		"demoted": func(p *provider, _ *world, _ *Hub) { p.set(demoted, nil) },
		"erased": func(_ *provider, w *world, h *Hub) {
			w.set(func() { w.erasing = true })
			h.Erase("acme")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p := &world{version: "w1"}, &provider{caller: operator}
				h := w.hub()
				api, mux := httpserver.NewAPI("")
				h.Routes(api)
				handler := httpserver.Handler(mux, httpserver.Config{
					Credentials: httpserver.Credentials{Provider: p}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
				})
				request := func() *http.Request {
					r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/stream", nil)
					r.Header.Set("Authorization", "Bearer t")
					return r
				}
				a := serve(handler, request())
				time.Sleep(10*checkEvery + 1)
				synctest.Wait()
				if a.over() {
					t.Fatalf("it ended: %d %s", a.Code, a.Body)
				}
				end(p, w, h)
				time.Sleep(checkEvery)
				synctest.Wait()
				if !a.over() {
					t.Fatal("it goes on")
				}
				got := a.Body.String()
				if a.Code != http.StatusOK || a.Header().Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(got, "retry: 2000\n\n") ||
					!strings.Contains(got, "event: weights\ndata: {\"live\":\"w1\",\"epoch\":1}\n\n") || !strings.Contains(got, "\n:\n\n") {
					t.Errorf("%d %v %s", a.Code, a.Header(), got)
				}
				if name == "demoted" {
					return
				}
				a = serve(handler, request())
				synctest.Wait()
				if !a.over() || a.Code == http.StatusOK {
					t.Errorf("a new one is answered %d", a.Code)
				}
			})
		})
	}
}

// Who asks for the head alone gets it, and no stream.
func TestAHeadHasNoStream(t *testing.T) {
	api, mux := httpserver.NewAPI("")
	h := (&world{}).hub()
	h.Routes(api)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("HEAD", "/v1/stream", nil).WithContext(identity.With(t.Context(), identity.Anybody)))
	if w.Code != http.StatusOK || w.Body.Len() > 0 || len(h.feeds) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// An event about many sources is short, and says how many it leaves out.
func TestManySourcesAreCounted(t *testing.T) {
	now := map[string]sources.Source{}
	for i := range 250 {
		name := fmt.Sprintf("s%03d", i)
		now[name] = sources.Source{Name: name}
	}
	all, any := since(nil, now)
	raw, err := json.Marshal(all)
	if err != nil || !any || len(all.Sources) != namedSources || all.More != 150 || all.Sources[0].Name != "s000" {
		t.Errorf("%v %v %s", err, any, raw)
	}
	gone, any := since(now, nil)
	if !any || len(gone.Removed) != namedSources || gone.More != 150 || len(gone.Sources) != 0 {
		t.Errorf("%+v", gone)
	}
	if _, any = since(now, now); any {
		t.Error("nothing has changed")
	}
}
