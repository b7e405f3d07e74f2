package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site answers paths with their queries, and of a POST with its body. An answer that begins with a number and a space is
// of that status.
type site struct {
	answers map[string]string
	base    string

	mu    sync.Mutex // exports are asked for side by side
	asked []string
}

func serve(t *testing.T, answers map[string]string) *site {
	t.Helper()
	s := &site{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.base = server.URL
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.RequestURI()
	if r.Method == http.MethodPost {
		question, _ := io.ReadAll(r.Body)
		key += " " + string(question)
	}
	s.mu.Lock()
	s.asked = append(s.asked, key)
	s.mu.Unlock()
	body, there := s.answers[key]
	var status int
	switch n, _ := fmt.Sscanf(body, "%d ", &status); {
	case !there:
		w.WriteHeader(http.StatusNotFound)
	case n == 1:
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(status)
	default:
		io.WriteString(w, strings.ReplaceAll(body, "BASE", s.base))
	}
}

// open connects to a site at a path.
func (s *site) open(t *testing.T, c source.Connector, path string, change func(*source.Place)) source.Session {
	t.Helper()
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	t.Cleanup(all.Close)
	at := source.Place{URL: s.base + path, Client: all.Client(outbound.Options{Limit: 1 << 20}), Limits: source.Limits{Pages: 10, Bytes: 1 << 20}}
	change(&at)
	return check.Value(c.Connect(t.Context(), at, func() {}))(t)
}

// list returns a line for each thing that a session lists.
func list(t *testing.T, s source.Session) string {
	t.Helper()
	l := check.Value(s.List(t.Context(), true))(t)
	var lines []string
	for _, f := range l.Found {
		lines = append(lines, strings.TrimSpace(strings.Join([]string{f.Name, f.Spec.Kind, f.Spec.URL, f.Problem}, " ")))
	}
	for _, d := range l.Documents {
		if !l.Several {
			t.Error("the documents have one provider")
		}
		lines = append(lines, strings.TrimSpace(d.Provider+": "+string(d.Raw)+d.Problem))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got != strings.Join(want, "\n") {
		t.Errorf("listed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// kongAnswers has the members that Kong's reference shows of services, routes and plugins
// (https://developer.konghq.com/api/gateway/admin-oss/).
func kongAnswers() map[string]string {
	service := func(id, name, rest string) string {
		return fmt.Sprintf(`{"id":%q,"name":%s,"created_at":1422386534,"updated_at":1422386534,"retries":5,"protocol":"http","host":"example.com","port":80,"path":"/some_api",`+
			`"connect_timeout":60000,"write_timeout":60000,"read_timeout":60000%s}`, id, name, rest)
	}
	route := func(id, name, service, rest string) string {
		return fmt.Sprintf(`{"id":%q,"name":%s,"created_at":1422386534,"updated_at":1422386600,"protocols":["http","https"],"methods":["GET","POST"],"headers":null,`+
			`"https_redirect_status_code":426,"regex_priority":0,"strip_path":true,"path_handling":"v0","preserve_host":false,"service":{"id":%q}%s}`, id, name, service, rest)
	}
	page := func(offset string, all ...string) string {
		next := `"next":null`
		if offset != "" {
			next = fmt.Sprintf(`"next":"/services?offset=%s","offset":%q`, offset, offset)
		}
		return fmt.Sprintf(`{"data":[%s],%s}`, strings.Join(all, ","), next)
	}
	return map[string]string{
		"/admin/services?size=1000": page("b3Bh",
			service("s1", `"pets"`, `,"tags":["user-level","openapi:docs%2Fopenapi.json"],"enabled":true`),
			service("s2", `null`, `,"tags":null,"enabled":true`)),
		"/admin/services?offset=b3Bh&size=1000": page("",
			service("s3", `"off"`, `,"tags":["mcp"],"enabled":false`),
			service("s4", `"tools"`, `,"tags":[]`), service("s5", `"unrouted"`, ""), service("s6", `"untold"`, ""), service("s7", `"wrong"`, "")),
		"/admin/routes?size=1000": page("",
			route("r2", `"b"`, "s1", `,"paths":["/pets/v2"],"hosts":null,"tags":null`),
			route("r1", `"a"`, "s1", `,"paths":["/pets"],"hosts":null,"tags":null`),
			route("r3", `null`, "s2", `,"paths":null,"hosts":["mcp.example","other.example"],"tags":["mcp:v1"]`),
			route("r4", `"all"`, "s4", `,"paths":["/tools"],"tags":["mcp-or-not"]`),
			route("r5", `"half"`, "s4", `,"paths":["/half"]`),
			route("r6", `"x"`, "s6", `,"paths":["/x"]`),
			route("r7", `"re"`, "s7", `,"paths":["~/re/\\d+"],"tags":["openapi:o.json"]`),
			route("r8", `"wild"`, "s7", `,"hosts":["*.example"],"tags":["mcp"]`),
			route("r9", `"tag"`, "s7", `,"tags":["openapi:%zz"]`)),
		"/admin/plugins?size=1000": page("",
			`{"id":"p1","name":"ai-mcp-proxy","enabled":true,"route":{"id":"r4"},"service":null,"config":{"mode":"passthrough-listener"}}`,
			`{"id":"p2","name":"ai-mcp-proxy","enabled":true,"route":{"id":"r5"},"service":null,"config":{"mode":"conversion-only"}}`,
			`{"id":"p3","name":"rate-limiting","enabled":true,"route":{"id":"r6"},"service":null,"config":{"minute":20}}`),
	}
}

func TestKongNamesWhatItsTagsAndPluginsSay(t *testing.T) {
	s := serve(t, kongAnswers())
	session := s.open(t, Kong{}, "/admin", func(at *source.Place) { at.Proxy = "https://api.example:8443/" })
	wantLines(t, list(t, session),
		"pets openapi https://api.example:8443/pets/docs/openapi.json",
		"s2.r3 mcp https://mcp.example:8443/v1",
		"tools.all mcp https://api.example:8443/tools",
		"untold   neither the service nor any of its routes has a tag openapi:PATH, mcp or mcp:PATH",
		`wrong.re openapi o.json the first path of the route is a regular expression: ~/re/\d+`,
		"wrong.tag openapi %zz the path in the tag openapi:%zz is not percent-encoded",
		"wrong.wild mcp  the first host of the route has a wildcard: *.example",
	)
	l, err := session.List(t.Context(), false)
	if err != nil || !strings.Contains(string(l.Found[0].Owner), `"version":"1422386600"`) {
		t.Errorf("the route has changed: %s %v", l.Found[0].Owner, err)
	}
	if session.Live() {
		t.Error("it does not say when its list changes")
	}
}

func TestAListIsWholeOrAnError(t *testing.T) {
	for name, change := range map[string]func(map[string]string){
		"a page that fails":   func(a map[string]string) { a["/admin/services?offset=b3Bh&size=1000"] = "500 " },
		"routes that fail":    func(a map[string]string) { a["/admin/routes?size=1000"] = "502 " },
		"plugins that fail":   func(a map[string]string) { delete(a, "/admin/plugins?size=1000") },
		"a login page":        func(a map[string]string) { a["/admin/routes?size=1000"] = "<html>" },
		"a list of another":   func(a map[string]string) { a["/admin/routes?size=1000"] = `{"message":"welcome"}` },
		"a page that repeats": func(a map[string]string) { a["/admin/services?offset=b3Bh&size=1000"] = a["/admin/services?size=1000"] },
		"too much": func(a map[string]string) {
			a["/admin/routes?size=1000"] = `{"data":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`
		},
	} {
		answers := kongAnswers()
		change(answers)
		if l, err := serve(t, answers).open(t, Kong{}, "/admin/", func(at *source.Place) { at.Proxy = "https://api.example" }).List(t.Context(), true); err == nil {
			t.Errorf("%s: %d sources", name, len(l.Found))
		}
	}
	answers := kongAnswers()
	answers["/admin/routes?size=1000"] = `{"data":[],"x":[` + strings.Repeat("0,", 500_001) + `0]}`
	if _, err := serve(t, answers).open(t, Kong{}, "/admin/", func(at *source.Place) { at.Proxy = "https://api.example" }).List(t.Context(), true); !errors.Is(err, source.ErrSize) {
		t.Errorf("many values in few bytes: %v", err)
	}
	answers = kongAnswers()
	answers["/admin/services?size=1000"] = "401 "
	open := func(t *testing.T) source.Session {
		return serve(t, answers).open(t, Kong{}, "/admin", func(at *source.Place) { at.Proxy = "https://api.example" })
	}
	if _, err := open(t).List(t.Context(), true); !errors.Is(err, source.ErrAuth) {
		t.Errorf("401: %v", err)
	}
	answers["/admin/services?size=1000"] = "429 "
	var retry *source.RetryError
	if _, err := open(t).List(t.Context(), true); !errors.As(err, &retry) || retry.After != 90*time.Second {
		t.Errorf("429: %v", err)
	}
}

func TestAMappingReadsAList(t *testing.T) {
	for name, tc := range map[string]struct {
		mapping string
		answers map[string]string
		want    []string
	}{
		"pages by address, documents by address": {
			`{"items":"$.apis[?@.state == 'published']","next":"$.links.next","id":"$.id","document":"$.spec","version":"$.updated"}`,
			map[string]string{
				"/list":        `{"apis":[{"id":1234567890123456789,"state":"published","spec":"/specs/1.json","updated":3},{"id":"b","state":"retired","spec":"/b"}],"links":{"next":"list?page=2"}}`,
				"/list?page=2": `{"apis":[{"id":"c","state":"published","spec":"https://c.example/openapi.yaml"},{"id":"d","state":"published"}],"links":{"next":null}}`,
			},
			[]string{"1234567890123456789 openapi BASE/specs/1.json", "c openapi https://c.example/openapi.yaml", "d openapi  the list has no address of it at $.spec"},
		},
		"pages by a cursor, addresses by a pattern": {
			`{"items":"$.data[*]","next":"$.cursor","cursor":"after","id":"$.name","document":"https://mcp.example/{id}/mcp","kind":"mcp"}`,
			map[string]string{
				"/list":           `{"data":[{"name":"a/b"}],"cursor":"x y"}`,
				"/list?after=x+y": `{"data":[{"name":"c"}],"cursor":""}`,
			},
			[]string{"a/b mcp https://mcp.example/a%2Fb/mcp", "c mcp https://mcp.example/c/mcp"},
		},
		"documents in the list": {
			`{"items":"$[*]","id":"$.metadata.uid","document":"$.spec.definition"}`,
			map[string]string{"/list": `[{"metadata":{"uid":"a"},"spec":{"definition":"openapi: 3.1.0\ninfo: {title: A}\n"}},{"metadata":{"uid":"b"},"spec":{"definition":{"openapi":"3.1.0"}}}]`},
			[]string{"a: openapi: 3.1.0\ninfo: {title: A}", `b: {"openapi":"3.1.0"}`},
		},
	} {
		s := serve(t, tc.answers)
		mapping := mappingOf(t, tc.mapping)
		got := list(t, s.open(t, List{}, "/list", func(at *source.Place) { at.Mapping = mapping }))
		for i := range tc.want {
			tc.want[i] = strings.ReplaceAll(tc.want[i], "BASE", s.base)
		}
		t.Log(name)
		wantLines(t, got, tc.want...)
	}
}

func mappingOf(t *testing.T, text string) *source.Mapping {
	t.Helper()
	m := &source.Mapping{}
	check.OK(t, json.Unmarshal([]byte(text), m))
	check.OK(t, m.Validate())
	return m
}

// A list that cannot be read whole deletes nothing.
func TestAMappedListIsWholeOrAnError(t *testing.T) {
	const mapping = `{"items":"$.apis[*]","next":"$.next","id":"$.id","document":"$.spec"}`
	for name, answers := range map[string]map[string]string{
		"an API without an id":      {"/list": `{"apis":[{"id":"a","spec":"/a"},{"spec":"/b"}]}`},
		"an API twice":              {"/list": `{"apis":[{"id":"a","spec":"/a"},{"id":"a","spec":"/b"}]}`},
		"a page that fails":         {"/list": `{"apis":[{"id":"a","spec":"/a"}],"next":"/list?2"}`, "/list?2": "500 "},
		"a page on another host":    {"/list": `{"apis":[],"next":"https://elsewhere.example/list"}`},
		"pages in a circle":         {"/list": `{"apis":[],"next":"/list?2"}`, "/list?2": `{"apis":[],"next":"/list"}`},
		"a page that is cut off":    {"/list": `{"apis":[{"id":"a"`},
		"an answer that is no JSON": {"/list": `<html>`},
	} {
		if l, err := serve(t, answers).open(t, List{}, "/list", func(at *source.Place) { at.Mapping = mappingOf(t, mapping) }).List(t.Context(), true); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
	endless := map[string]string{"/list": `{"apis":[],"next":"/list?1"}`}
	for n := range 20 {
		endless[fmt.Sprintf("/list?%d", n)] = fmt.Sprintf(`{"apis":[],"next":"/list?%d"}`, n+1)
	}
	if _, err := serve(t, endless).open(t, List{}, "/list", func(at *source.Place) { at.Mapping = mappingOf(t, mapping) }).List(t.Context(), true); !errors.Is(err, errPages) {
		t.Errorf("endless pages: %v", err)
	}
}
