package server

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

	"github.com/toolstream/toolstream/internal/testing/check"
)

// openedAs opens a process in a folder of its own, as a version of the program, without running it.
func openedAs(t *testing.T, version string) *Embedded {
	t.Helper()
	e := check.Value(OpenEmbedded(t.Context(), emptyFolder(t), slog.New(slog.DiscardHandler), version))(t)
	t.Cleanup(func() {
		check.OK(t, e.close())
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
	old := check.Value(os.ReadFile(page))(t)
	head, _, marked := strings.Cut(string(old), generatedBelow)
	if !marked {
		t.Fatalf("%s lacks the line %q", page, generatedBelow)
	}
	made := head + generatedBelow + reference(doc)
	if *update {
		check.OK(t, os.WriteFile(page, []byte(made), 0o644))
	} else if made != string(old) {
		t.Error("docs/http.md is not what is served: go generate ./internal/server")
	}
}

// generatedBelow ends the part of the page that is written by hand.
const generatedBelow = "<!-- Made by go generate ./internal/server from here on; do not edit. -->\n"

// explained are the tags whose query parameters another page explains, or only browsers send.
var explained = []string{"search", "session"}

// usualErrors are the statuses that the page names once for all calls.
const usualErrors = "400 401 403 408 413 415 422 429 500 503"

// reference returns a table of the calls of each tag, the further errors that one of them may
// answer, and a list of the parameters in the query.
func reference(doc openAPI) string {
	type section struct {
		rows   []string
		errors map[string]bool
	}
	sections := map[string]*section{}
	parameters := map[string][]string{} // descriptions by name
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Tags[0] == "health" {
				continue // by hand: Outside the API
			}
			s := sections[op.Tags[0]]
			if s == nil {
				s = &section{errors: map[string]bool{}}
				sections[op.Tags[0]] = s
			}
			var names []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					names = append(names, p.Name)
					if !slices.Contains(explained, op.Tags[0]) && !strings.HasPrefix(p.Description, "Only ") && !slices.Contains(parameters[p.Name], p.Description) {
						parameters[p.Name] = append(parameters[p.Name], p.Description)
					}
				}
			}
			var done []string
			for code := range op.Responses {
				if strings.HasPrefix(code, "2") || strings.HasPrefix(code, "3") {
					done = append(done, code)
				} else if code != "default" && !strings.Contains(usualErrors, code) {
					s.errors[code] = true
				}
			}
			slices.Sort(done)
			does := op.Summary
			if answer := strings.Join(done, ", "); answer != "200" {
				does += " (" + answer + ")"
			}
			s.rows = append(s.rows, fmt.Sprintf("| `%s %s` | %s | %s | %s |\n",
				strings.ToUpper(method), path, does, coded(names), members(doc, op)))
		}
	}
	var out strings.Builder
	out.WriteString("\nA call answers 200, or the status in parentheses. Every call may answer 401, 403, 422, 429, 500 and 503, a call with a body also 400, 408, 413 and 415.\n")
	for _, tag := range slices.Sorted(maps.Keys(sections)) {
		s := sections[tag]
		fmt.Fprintf(&out, "\n## %s%s\n\n| call | does | query | body |\n|---|---|---|---|\n", strings.ToUpper(tag[:1]), tag[1:])
		slices.SortFunc(s.rows, func(a, b string) int { return cmp.Compare(pathOf(a), pathOf(b)) })
		out.WriteString(strings.Join(s.rows, ""))
		if len(s.errors) > 0 {
			fmt.Fprintf(&out, "\nFurther errors: %s.\n", strings.Join(slices.Sorted(maps.Keys(s.errors)), ", "))
		}
	}
	out.WriteString("\n## Query parameters\n\nParameters without a line here filter by the member of that name. For searches see [search](search.md#the-request).\n\n")
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		fmt.Fprintf(&out, "- `%s`: %s\n", name, strings.Join(slices.Sorted(slices.Values(parameters[name])), " Or: "))
	}
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
	return "`" + strings.Join(names, ", ") + "`"
}

func TestDocumentedPathsOutsideTheAPIAreServed(t *testing.T) {
	e := openedAs(t, "test")
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/openapi.yaml": 200} {
		w := httptest.NewRecorder()
		theHTTP.get(e.Process).ServeHTTP(w, httptest.NewRequest("GET", local+path, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}
