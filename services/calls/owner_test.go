package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// catalogue is what ingest has accepted, for calls.
type catalogue struct {
	t   *testing.T
	bus *streamtest.Bus
	s   *ingest.Service
	mux *http.ServeMux
}

func newCatalogue(t *testing.T) *catalogue {
	t.Helper()
	bus := streamtest.NewBus()
	s := ingest.New(ingest.Config{}, ingest.Deps{
		Publisher: bus, Follower: bus, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	check.Run(t, s.Run)
	mux := http.NewServeMux()
	ingest.Routes(humago.New(mux, huma.DefaultConfig("toolstream", "1")), s)
	return &catalogue{t, bus, s, mux}
}

// list has a source list a document.
func (c *catalogue) list(name string, at Source, document string) {
	c.t.Helper()
	items, problems := formats.Parse([]byte(document), formats.Options{Provider: name})
	if len(problems) > 0 {
		c.t.Fatal(problems)
	}
	for _, o := range check.Value(c.s.Accept(c.t.Context(), identity.DefaultTenant, items, ingest.Options{Source: name, Endpoint: at.Endpoint()}))(c.t) {
		if o.State == ingest.Rejected {
			c.t.Fatalf("%s: %s", o.ID, o.Detail)
		}
	}
}

// send sends a request of a writer.
func (c *catalogue) send(method, path, media, body string) string {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r.WithContext(identity.With(r.Context(), writer)))
	return fmt.Sprintf("%d %s", w.Code, w.Body)
}

// tool returns the newest document of a tool.
func (c *catalogue) tool(_ context.Context, _ identity.Caller, id string) (schema.Entity, json.RawMessage, error) {
	var newest *events.Change
	for _, m := range c.bus.Published(events.ToolsRaw) {
		var one events.Change
		if err := json.Unmarshal(m.Value, &one); err != nil {
			return schema.Entity{}, nil, err
		}
		if one.ID == id {
			newest = &one
		}
	}
	if newest == nil || newest.Op == events.OpDelete {
		return schema.Entity{}, nil, errNoTool
	}
	return schema.Entity{Ref: newest.Ref, Provider: newest.Provider, From: newest.From, Endpoint: newest.Endpoint, Format: newest.Format}, newest.Raw, nil
}

var writer = identity.Caller{Tenant: identity.DefaultTenant, Subject: "wr", Role: identity.Writer}

// A source's credential goes with what the source listed: no document that was sent in its place
// decides what is called, or under which grant.
func TestWhatIsCalledIsWhatTheSourceListed(t *testing.T) {
	t.Setenv("ZOO_TOKEN", "S3CRET")
	var mu sync.Mutex
	var called []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		called = append(called, what)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "zoo", Version: "1"}, nil)
	for _, name := range []string{"wipe", "ro"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			note(name)
			return said("done " + name), nil
		})
	}
	c := newCatalogue(t)
	b := newBench(t, Config{}, func(d *Deps) {
		d.Tool = c.tool
		d.Policy = grantsOf(t, grant(policy.Call))
	})
	zoo := b.serve(t, "zoo", "wipe", changing, handler(server))
	shop := b.api(t, "shop", "GET", "/q", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		note(r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization"))
	}))
	b.places.Credentials = map[string]outbound.Credential{"zoo": {
		Kind: outbound.Bearer, Hosts: []string{strings.TrimPrefix(zoo.URL, "http://"), strings.TrimPrefix(shop.URL, "http://")}, Env: "ZOO_TOKEN",
	}}
	for name, s := range b.sources {
		s.Auth = &source.Auth{Credential: "zoo"}
		b.sources[name] = s
	}
	listed := func() {
		c.list("zoo", b.sources["zoo"], `{"tools":[
			{"name":"wipe","inputSchema":{"type":"object","required":["all"]},"annotations":{"readOnlyHint":false}},
			{"name":"ro","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		c.list("shop", b.sources["shop"], fmt.Sprintf(`[{"method":"GET","path":"/q","servers":[{"url":%q}],"operation":{"responses":{}}}]`, shop.URL))
	}
	listed()
	call := func(id string) string {
		mu.Lock()
		called = nil
		mu.Unlock()
		r, err := b.Call(t.Context(), writer, Request{Tool: id})
		mu.Lock()
		defer mu.Unlock()
		return outcome(r, err) + " " + strings.Join(called, ", ")
	}
	for _, tc := range []struct{ id, document, before string }{
		{"zoo/wipe", `{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, "refused 403 "},
		{"zoo/ro", `{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, "ok ro"},
		{"shop/GET /q", fmt.Sprintf(`{"method":"GET","path":"/admin/keys","servers":[{"url":%q}],"operation":{"responses":{}}}`, shop.URL), "ok GET /q Bearer S3CRET"},
	} {
		provider, _, _ := strings.Cut(tc.id, "/")
		envelope := fmt.Sprintf(`{"id":%q,"provider":%q,"document":%s}`, tc.id, provider, tc.document)
		event := func(kind, subject, data string) string {
			return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/s","type":"io.toolstream.%s","subject":%q,"provider":%q,"data":%s}`, tc.id+kind, kind, subject, provider, data)
		}
		put, cloud := "/v1/tools/"+url.PathEscape(tc.id), "application/cloudevents+json"
		for _, way := range [][4]string{
			{http.MethodPut, put, "application/json", tc.document},
			{http.MethodPut, put + "?version=7", "application/json", tc.document},
			{http.MethodPost, "/v1/tools:batch", "application/json", envelope},
			{http.MethodPost, "/v1/events", cloud, event("tool.upserted", tc.id, tc.document)},
			{http.MethodPost, "/v1/events", cloud, event("tools.published", provider, "["+envelope+"]")},
			{http.MethodPost, "/v1/events", cloud, event("openapi.published", provider, "["+envelope+"]")},
		} {
			if got := call(tc.id); got != tc.before {
				t.Errorf("%s before: %s, want %s", tc.id, got, tc.before)
			}
			answer := c.send(way[0], way[1], way[2], way[3])
			if !strings.Contains(answer, "is read from the source "+provider) {
				t.Errorf("%s by %s %s: %s", tc.id, way[0], way[1], answer)
			}
			if got := call(tc.id); got != tc.before {
				t.Errorf("%s by %s %s: %s, want %s", tc.id, way[0], way[1], got, tc.before)
			}
			listed()
		}
		if answer := c.send(http.MethodPut, put+"?take_over=true", "application/json", tc.document); !strings.HasPrefix(answer, "202") {
			t.Errorf("%s taken over: %s", tc.id, answer)
		}
		if got := call(tc.id); got != "refused 409 " {
			t.Errorf("%s taken over: %s", tc.id, got)
		}
		if listed(); call(tc.id) != tc.before {
			t.Errorf("%s once it is listed again: %s, want %s", tc.id, call(tc.id), tc.before)
		}
	}
}

// A document that a source listed at one address is not called at another one, whatever keeps it in
// the index: a server that is declared first would describe what is called at the second.
func TestASourceIsCalledForWhatItListsWhereItIs(t *testing.T) {
	t.Setenv("ZOO_TOKEN", "S3CRET")
	var called atomic.Int64
	c := newCatalogue(t)
	b := newBench(t, Config{}, func(d *Deps) { d.Tool = c.tool })
	server := func(name string) Source {
		s := answering(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			called.Add(1)
			return said(name), nil
		})
		at := b.serve(t, "shop", "sell", readOnly, handler(s))
		b.places.Credentials["token"] = outbound.Credential{
			Kind: outbound.Bearer, Hosts: append(b.places.Credentials["token"].Hosts, strings.TrimPrefix(at.URL, "http://")), Env: "ZOO_TOKEN",
		}
		out := b.sources["shop"]
		out.Auth = &source.Auth{Credential: "token"}
		return out
	}
	b.places.Credentials = map[string]outbound.Credential{}
	first, second := server("first"), server("second")
	document := `{"name":"sell","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	call := func() string {
		called.Store(0)
		r, err := b.Call(t.Context(), writer, Request{Tool: "shop/sell"})
		return fmt.Sprintf("%s %s %d", outcome(r, err), textOf(r), called.Load())
	}
	const moved = "refused 409  0"
	for _, tc := range []struct {
		what string
		do   func()
		want string
	}{
		{"listed at the first", func() { b.sources["shop"] = first; c.list("shop", first, `{"tools":[`+document+`]}`) }, "ok first 1"},
		{"moved to the second", func() { b.sources["shop"] = second }, moved},
		{"sent as it is", func() { c.send(http.MethodPut, "/v1/tools/shop%2Fsell?version=9", "application/json", document) }, moved},
		{"held", func() { c.send(http.MethodPost, "/v1/tools:quarantine", "application/json", `{"id":"shop/sell"}`) }, moved},
		{"listed at the second", func() { c.list("shop", second, `{"tools":[`+document+`]}`) }, "ok second 1"},
		{"moved back", func() { b.sources["shop"] = first }, moved},
		{"another credential", func() { b.sources["shop"] = second; second.Auth = nil; b.sources["shop"] = second }, "ok second 1"},
	} {
		tc.do()
		if got := call(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
		e, raw, err := c.tool(t.Context(), writer, "shop/sell")
		check.OK(t, err)
		if connected := b.Connections(writer)(&e, raw).Connected; connected == (tc.want == moved) {
			t.Errorf("%s: connected %v", tc.what, connected)
		}
	}
}
