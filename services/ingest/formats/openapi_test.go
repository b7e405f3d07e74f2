package formats

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	tooloperation "github.com/toolstream/toolstream/internal/tooldoc/operation"
)

// document is an OpenAPI document with the given paths and components.
func document(paths, components string) string {
	return `{"openapi":"3.0.3","info":{"title":"The Sky API","version":"1"},"paths":` + paths + `,"components":` + components + `}`
}

func TestOpenAPI(t *testing.T) {
	runParsing(t, []parsing{
		{"operations", document(`{"/b":{"post":{},"get":{"operationId":"listB"},"x-y":{},"summary":"s"},"/a":{"delete":{}},"x-z":1}`, `{}`), Options{Source: "file.json"},
			[]string{"tool openapi the-sky-api/DELETE /a [the-sky-api] DELETE /a", "tool openapi the-sky-api/GET /b [the-sky-api] listB", "tool openapi the-sky-api/POST /b [the-sky-api] POST /b"}},
		{"the caller's provider", document(`{"/a":{"get":{}}}`, `{}`), Options{Provider: "sky"}, []string{"tool openapi sky/GET /a [sky] GET /a"}},
		{"no title", `{"openapi":"3.1.0","paths":{"/a":{"get":{}}}}`, Options{Source: "my.api.yaml"}, []string{"tool openapi my.api/GET /a [my.api] GET /a"}},
		{"one operation for an id", document(`{"/a":{"get":{}}}`, `{}`), Options{ID: "x"}, []string{"tool openapi x [the-sky-api] GET /a"}},
		{"two operations for an id", document(`{"/a":{"get":{},"put":{}}}`, `{}`), Options{ID: "x"}, []string{"! more than one tool /paths"}},
		{"OpenAPI 3.2", `{"openapi":"3.2.0","info":{"title":"T"},"paths":{"/a":{"query":{},"additionalOperations":{"COPY":{}}}}}`, Options{}, []string{"tool openapi t/QUERY /a [t] QUERY /a", "tool openapi t/COPY /a [t] COPY /a"}},
		{"Swagger 2.0", `{"swagger":"2.0","info":{"title":"T"},"paths":{"/a":{"post":{"parameters":[{"in":"body","name":"b","schema":{"$ref":"#/definitions/D"}}]}}},"definitions":{"D":{"type":"object"}}}`, Options{}, []string{"tool openapi t/POST /a [t] POST /a"}},
		{"YAML", "openapi: 3.0.0\ninfo: {title: T}\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n", Options{}, []string{"tool openapi t/GET /a [t] GET /a"}},
		{"YAML with a number as version", "swagger: 2.0\ninfo: {title: T}\npaths:\n  /a: {get: {}}\n", Options{}, []string{"tool openapi t/GET /a [t] GET /a"}},
		{"no version", `{"info":{"title":"T"},"paths":{"/a":{"get":{}}}}`, Options{}, []string{"tool openapi t/GET /a [t] GET /a"}},
		{"an unknown version", `{"openapi":"4.0.0","info":{"title":"T"},"paths":{}}`, Options{}, []string{"! unsupported OpenAPI version /openapi"}},
		{"an old version", `{"swagger":"1.2","info":{"title":"T"},"paths":{}}`, Options{}, []string{"! unsupported OpenAPI version /swagger"}},
		{"no operations", document(`{"/a":{}}`, `{}`), Options{}, []string{"! empty /paths"}},
		{"nothing but a version", "openapi: 3.1.0\n", Options{}, []string{"! empty /paths"}},
		{"only webhooks", `{"openapi":"3.1.0","info":{},"webhooks":{"x":{"post":{}}}}`, Options{}, []string{"! empty /paths"}},
		{"wrong types", document(`{"/a":{"get":7,"put":{}},"/b":[]}`, `{}`), Options{}, []string{"tool openapi the-sky-api/PUT /a [the-sky-api] PUT /a", "! wrong type /paths/~1b", "! wrong type /paths/~1a/get"}},
		{"a document in an array", `[` + document(`{"/a":{"get":{"requestBody":{"$ref":"http://x/y"}}}}`, `{}`) + `]`, Options{}, []string{"! external reference not allowed /0/paths/~1a/get/requestBody/$ref"}},
		{"a document in an envelope", `{"provider":"g","document":` + document(`{"/a":{"get":{}},"/b":{"get":{}}}`, `{}`) + `}`, Options{}, []string{"tool openapi g/GET /a [g] GET /a", "tool openapi g/GET /b [g] GET /b"}},
		{"a long operationId", document(`{"/a":{"get":{"operationId":"`+strings.Repeat("x", 300)+`"}}}`, `{}`), Options{}, []string{"tool openapi the-sky-api/GET /a [the-sky-api] GET /a"}},
		{"many parameters", document(`{"/a":{"get":{"parameters":[`+strings.TrimSuffix(strings.Repeat(`{},`, 5000), ",")+`]}}}`, `{}`), Options{}, []string{"! too many parameters /paths/~1a/get/parameters"}},
	})
}

func TestReferencesOutward(t *testing.T) {
	for _, ref := range []string{
		"http://169.254.169.254/x", "https://example.com/a.json#/X", "file:///etc/passwd", "../../etc/passwd", "other.yaml", "//host/x", "Pet", "a#/b",
	} {
		doc := document(`{"/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/R"}}}},"/b":{"get":{}},"/c":{"$ref":"`+ref+`"}}`,
			`{"responses":{"R":{"content":{"x":{"schema":{"$ref":"#/components/schemas/S"}}}}},"schemas":{"S":{"properties":{"p":{"$ref":"`+ref+`"}}}}}`)
		items, problems := Parse([]byte(doc), Options{})
		want := []string{"tool openapi the-sky-api/GET /b [the-sky-api] GET /b", "! external reference not allowed /paths/~1c/$ref", "! external reference not allowed /components/schemas/S/properties/p/$ref"}
		if got := lines(items, problems); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: have %q, want %q", ref, got, want)
		}
		if len(problems) == 2 && (!strings.Contains(problems[1].Detail, ref) || problems[1].ID != "the-sky-api/GET /a") {
			t.Errorf("%s: the problem does not name it: %+v", ref, problems[1])
		}
	}
}

// TestReferencesThatAreData checks the places where $ref refers to nothing.
func TestReferencesThatAreData(t *testing.T) {
	doc := document(`{"/a":{"get":{
		"x-code":{"$ref":"./sample.py"},
		"parameters":[{"name":"$ref","in":"query","schema":{"type":"object","properties":{"$ref":{"type":"string"},"x-y":{"type":"string"},"example":{"$ref":"#/components/schemas/S"}},"example":{"$ref":"http://x"},"default":{"$ref":"http://x"},"enum":[{"$ref":"http://x"}]}}],
		"requestBody":{"content":{"j":{"examples":{"e":{"value":{"$ref":"http://x"}},"f":{"$ref":"#/components/examples/F"}}}}}}}}`,
		`{"schemas":{"S":{"type":"integer"}},"examples":{"F":{"value":{"$ref":"http://x"}}}}`)
	items, problems := Parse([]byte(doc), Options{})
	if len(items) != 1 || len(problems) != 0 {
		t.Fatalf("have %v and %v", items, problems)
	}
	op := operationOf(t, items[0])
	if got := dig(op, "parameters", 0, "schema", "properties", "example", "type"); got != "integer" {
		t.Errorf("a property called example is not followed: %v", got)
	}
	if got := dig(op, "requestBody", "content", "j", "examples", "f", "value", "$ref"); got != "http://x" {
		t.Errorf("an example is not put in place as it is: %v", got)
	}
}

func operationOf(t *testing.T, it Item) map[string]any {
	t.Helper()
	var raw struct {
		Operation map[string]any `json:"operation"`
	}
	if err := json.Unmarshal(it.Raw, &raw); err != nil {
		t.Fatal(err)
	}
	return raw.Operation
}

// dig follows keys and indices into a decoded document.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func TestOperationDocument(t *testing.T) {
	doc := `{"openapi":"3.0.0","info":{"title":"T","version":"2","description":"About","license":{}},"servers":[{"url":"https://x"}],
	"paths":{"/a/{id}":{"parameters":[{"name":"id","in":"path","description":"shared"},{"$ref":"#/components/parameters/Lang"},{"name":"page","in":"query"}],
	"get":{"parameters":[{"name":"page","in":"query","description":"own"}],"requestBody":{"$ref":"#/components/requestBodies/B","description":"beside"},"responses":{"200":{"$ref":"#/components/responses/R"}}}}},
	"components":{"parameters":{"Lang":{"name":"lang","in":"header"}},"requestBodies":{"B":{"description":"B","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Node"}}}}},
	"responses":{"R":{"description":"R","content":{"application/json":{"schema":{"$ref":"#/components/schemas/L1"}}}}},
	"schemas":{"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"},"gone":{"$ref":"#/components/schemas/Gone"},"odd":{"$ref":"#/components/schemas/a~1b%20c"}}},
	"a/b c":{"type":"boolean"},"L1":{"items":{"$ref":"#/components/schemas/L2"}},"L2":{"items":{"$ref":"#/components/schemas/L3"}},"L3":{"type":"string"}}}}`
	items, problems := Parse([]byte(doc), Options{})
	if len(items) != 1 || len(problems) != 0 {
		t.Fatalf("have %v and %v", items, problems)
	}
	want := `{"api":{"description":"About","title":"T","version":"2"},"method":"GET","operation":{` +
		`"parameters":[{"description":"shared","in":"path","name":"id"},{"in":"header","name":"lang"},{"description":"own","in":"query","name":"page"}],` +
		`"requestBody":{"content":{"application/json":{"schema":{"properties":{"gone":{"$ref":"#/components/schemas/Gone"},"next":{"$ref":"#/components/schemas/Node"},"odd":{"type":"boolean"}},"type":"object"}}},"description":"beside"},` +
		`"responses":{"200":{"content":{"application/json":{"schema":{"items":{"items":{"$ref":"#/components/schemas/L3"}}}}},"description":"R"}}` +
		`},"path":"/a/{id}","servers":[{"url":"https://x"}]}`
	if got := string(items[0].Raw); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
}

func TestSwaggerServers(t *testing.T) {
	for head, want := range map[string]any{
		`"host":"x.org","basePath":"/v1","schemes":["http"]`: "http://x.org/v1",
		`"host":"x.org","schemes":["http","https"]`:          "https://x.org",
		`"basePath":"/v1"`: nil,
	} {
		items, _ := Parse([]byte(`{"swagger":"2.0","info":{"title":"T"},`+head+`,"paths":{"/a":{"get":{}}}}`), Options{})
		var raw map[string]any
		if err := json.Unmarshal(items[0].Raw, &raw); err != nil {
			t.Fatal(err)
		}
		if got := dig(raw, "servers", 0, "url"); got != want {
			t.Errorf("%s: have %v, want %v", head, got, want)
		}
	}
}

// hashesOf returns the hash of every operation of a document.
func hashesOf(t testing.TB, doc string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for it, p := range Read(strings.NewReader(doc), Options{Source: "x.json"}) {
		if p != nil {
			t.Fatalf("%v in %s", p, doc)
		}
		out[it.ID] = it.Hash
	}
	return out
}

// What a path says of all its operations is said of each that says nothing of itself.
func TestOperationsInheritWhatTheirPathSays(t *testing.T) {
	items, problems := Parse([]byte(`{"openapi":"3.0.0","info":{"title":"T"},"paths":{"/points":{"summary":"Grid","description":"Finds the grid.",
		"get":{},"post":{"description":"Adds one."},"put":{"summary":"","description":null}}}}`), Options{Source: "x.json"})
	if len(problems) > 0 || len(items) != 3 {
		t.Fatalf("%d operations, %v", len(items), problems)
	}
	for _, it := range items {
		var raw struct {
			Operation struct{ Summary, Description string } `json:"operation"`
		}
		if err := json.Unmarshal(it.Raw, &raw); err != nil {
			t.Fatal(err)
		}
		summary, description := "Grid", "Finds the grid."
		if strings.Contains(it.ID, "POST") {
			summary, description = "", "Adds one."
		}
		if got := raw.Operation; got.Summary != summary || got.Description != description {
			t.Errorf("%s: %+v", it.ID, got)
		}
	}
}

func TestOperationHash(t *testing.T) {
	base := `{"openapi":"3.0.0","info":{"title":"T","version":"1","description":"d"},"servers":[{"url":"u"}],"tags":[{"name":"x"}],
	"paths":{"/a":{"parameters":[{"name":"p","in":"query"}],"summary":"S","get":{"description":"own","responses":{"200":{"$ref":"#/components/responses/R"}}}},"/b":{"get":{"summary":"b"}}},
	"components":{"responses":{"R":{"content":{"j":{"schema":{"$ref":"#/components/schemas/A"}}}}},
	"schemas":{"A":{"properties":{"b":{"$ref":"#/components/schemas/B"}}},"B":{"properties":{"a":{"$ref":"#/components/schemas/A"},"c":{"$ref":"#/components/schemas/C"}}},"C":{"type":"string"},"Z":{"type":"string"}}}}`
	before := hashesOf(t, base)
	for _, c := range []struct {
		old, new string
		changes  bool // of /a; /b never changes
	}{
		{`"version":"1","description":"d"`, `"version":"2","description":"e"`, false},
		{`"servers":[{"url":"u"}]`, `"servers":[{"url":"v"}]`, false},
		{`"tags":[{"name":"x"}]`, `"tags":[]`, false},
		{`"Z":{"type":"string"}`, `"Z":{"type":"number"}`, false},
		{`"summary":"S"`, `"summary":"other"`, false},
		{`{"name":"p","in":"query"}`, `{"name":"p","in":"header"}`, true},
		{`"C":{"type":"string"}`, `"C":{"type":"number"}`, false}, // lies deeper than what is put in place
		{`"B":{"properties"`, `"B":{"title":"t","properties"`, true},
		{`"B":{"properties"`, `"D":{"properties"`, true},
		{`"a":{"$ref":"#/components/schemas/A"}`, `"a":{"$ref":"#/components/schemas/C"}`, true},
		{`"R":{"content"`, `"R":{"description":"r","content"`, true},
	} {
		after := hashesOf(t, strings.Replace(base, c.old, c.new, 1))
		if changed := after["t/GET /a"] != before["t/GET /a"]; changed != c.changes {
			t.Errorf("%s to %s: changed is %v", c.old, c.new, changed)
		}
		if after["t/GET /b"] != before["t/GET /b"] {
			t.Errorf("%s to %s changes an operation that does not use it", c.old, c.new)
		}
	}
}

// TestHostileReferences checks that no shape of references makes a document
// cost more than its size allows, or its operations large.
func TestHostileReferences(t *testing.T) {
	one := func(first string) string {
		return `{"/a":{"post":{"requestBody":{"content":{"j":{"schema":{"$ref":"#/components/schemas/` + first + `"}}}}}}}`
	}
	schemas := func(n int, body func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"S%d":%s`, i, body(i))
		}
		return `{"schemas":{` + b.String() + `}}`
	}
	random := rand.New(rand.NewPCG(1, 2))
	doubling := func(i int) string {
		return fmt.Sprintf(`{"properties":{"a":{"$ref":"#/components/schemas/S%d"},"b":{"$ref":"#/components/schemas/S%d"}}}`, i+1, i+1)
	}
	var many strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, `,"/%d":{"post":{"requestBody":{"content":{"j":{"schema":{"$ref":"#/components/schemas/S%d"}}}}}}`, i, i)
	}
	for _, c := range []struct {
		name, doc string
		items     int
		reason    string
	}{
		{"doubling without end", document(one("S0"), schemas(40, doubling)), 1, ""},
		{"doubling within reason", document(one("S0"), schemas(10, doubling)), 1, ""},
		{"a circle", document(one("S0"), `{"schemas":{"S0":{"properties":{"a":{"$ref":"#/components/schemas/S0"},"b":{"$ref":"#/components/schemas/S0"}}}}}`), 1, ""},
		{"itself", document(one("S0"), `{"schemas":{"S0":{"$ref":"#/components/schemas/S0"}}}`), 1, ""},
		{"the whole document", document(`{"/a":{"post":{"requestBody":{"$ref":"#"}}}}`, `{}`), 1, ""},
		{"a dense graph", document("{"+many.String()[1:]+"}", schemas(400, func(int) string {
			ref := func() string { return fmt.Sprintf(`{"$ref":"#/components/schemas/S%d"}`, random.IntN(400)) }
			return `{"properties":{"a":` + ref() + `,"b":` + ref() + `,"c":` + ref() + `,"d":` + ref() + `}}`
		})), 400, ""},
		{"a long chain", document(one("S0"), schemas(20_000, func(i int) string { return fmt.Sprintf(`{"items":{"$ref":"#/components/schemas/S%d"}}`, i+1) })), 1, ""},
		{"a large component", document(one("S0"), `{"schemas":{"S0":{"description":"`+strings.Repeat("x", 2<<20)+`"}}}`), 1, ""},
		{"a large operation", document(`{"/a":{"post":{"description":"`+strings.Repeat("x", 2<<20)+`"}}}`, `{}`), 0, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			items, problems := Parse([]byte(c.doc), Options{})
			if len(items) != c.items || (c.reason == "") != (len(problems) == 0) || c.reason != "" && problems[0].Reason != c.reason {
				t.Errorf("have %d items and %+v", len(items), problems)
			}
			for _, it := range items {
				if len(it.Raw) > inputs.bytes+responses.bytes+(64<<10) {
					t.Errorf("%s has %d bytes", it.ID, len(it.Raw))
				}
			}
		})
	}
}

// Methods of a Google API are OpenAPI operations.
func TestDiscovery(t *testing.T) {
	items, problems := Parse([]byte(`{"kind":"discovery#restDescription","name":"diary","title":"Diary API","rootUrl":"https://api.example/","servicePath":"diary/v3/",
		"schemas":{"Entry":{"id":"Entry","type":"object","properties":{"id":{"type":"string"},"next":{"$ref":"Entry"}}}},
		"methods":{"lost":{"path":"lost"},"watch":{"id":"diary.watch","path":"watch","httpMethod":"GET"}},
		"resources":{"entries":{"methods":{"insert":{"id":"diary.entries.insert","path":"v1/{+parent}/entries","flatPath":"v1/users/{usersId}/entries","httpMethod":"POST","description":"Creates an entry.",
			"parameters":{"parent":{"type":"string","location":"path","required":true,"description":"Whose."},"tags":{"type":"string","location":"query","repeated":true}},
			"request":{"$ref":"Entry"},"response":{"$ref":"Entry"}}}}}}`), Options{})
	want := []string{"tool openapi diary/GET /watch [diary] diary.watch", "tool openapi diary/POST /v1/users/{usersId}/entries [diary] diary.entries.insert", "! required /methods/lost"}
	if got := lines(items, problems); !slices.Equal(got, want) || items[1].Path != "/resources/entries/methods/insert" {
		t.Fatalf("have %q, want %q", got, want)
	}
	op, err := tooloperation.Parse(items[1].Raw)
	if err != nil {
		t.Fatal(err)
	}
	request, err := op.Request(t.Context(), op.Servers()[0], json.RawMessage(`{"usersId":"me","tags":["a","b"],"body":{"next":{"id":"7"}}}`))
	if err != nil || request.Method+" "+request.URL.String() != "POST https://api.example/diary/v3/v1/users/me/entries?tags=a&tags=b" {
		t.Fatalf("%v, %v, of %s", request, err, op.Input())
	}
	if body, err := io.ReadAll(request.Body); err != nil || string(body) != `{"next":{"id":"7"}}` {
		t.Errorf("body %s, %v", body, err)
	}
}
