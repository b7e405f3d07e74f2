package app

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
)

// embedded opens everything in a folder of its own, without running it.
func embedded(t *testing.T) *Embedded {
	t.Helper()
	return embeddedAs(t, "test")
}

// embeddedAs opens it as a version of the program.
func embeddedAs(t *testing.T, version string) *Embedded {
	t.Helper()
	cfg, err := config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenEmbedded(t.Context(), cfg, slog.New(slog.DiscardHandler), version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// What is made of the served OpenAPI document: the document itself, of which clients are
// made, and the HTTP reference. With update, their tests write them.
const (
	document = "../../api/openapi.json"
	page     = "../../docs/http.md"
)

// apiVersion is the version of the API in the document, and so that of the clients.
const apiVersion = "0.1.0"

var update = flag.Bool("update", false, "write api/openapi.json and docs/http.md anew")

// openAPI is what the page takes of the served OpenAPI document.
type openAPI struct {
	Paths      map[string]map[string]operationDoc
	Components struct {
		Schemas map[string]schemaDoc
	}
}

type operationDoc struct {
	Summary     string
	Tags        []string
	Parameters  []struct{ Name, In, Description string }
	RequestBody struct {
		Content map[string]struct{ Schema schemaDoc }
	}
	Responses map[string]any
}

type schemaDoc struct {
	Ref        string `json:"$ref"`
	Properties map[string]any
	Required   []string
}

func TestTheHTTPReferenceIsInStep(t *testing.T) {
	var doc openAPI
	if err := json.Unmarshal(documented(t), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatal(err)
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, marked := strings.Cut(string(old), generatedBelow)
	if !marked {
		t.Fatalf("%s lacks the line %q", page, generatedBelow)
	}
	made := head + generatedBelow + reference(doc)
	if *update {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(old) {
		t.Error("docs/http.md is not what is served: go generate ./internal/app")
	}
}

// generatedBelow ends the part of the page that is written by hand.
const generatedBelow = "<!-- Made by go generate ./internal/app from here on; do not edit. -->\n"

// reference returns a table of the calls of each tag, the errors that one of them may
// answer, and a list of the parameters in the query.
func reference(doc openAPI) string {
	type section struct {
		rows   []string
		errors map[string]bool
	}
	sections := map[string]*section{}
	parameters := map[string]bool{} // lines
	for path, methods := range doc.Paths {
		for method, op := range methods {
			s := sections[op.Tags[0]]
			if s == nil {
				s = &section{errors: map[string]bool{}}
				sections[op.Tags[0]] = s
			}
			var names []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					names = append(names, p.Name)
					parameters[fmt.Sprintf("- `%s`: %s\n", p.Name, p.Description)] = true
				}
			}
			var done []string
			for code := range op.Responses {
				if strings.HasPrefix(code, "2") {
					done = append(done, code)
				} else if code != "default" {
					s.errors[code] = true
				}
			}
			s.rows = append(s.rows, fmt.Sprintf("| `%s %s` | %s | %s | %s | %s |\n",
				strings.ToUpper(method), path, op.Summary, coded(names), members(doc, op), strings.Join(slices.Sorted(slices.Values(done)), ", ")))
		}
	}
	var out strings.Builder
	for _, tag := range slices.Sorted(maps.Keys(sections)) {
		s := sections[tag]
		fmt.Fprintf(&out, "\n## %s%s\n\n| call | does | query | body | answer |\n|---|---|---|---|---|\n", strings.ToUpper(tag[:1]), tag[1:])
		slices.SortFunc(s.rows, func(a, b string) int { return cmp.Compare(pathOf(a), pathOf(b)) })
		out.WriteString(strings.Join(s.rows, ""))
		fmt.Fprintf(&out, "\nErrors: %s.\n", strings.Join(slices.Sorted(maps.Keys(s.errors)), ", "))
	}
	out.WriteString("\n## Query parameters\n\n" + strings.Join(slices.Sorted(maps.Keys(parameters)), ""))
	return out.String()
}

// pathOf returns the path of a row and then its method, to sort by.
func pathOf(row string) string {
	method, path, _ := strings.Cut(strings.SplitN(row, "`", 3)[1], " ")
	return path + " " + method
}

// members lists the members of the JSON object that a call takes, those that may be
// absent with a question mark. Of a large object it names the schema.
func members(doc openAPI, op operationDoc) string {
	content, ok := op.RequestBody.Content["application/json"]
	if !ok || content.Schema.Ref == "" {
		if len(op.RequestBody.Content) > 0 {
			return "[document](documents.md)"
		}
		return ""
	}
	name := content.Schema.Ref[strings.LastIndexByte(content.Schema.Ref, '/')+1:]
	s := doc.Components.Schemas[name]
	if len(s.Properties) > 12 {
		return name
	}
	var names []string
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, member) {
			member += "?"
		}
		names = append(names, member)
	}
	return coded(names)
}

func coded(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func TestWhatIsServedBesideTheAPIIsThere(t *testing.T) {
	e := embedded(t)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/openapi.yaml": 200} {
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, httptest.NewRequest("GET", local+path, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}
