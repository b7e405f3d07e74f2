package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web serves files from memory, with what a test says beside them.
type web struct {
	files  map[string]string
	etags  bool
	status int
	asked  []string
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.asked = append(w.asked, r.URL.Path)
	text, there := w.files[r.URL.Path]
	tag := fmt.Sprintf(`"%x"`, len(text))
	switch {
	case w.status != 0:
		rw.Header().Set("Retry-After", "90")
		rw.WriteHeader(w.status)
		return
	case !there:
		rw.WriteHeader(http.StatusNotFound)
		return
	case w.etags && r.Header.Get("If-None-Match") == tag:
		rw.WriteHeader(http.StatusNotModified)
		return
	case w.etags:
		rw.Header().Set("ETag", tag)
	}
	rw.Header().Set("Cache-Control", "public, max-age=120")
	io.WriteString(rw, text)
}

func petStore(title string, paths ...string) string {
	var all []string
	for _, p := range paths {
		all = append(all, fmt.Sprintf(`%q:{"get":{"summary":"Gets %s"}}`, p, p))
	}
	return fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":%q,"version":"1"},"servers":[{"url":"../v2"}],"paths":{%s}}`, title, strings.Join(all, ","))
}

// open connects to a site at a path.
func open(t *testing.T, w *web, path string) source.Session {
	t.Helper()
	return openAs(t, URL{}, w, path)
}

func openAs(t *testing.T, c source.Connector, w *web, path string) source.Session {
	t.Helper()
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	t.Cleanup(all.Close)
	return check.Value(c.Connect(t.Context(), source.Place{URL: server.URL + path, Client: all.Client(outbound.Options{Limit: 1 << 20}), Limits: source.Limits{Bytes: 1 << 20}}, func() {}))(t)
}

// tools returns the ids of the tools that a listing holds, and the first document.
func tools(t *testing.T, l source.Listing) (ids string, raw string) {
	t.Helper()
	var out []string
	for _, d := range l.Documents {
		opt := formats.Options{Source: d.Name, Base: d.Base, Provider: "shop"}
		if l.Several {
			opt.Provider, opt.Below = "", "shop"
		}
		items, problems := formats.Parse(d.Raw, opt)
		if len(problems) > 0 {
			t.Fatal(problems[0].Error())
		}
		for _, item := range items {
			out = append(out, item.ID)
			raw += string(item.Raw)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", "), raw
}

func list(t *testing.T, s source.Session, whole bool) source.Listing {
	t.Helper()
	return check.Value(s.List(t.Context(), whole))(t)
}

func TestADocumentIsReadAgainWhereItHasChanged(t *testing.T) {
	w := &web{etags: true, files: map[string]string{"/api/openapi.json": petStore("Pets", "/a", "/b")}}
	s := open(t, w, "/api/openapi.json")
	l := list(t, s, true)
	ids, raw := tools(t, l)
	if ids != "shop/GET /a, shop/GET /b" || l.Fresh != 2*time.Minute || s.Live() {
		t.Errorf("%s, fresh for %v", ids, l.Fresh)
	}
	if !strings.Contains(raw, `/v2"`) || strings.Contains(raw, "../v2") || !strings.Contains(raw, "http://127.0.0.1") {
		t.Errorf("the server is not resolved: %s", raw)
	}
	if l = list(t, s, false); !l.Same {
		t.Errorf("the server says that nothing has changed: %+v", l)
	}
	if l = list(t, s, true); l.Same {
		t.Error("a whole list is the same")
	}
	w.files["/api/openapi.json"] = petStore("Pets", "/a", "/b", "/c")
	if ids, _ = tools(t, list(t, s, false)); ids != "shop/GET /a, shop/GET /b, shop/GET /c" {
		t.Errorf("after the change: %s", ids)
	}
	w.etags, w.asked = false, nil
	list(t, s, true)
	list(t, s, false)
	if len(w.asked) != 2 {
		t.Errorf("without validators, two lists asked for %q", w.asked)
	}
}

func TestADocumentIsReadWithTheFilesBesideIt(t *testing.T) {
	w := &web{etags: true, files: map[string]string{
		"/api/v1/openapi":      "openapi: 3.0.0\ninfo: {title: Pets, version: '1'}\npaths:\n  /a:\n    $ref: paths/a.yaml\n",
		"/api/v1/paths/a.yaml": "get:\n  summary: Gets a\n  parameters:\n    - $ref: '../../common/p.json#/limit'\n",
		"/api/common/p.json":   `{"limit":{"name":"limit","in":"query","description":"how many","schema":{"type":"integer"}}}`,
	}}
	s := open(t, w, "/api/v1/openapi")
	ids, raw := tools(t, list(t, s, true))
	if !strings.HasSuffix(ids, "GET /a") || !strings.Contains(raw, "how many") {
		t.Errorf("%s: %s", ids, raw)
	}
	if l := list(t, s, false); !l.Same {
		t.Error("no file has changed")
	}
	delete(w.files, "/api/common/p.json")
	if _, err := s.List(t.Context(), false); err == nil {
		t.Error("a file that is gone is no error")
	}
}

func TestAnIndexPageNamesItsDocuments(t *testing.T) {
	pages := map[string]string{
		"Swagger UI":    `<html><script src="./swagger-initializer.js"></script></html>`,
		"configuration": `{"urls":[{"url":"/a/openapi.json","name":"a"},{"url":"b.json","name":"b"},{"url":"https://elsewhere.example/c.json"}]}`,
		"FastAPI":       `<!DOCTYPE html><script>const ui = SwaggerUIBundle({ url: '/a/openapi.json', x: 1 }); // url: "b.json"</script>`,
		"ReDoc":         `<html><redoc spec-url="/a/openapi.json"></redoc><redoc spec-url='b.json'></redoc></html>`,
	}
	for name, page := range pages {
		w := &web{files: map[string]string{
			"/docs/": page, "/docs/b.json": petStore("Shop", "/b"), "/a/openapi.json": petStore("Pets", "/a"),
			"/docs/swagger-initializer.js": `SwaggerUIBundle({ urls: [ {url: "/a/openapi.json", name: "a"}, {"url":"b.json"} ] })`,
		}}
		s := open(t, w, "/docs/")
		l := list(t, s, true)
		if ids, _ := tools(t, l); ids != "shop/pets/GET /a, shop/shop/GET /b" || !l.Several {
			t.Errorf("%s: %s", name, ids)
		}
		w.files["/docs/b.json"] = "<html>please log in</html>"
		if l, err := s.List(t.Context(), false); err == nil {
			t.Errorf("%s: a login page in place of a document: %d documents", name, len(l.Documents))
		}
	}
}

func TestWhatIsNoDocumentIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		"<!doctype html><form action='/login'>": "HTML",
		`{"error":"maintenance"}`:               "no OpenAPI document",
		"":                                      "no OpenAPI document",
		`{"openapi":"3.1.0","x":"` + strings.Repeat("x", 1<<20) + `"}`: "too large",
	} {
		_, err := open(t, &web{files: map[string]string{"/": body}}, "/").List(t.Context(), true)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", body, err, want)
		}
	}
	if _, err := open(t, &web{status: 401}, "/").List(t.Context(), true); !errors.Is(err, source.ErrAuth) {
		t.Errorf("401: %v", err)
	}
	var retry *source.RetryError
	if _, err := open(t, &web{status: 503}, "/").List(t.Context(), true); !errors.As(err, &retry) || retry.After != 90*time.Second {
		t.Errorf("503: %v", err)
	}
}

func TestAFolderIsReadAndWatched(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("pets/openapi.json", petStore("Pets", "/a"))
	write("shop/openapi.json", petStore("Shop", "/b"))
	write(".git/config.json", petStore("Hidden", "/c"))
	write("notes.bin", "nothing")
	changed := make(chan struct{}, 10)
	s := check.Value(Folder{}.Connect(t.Context(), source.Place{URL: dir, Limits: source.Limits{Bytes: 1 << 20}}, func() { changed <- struct{}{} }))(t)
	defer s.Close()
	if ids, _ := tools(t, list(t, s, true)); ids != "shop/pets/GET /a, shop/shop/GET /b" || !s.Live() {
		t.Errorf("%s", ids)
	}
	write("pets/openapi.json", petStore("Pets", "/a", "/z"))
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was told of the change")
	}
	if ids, _ := tools(t, list(t, s, true)); ids != "shop/pets/GET /a, shop/pets/GET /z, shop/shop/GET /b" {
		t.Errorf("after the change: %s", ids)
	}
	check.OK(t, os.Symlink("/etc/passwd", filepath.Join(dir, "out.json")))
	if _, err := s.List(t.Context(), true); err == nil {
		t.Error("a link that leads out of the folder is followed")
	}
	if _, err := (Folder{}).Connect(context.Background(), source.Place{URL: filepath.Join(dir, "none")}, func() {}); err == nil {
		t.Error("a folder that is not there")
	}
}
