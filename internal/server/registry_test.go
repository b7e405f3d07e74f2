package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

type fakeProviders map[string]catalogue.Entry

// Provider hides the source secret.
func (p fakeProviders) Provider(_ context.Context, id, source string) (catalogue.Entry, bool, error) {
	return p[id], id != "secret" || source != "secret", nil
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sourceAt is a source that is followed.
func sourceAt(name, address string, change ...func(*sources.Source)) sources.Source {
	s := sources.Source{Name: name, Spec: source.Spec{Kind: source.MCP, URL: address}}
	s.State, s.LastSuccess, s.LastChange = sources.Polling, noon.Add(time.Hour), noon
	for _, c := range change {
		c(&s)
	}
	return s
}

func foundIn(parent, called string) func(*sources.Source) {
	return func(s *sources.Source) { s.Parent, s.Called = parent, called }
}

func exampleRegistry() *registry {
	long := strings.Repeat("ä", 300)
	all := []sources.Source{
		sourceAt("official", "https://registry.example", func(s *sources.Source) { s.Kind = source.MCPRegistry }),
		sourceAt("official.a", "https://files.example/mcp", foundIn("official", "io.github.acme/files")),
		sourceAt("shop", "https://mcp.shop.example/mcp", func(s *sources.Source) { s.Auth = &source.Auth{Credential: "own"} }),
		sourceAt("local", "http://127.0.0.1:9000/sse", func(s *sources.Source) { s.LastChange = noon.Add(time.Minute) }),
		sourceAt("twin", "https://files.example/other", foundIn("official", "io.github.acme/files")),
		sourceAt("hidden", "https://bad.example/mcp"),
		sourceAt("secret", "https://secret.example/mcp"),
		sourceAt("starts", "", func(s *sources.Source) { s.Command = []string{"npx"} }),
		sourceAt("pets", "https://pets.example/openapi.json", func(s *sources.Source) { s.Kind = source.OpenAPI }),
		sourceAt("unseen", "https://unseen.example/mcp", func(s *sources.Source) { s.LastSuccess = time.Time{} }),
		sourceAt("paused", "https://paused.example/mcp", func(s *sources.Source) { s.State = sources.Paused }),
	}
	return &registry{
		Sources: func(_ context.Context, owner string) ([]sources.Source, error) {
			switch owner {
			case identity.DefaultTenant:
				return all, nil
			case "acme":
				return nil, nil
			}
			return nil, errors.New("away")
		},
		Providers: fakeProviders{
			"shop":   {Name: "The shop", Description: "Sells things. " + long},
			"hidden": {Name: "Bad", Quarantined: true},
		},
	}
}

func registryHandler(r *registry) http.Handler {
	api, mux := httpserver.NewAPI("test")
	r.routes(api)
	return mux
}

func getServers(t *testing.T, owner, path string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(identity.With(t.Context(), identity.Caller{Tenant: owner, Role: identity.Admin}), http.MethodGet, path, nil)
	w := httptest.NewRecorder()
	registryHandler(exampleRegistry()).ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// serverNames returns the names in a page, and the cursor of the next one.
func serverNames(t *testing.T, body string) (string, string) {
	t.Helper()
	var l mcp.ServerList
	if err := json.Unmarshal([]byte(body), &l); err != nil || l.Servers == nil || l.Metadata.Count != len(l.Servers) {
		t.Fatalf("%v: %s", err, body)
	}
	var all []string
	for _, e := range l.Servers {
		all = append(all, e.Server.Name)
	}
	return strings.Join(all, " "), l.Metadata.NextCursor
}

func TestServersAreListed(t *testing.T) {
	const files, shop, local = "io.github.acme/files", "example.shop.mcp/shop", "localhost/local"
	for query, want := range map[string]string{
		"":                                    shop + " " + files + " " + local,
		"?search=SHOP":                        shop,
		"?search=nothing":                     "",
		"?version=latest":                     shop + " " + files + " " + local,
		"?version=9":                          "",
		"?updated_since=2026-03-01T12:00:30Z": local,
		"?updated_since=2026-03-01T12:00:00.5Z&include_deleted=true": local,
		"?limit=2":                 shop + " " + files,
		"?limit=2&cursor=" + files: local,
		"?unknown=1":               shop + " " + files + " " + local,
	} {
		code, body := getServers(t, identity.DefaultTenant, "/v0.1/servers"+query)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, body)
		}
		if got, next := serverNames(t, body); got != want || (next == files) != (query == "?limit=2") {
			t.Errorf("%s: %s, then %q; want %s", query, got, next, want)
		}
	}
	if _, body := getServers(t, "acme", "/v0.1/servers"); !strings.Contains(body, `"servers":[]`) {
		t.Errorf("another tenant: %s", body)
	}
}

func TestOneServerIsShown(t *testing.T) {
	for path, want := range map[string]int{
		"/example.shop.mcp%2Fshop/versions":                200,
		"/example.shop.mcp%2Fshop/versions/latest":         200,
		"/example.shop.mcp%2Fshop/versions/1.0.1772366400": 200,
		"/example.shop.mcp%2Fshop/versions/1.0.0":          404,
		"/example.bad%2Fhidden/versions/latest":            404,
		"/none%2Fnone/versions":                            404,
		"?limit=0":                                         422,
		"?limit=101":                                       422,
		"?updated_since=yesterday":                         422,
	} {
		if code, body := getServers(t, identity.DefaultTenant, "/v0.1/servers"+path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := getServers(t, "broken", "/v0.1/servers"); code != http.StatusServiceUnavailable {
		t.Errorf("without the sources: %d", code)
	}
	_, body := getServers(t, identity.DefaultTenant, "/v0.1/servers/example.shop.mcp%2Fshop/versions/latest")
	for _, part := range []string{`"title":"The shop"`, `"isRequired":true,"isSecret":true`, `"status":"active"`, `"isLatest":true`, `"type":"streamable-http","url":"https://mcp.shop.example/mcp"`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
	if strings.Contains(body, "own") {
		t.Errorf("it names the credential: %s", body)
	}
}

// entrySchema says what the form of 2025-12-11 demands of an entry, as far as it is told.
const entrySchema = `{
	"type": "object", "required": ["server", "_meta"], "additionalProperties": false,
	"properties": {
		"server": {
			"type": "object", "required": ["$schema", "name", "description", "version"],
			"properties": {
				"$schema": {"type": "string", "minLength": 1},
				"name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
				"description": {"type": "string", "minLength": 1, "maxLength": 100},
				"title": {"type": "string", "minLength": 1, "maxLength": 100},
				"version": {"type": "string", "minLength": 1, "maxLength": 255, "not": {"const": "latest"}},
				"remotes": {"type": "array", "items": {
					"type": "object", "required": ["type", "url"],
					"properties": {
						"type": {"enum": ["streamable-http", "sse"]},
						"url": {"type": "string", "pattern": "^https?://[^\\s]+$"},
						"headers": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
							"name": {"type": "string"}, "isRequired": {"type": "boolean"}, "isSecret": {"type": "boolean"}}}}
					}}}
			}
		},
		"_meta": {"type": "object", "required": ["io.modelcontextprotocol.registry/official"], "properties": {
			"io.modelcontextprotocol.registry/official": {
				"type": "object", "required": ["status", "statusChangedAt", "publishedAt", "isLatest"], "additionalProperties": false,
				"properties": {
					"status": {"enum": ["active", "deprecated", "deleted"]}, "isLatest": {"type": "boolean"}, "statusMessage": {"type": "string"},
					"statusChangedAt": {"format": "date-time"}, "publishedAt": {"format": "date-time"}, "updatedAt": {"format": "date-time"}
				}
			}}}
	}
}`

func TestEntriesHaveTheFormOfTheContract(t *testing.T) {
	parsed := check.Value(jsonschema.UnmarshalJSON(strings.NewReader(entrySchema)))(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	check.OK(t, c.AddResource("entry.json", parsed))
	schema := check.Value(c.Compile("entry.json"))(t)
	_, body := getServers(t, identity.DefaultTenant, "/v0.1/servers")
	answer := check.Value(jsonschema.UnmarshalJSON(strings.NewReader(body)))(t)
	entries := answer.(map[string]any)["servers"].([]any)
	if len(entries) != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries {
		if err := schema.Validate(e); err != nil {
			t.Errorf("%v: %v", e, err)
		}
	}
}

// What is served is read by the connector that reads registries.
func TestAnotherIndexReadsTheRegistry(t *testing.T) {
	h := registryHandler(exampleRegistry())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(identity.With(r.Context(), identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Admin})))
	}))
	defer server.Close()
	s := check.Value(mcp.Registry{}.Connect(t.Context(), source.Place{URL: server.URL, Client: server.Client(), Limits: source.Limits{Pages: 9, Tools: 9, Bytes: 1 << 20}}, func() {}))(t)
	l, err := s.List(t.Context(), true)
	if err != nil || len(l.Found) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	var all []string
	for _, f := range l.Found {
		all = append(all, f.Name+" "+f.Spec.URL+f.Problem)
	}
	want := `example.shop.mcp/shop it needs the header "Authorization": add it by hand; io.github.acme/files https://files.example/mcp; localhost/local http://127.0.0.1:9000/sse`
	if got := strings.Join(all, "; "); got != want {
		t.Errorf("%s", got)
	}
	if l, err = s.List(t.Context(), false); err != nil || !l.Same {
		t.Errorf("again: %+v, %v", l, err)
	}
}

func TestNamesHaveTheFormOfTheContract(t *testing.T) {
	for _, tc := range []struct{ name, address, called, parent, want string }{
		{"a", "https://x.example", "io.github.a/b", source.MCPRegistry, "io.github.a/b"},
		{"r.a", "https://x.example", "not a name", source.MCPRegistry, "example.x/r.a"},
		{"r.a", "https://x.example", "io.github.a/b", "docker-catalog", "example.x/r.a"},
		{"a", "https://[::1]:80/", "", "", "localhost/a"},
		{"a", "https://localhost/", "", "", "localhost/a"},
		{"a", "https://bücher.example/", "", "", "localhost/a"},
		{"a", "https://under_score.example/", "", "", "localhost/a"},
	} {
		got := registryName(sourceAt(tc.name, tc.address, foundIn("r", tc.called)), tc.parent)
		if got != tc.want || !nameForm.MatchString(got) {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}
