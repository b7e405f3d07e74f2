package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// testRegistry is one of a test: pages of two entries, as the contract has them.
type testRegistry struct {
	mu      sync.Mutex
	entries []string
	asked   []url.Values
	answer  func(w http.ResponseWriter, r *http.Request) bool // in place of a page, where it returns true
}

func (g *testRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, r.URL.Query())
	if r.URL.Path != "/v0.1/servers" {
		http.NotFound(w, r)
		return
	}
	if g.answer != nil && g.answer(w, r) {
		return
	}
	var entries []string
	since := r.URL.Query().Get("updated_since")
	for _, e := range g.entries {
		if since == "" && !strings.Contains(e, `"deleted"`) || since != "" && updatedAt(e) >= since {
			entries = append(entries, e)
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+2, len(entries))
	next := ""
	if to < len(entries) {
		next = fmt.Sprintf(`"nextCursor":"%d",`, to)
	}
	fmt.Fprintf(w, `{"servers":[%s],"metadata":{%s"count":%d}}`, strings.Join(entries[from:to], ","), next, to-from)
}

func updatedAt(entry string) string {
	_, rest, _ := strings.Cut(entry, `"updatedAt":"`)
	at, _, _ := strings.Cut(rest, `"`)
	return at
}

func (g *testRegistry) set(entries ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries, g.asked = entries, nil
}

// registryEntry is a server with remotes, of a version that was published and updated at a minute.
func registryEntry(name, version, status string, minute int, latest bool, remotes string) string {
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC).Format(time.RFC3339)
	return fmt.Sprintf(`{"server":{"name":%q,"title":"T","description":"Does it.","version":%q,"remotes":[%s]},`+
		`"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"publishedAt":%q,"updatedAt":%q,"isLatest":%v}}}`, name, version, remotes, status, at, at, latest)
}

func registryRemote(address string) string {
	return `{"type":"streamable-http","url":"` + address + `"}`
}

func openRegistry(t *testing.T, g http.Handler, path string) source.Session {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	at := source.Place{URL: server.URL + path, Client: server.Client(), Limits: source.Limits{Pages: 50, Tools: 100, Bytes: 1 << 20}}
	return check.Value(Registry{}.Connect(t.Context(), at, func() {}))(t)
}

// listRegistry returns the servers of a listing, each with its address or problem; "same" for one
// that says so.
func listRegistry(t *testing.T, s source.Session, whole bool) string {
	t.Helper()
	l := check.Value(s.List(t.Context(), whole))(t)
	if l.Same {
		return "same"
	}
	var all []string
	for _, f := range l.Found {
		all = append(all, f.Name+" "+f.Spec.URL+f.Problem)
	}
	return strings.Join(all, "\n")
}

func TestARegistryIsListedPageByPage(t *testing.T) {
	for _, path := range []string{"", "/", "/v0.1", "/v0.1/servers", "/v0.1/servers/"} {
		g := &testRegistry{}
		g.set(
			registryEntry("a/x", "1", StatusActive, 1, true, registryRemote("https://a.example/mcp")),
			registryEntry("b/x", "1", StatusActive, 1, true, `{"type":"sse","url":"https://b.example/sse"},`+registryRemote("https://b.example/mcp")),
			registryEntry("b/x", "2", StatusActive, 2, false, registryRemote("https://old.example/mcp")),
			registryEntry("c/x", "1", statusDeprecated, 3, true, registryRemote("https://c.example/mcp")),
			registryEntry("d/x", "1", StatusActive, 1, false, registryRemote("https://d1.example/mcp")),
			registryEntry("d/x", "2", StatusActive, 2, false, registryRemote("https://d2.example/mcp")),
		)
		if strings.HasSuffix(path, "servers/") {
			path = strings.TrimSuffix(path, "/")
		}
		if got, want := listRegistry(t, openRegistry(t, g, path), true), "a/x https://a.example/mcp\nb/x https://b.example/mcp\nd/x https://d2.example/mcp"; got != want {
			t.Errorf("%q:\n%s\nwant\n%s", path, got, want)
		}
		if len(g.asked) != 3 || g.asked[0].Get("limit") != "100" || g.asked[0].Get("version") != "latest" || g.asked[2].Get("cursor") != "4" {
			t.Errorf("asked %v", g.asked)
		}
	}
}

func TestTheEndpointIsFound(t *testing.T) {
	for address, want := range map[string]string{
		"https://h":    "https://h/v0.1/servers",
		"https://h/v0": "https://h/v0/servers",
		"https://h/workspaces/default/v0/servers": "https://h/workspaces/default/v0/servers",
		"https://h/registry/?a=b":                 "https://h/registry/v0.1/servers?a=b",
	} {
		s := check.Value(Registry{}.Connect(t.Context(), source.Place{URL: address}, nil))(t)
		if got := s.(*registrySession).endpoint.String(); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestChangesAreAskedForBetweenWholeLists(t *testing.T) {
	g := &testRegistry{}
	a, b := registryEntry("a/x", "1", StatusActive, 1, true, registryRemote("https://a.example")), registryEntry("b/x", "1", StatusActive, 30, true, registryRemote("https://b.example"))
	g.set(a, b)
	s := openRegistry(t, g, "")
	listRegistry(t, s, true)
	g.set(a, b)
	if got := listRegistry(t, s, false); got != "same" {
		t.Errorf("without a change: %s", got)
	}
	if since := g.asked[0].Get("updated_since"); since != "2026-01-01T00:25:00Z" { // on the registry's clock, and before the last change
		t.Errorf("asked since %s", since)
	}
	g.set(registryEntry("a/x", "2", StatusActive, 40, true, registryRemote("https://a2.example")), b, registryEntry("c/x", "1", StatusActive, 41, true, registryRemote("https://c.example")))
	if got, want := listRegistry(t, s, false), "a/x https://a2.example\nb/x https://b.example\nc/x https://c.example"; got != want {
		t.Errorf("after a change:\n%s", got)
	}
	g.set(registryEntry("a/x", "2", statusDeleted, 50, true, registryRemote("https://a2.example")))
	if got, want := listRegistry(t, s, false), "b/x https://b.example\nc/x https://c.example"; got != want {
		t.Errorf("after one was deleted:\n%s", got)
	}
	if g.asked[0].Get("updated_since") != "2026-01-01T00:36:00Z" {
		t.Errorf("asked since %v", g.asked)
	}
	g.set(b) // c was taken out, and nobody said so
	if got := listRegistry(t, s, true); got != "b/x https://b.example" || g.asked[0].Get("updated_since") != "" {
		t.Errorf("a whole list: %s, asked %v", got, g.asked)
	}
}

// A time of the future would hide every change until it comes.
func TestTheClockOfARegistryMayBeWrong(t *testing.T) {
	g := &testRegistry{}
	far := strings.ReplaceAll(registryEntry("a/x", "1", StatusActive, 1, true, registryRemote("https://a.example")), "2026", "2926")
	g.set(far)
	s := openRegistry(t, g, "")
	listRegistry(t, s, true)
	listRegistry(t, s, false)
	since, err := time.Parse(time.RFC3339, g.asked[1].Get("updated_since"))
	if err != nil || time.Until(since) > 0 {
		t.Errorf("asked since %v, %v", since, err)
	}
}

// A registry that tells no times is listed whole each time.
func TestARegistryWithoutTimes(t *testing.T) {
	g := &testRegistry{}
	plain := func(name string) string {
		return `{"server":{"name":"` + name + `","description":"d","version":"1","remotes":[` + registryRemote("https://"+name) + `]}}`
	}
	g.set(plain("a"), plain("b"))
	s := openRegistry(t, g, "")
	listRegistry(t, s, true)
	if got := listRegistry(t, s, false); got != "same" {
		t.Errorf("without a change: %s", got)
	}
	g.set(plain("b"))
	if got := listRegistry(t, s, false); got != "b https://b" || g.asked[0].Get("updated_since") != "" {
		t.Errorf("one is gone: %s, %v", got, g.asked)
	}
	g.set(`{"name":"old","description":"d","version":"1","remotes":[` + registryRemote("https://old") + `]}`)
	if got := listRegistry(t, s, false); got != "old https://old" {
		t.Errorf("the form before version 0.1: %s", got)
	}
}

func TestWhatAServerNeeds(t *testing.T) {
	for _, tc := range []struct{ server, want string }{
		{`"remotes":[{"type":"streamable-http","url":"https://{region}.example/{tenant}","variables":{"region":{"default":"eu"},"tenant":{"value":"t"}}}]`, "https://eu.example/t"},
		{`"remotes":[{"type":"streamable-http","url":"https://{tenant}.example","variables":{"tenant":{"isRequired":true}}}]`, `variable "tenant"`},
		{`"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"X-Key","isRequired":true,"isSecret":true}]}]`, `header "X-Key"`},
		{`"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"X-Trace"}]}]`, "https://x.example"},
		{`"remotes":[{"type":"streamable-http","url":"https://{a}.example"},{"type":"sse","url":"https://s.example/sse"}]`, "https://s.example/sse"},
		{`"packages":[{"registryType":"npm","identifier":"evil","transport":{"type":"stdio"}}]`, "command"},
		{`"remotes":[{"type":"carrier-pigeon","url":"https://x.example"}]`, "no address"},
		{`"title":"none"`, "no address"},
		{`"remotes":"none"`, "cannot be read"},
	} {
		g := &testRegistry{}
		g.set(`{"server":{"name":"n/s","description":"d","version":"1",` + tc.server + `}}`)
		l, err := openRegistry(t, g, "").List(t.Context(), true)
		if err != nil || len(l.Found) != 1 || l.Found[0].Name != "n/s" {
			t.Fatalf("%s: %+v, %v", tc.server, l, err)
		}
		f := l.Found[0]
		if !strings.Contains(f.Spec.URL+f.Problem, tc.want) || (f.Problem != "") == (f.Spec.URL != "") || len(f.Spec.Command) > 0 {
			t.Errorf("%s: %+v", tc.server, f)
		}
	}
}

// Half a list is none.
func TestARegistryFails(t *testing.T) {
	second := func(then func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("cursor") == "" {
				return false
			}
			then(w)
			return true
		}
	}
	var endless int
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		check  func(error) bool
	}{
		"half, and then 500":               {second(func(w http.ResponseWriter) { w.WriteHeader(500) }), func(err error) bool { return strings.Contains(err.Error(), "500") }},
		"half, and then less than JSON":    {second(func(w http.ResponseWriter) { fmt.Fprint(w, `{"servers":[`) }), func(err error) bool { return strings.Contains(err.Error(), "list of servers") }},
		"half, and then an error with 200": {second(func(w http.ResponseWriter) { fmt.Fprint(w, `{"error":"database is away"}`) }), func(err error) bool { return strings.Contains(err.Error(), "list of servers") }},
		"half, and then null":              {second(func(w http.ResponseWriter) { fmt.Fprint(w, `{"servers":null,"metadata":{}}`) }), func(err error) bool { return strings.Contains(err.Error(), "list of servers") }},
		"a cursor in a circle":             {second(func(w http.ResponseWriter) { fmt.Fprint(w, `{"servers":[],"metadata":{"nextCursor":"2"}}`) }), func(err error) bool { return errors.Is(err, errRegistryPages) }},
		"pages without an end": {func(w http.ResponseWriter, _ *http.Request) bool {
			endless++
			fmt.Fprintf(w, `{"servers":[],"metadata":{"nextCursor":"%d"}}`, endless)
			return true
		}, func(err error) bool { return errors.Is(err, errRegistryPages) }},
		"too many servers": {second(func(w http.ResponseWriter) {
			fmt.Fprintf(w, `{"servers":[%s{}],"metadata":{}}`, strings.Repeat("{},", 98))
		}), func(err error) bool { return errors.Is(err, errRegistryMany) }},
		"too many servers in one page": {second(func(w http.ResponseWriter) {
			fmt.Fprintf(w, `{"servers":[%s{}],"metadata":{}}`, strings.Repeat("{},", 100))
		}), func(err error) bool { return errors.Is(err, source.ErrSize) }},
		"too many bytes": {second(func(w http.ResponseWriter) {
			fmt.Fprintf(w, `{"servers":[{"server":{"name":"%s"}}],"metadata":{}}`, strings.Repeat("x", 1<<20))
		}), func(err error) bool { return errors.Is(err, source.ErrSize) }},
		"a login page":  {second(func(w http.ResponseWriter) { fmt.Fprint(w, `<html>Sign in</html>`) }), func(err error) bool { return strings.Contains(err.Error(), "login") }},
		"no credential": {second(func(w http.ResponseWriter) { w.WriteHeader(401) }), func(err error) bool { return errors.Is(err, source.ErrAuth) }},
		"later": {second(func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }), func(err error) bool {
			var retry *source.RetryError
			return errors.As(err, &retry) && retry.After == 7*time.Second
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &testRegistry{answer: tc.answer}
			var entries []string
			for i := range 4 {
				entries = append(entries, registryEntry(fmt.Sprintf("s/%d", i), "1", StatusActive, i, true, registryRemote("https://x.example")))
			}
			g.set(entries...)
			s := openRegistry(t, g, "")
			if l, err := s.List(t.Context(), true); err == nil || !tc.check(err) || len(l.Found) > 0 {
				t.Errorf("%d servers, %v", len(l.Found), err)
			}
		})
	}
}

func TestNothingIsFoundTwice(t *testing.T) {
	g := &testRegistry{}
	e := registryEntry("a/x", "1", StatusActive, 1, true, registryRemote("https://a.example"))
	g.set(e, e, e)
	l, err := openRegistry(t, g, "").List(t.Context(), true)
	if err != nil || len(l.Found) != 1 {
		t.Errorf("%d, %v", len(l.Found), err)
	}
	if !slices.Contains([]string{`{"description":"Does it.","name":"T"}`}, string(l.Found[0].Owner)) {
		t.Errorf("%s", l.Found[0].Owner)
	}
}
