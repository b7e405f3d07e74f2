package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// documented returns the document, with what may differ from one run to the next as it is in a
// release of the API.
func documented(t *testing.T) []byte {
	t.Helper()
	e := openedAs(t, apiVersion)
	w := httptest.NewRecorder()
	theHTTP.get(e.Process).ServeHTTP(w, httptest.NewRequest("GET", local+"/openapi.json", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func TestTheOpenAPIDocumentIsInStep(t *testing.T) {
	var made bytes.Buffer
	check.OK(t, json.Indent(&made, documented(t), "", " "))
	made.WriteByte('\n')
	if *update {
		check.OK(t, os.WriteFile(document, made.Bytes(), 0o644))
	}
	if kept, err := os.ReadFile(document); err != nil || !bytes.Equal(kept, made.Bytes()) {
		t.Errorf("%s is not what is served (%v): go generate ./internal/server", document, err)
	}
}

// plain are members that their names say all of.
var plain = strings.Fields("action created description epoch error hash id kind model name provider query reason score source stage state tenant time title tools url version weights")

func TestTheDocumentDescribesEverything(t *testing.T) {
	var doc struct {
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]struct {
			OperationID, Summary, Description string
			Tags                              []string
			Parameters                        []struct{ Name, Description string }
			Security                          []map[string][]string
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
			}
		}
	}
	check.OK(t, json.Unmarshal(documented(t), &doc))
	style := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			tagged := len(op.Tags) == 1 && slices.ContainsFunc(doc.Tags, func(tag struct{ Name, Description string }) bool { return tag.Name == op.Tags[0] })
			if !tagged || op.Summary == "" || op.Security == nil || !style.MatchString(op.OperationID) {
				t.Errorf("%s %s: it wants one of the tags, a summary, its security and an id such as list-tools, not %+v", method, path, op)
			}
			for _, p := range op.Parameters {
				if p.Description == "" && !slices.Contains(plain, p.Name) {
					t.Errorf("%s %s: the parameter %s is not described", method, path, p.Name)
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		if regexp.MustCompile(`(Body|Output|Input)$`).MatchString(name) {
			t.Errorf("%s is no name for a class of clients: name the type, or name it in httpserver", name)
		}
		for member, p := range s.Properties {
			if types, several := p["type"].([]any); several && slices.Contains(types, any("null")) {
				t.Errorf("%s.%s may be null: leave out what is not there", name, member)
			}
			if p["description"] == nil && p["$ref"] == nil && !slices.Contains(plain, member) {
				t.Errorf("%s.%s is not described: give it a tag doc, or a comment in package schema", name, member)
			}
		}
	}
}

// Whatever is called, its answer has a status and a form that the document states. A new
// operation is covered because it is in the document.
func TestEveryAnswerIsAsTheDocumentSays(t *testing.T) {
	e, _ := up(t, emptyFolder(t))
	api, _ := httpserver.NewAPI("test")
	for _, routes := range e.routes {
		routes(api)
	}
	check := func(op *huma.Operation, path, body string) {
		t.Helper()
		w := call(e, "", op.Method, path, body)
		answer := op.Responses[strconv.Itoa(w.Code)]
		if answer == nil {
			t.Errorf("%s %s: the status %d is not in the document: %s", op.Method, path, w.Code, w.Body)
			return
		}
		if _, name, isRef := strings.Cut(answer.Ref, "/responses/"); isRef {
			answer = api.OpenAPI().Components.Responses[name]
		}
		media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		content := answer.Content[media]
		if content == nil {
			if w.Body.Len() > 0 {
				t.Errorf("%s %s: the answer %d in %q is not in the document", op.Method, path, w.Code, media)
			}
			return
		}
		var v any
		if !strings.HasSuffix(media, "json") || media == "application/x-ndjson" {
			return
		}
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Errorf("%s %s: %v: %s", op.Method, path, err, w.Body)
			return
		}
		result := &huma.ValidateResult{}
		huma.Validate(api.OpenAPI().Components.Schemas, content.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, result)
		if len(result.Errors) > 0 {
			t.Errorf("%s %s: %d %s is not of the form in the document: %v", op.Method, path, w.Code, w.Body, result.Errors)
		}
	}
	operation := func(id string) *huma.Operation {
		for _, op := range ofAPI(api) {
			if op.OperationID == id {
				return op
			}
		}
		t.Fatalf("there is no operation %s", id)
		return nil
	}
	check(operation("put-tool"), "/v1/tools/weather%2Fnow", `{"name":"now","description":"Tells the weather of a place.","inputSchema":{"type":"object","required":["place"],"properties":{"place":{"type":"string"}}}}`)
	await(t, func() bool { return call(e, "", "GET", "/v1/tools/weather%2Fnow", "").Code == http.StatusOK })
	check(operation("search"), "/v1/search", `{"query":"is it raining","explain":true,"rank":"auto"}`)
	check(operation("search"), "/v1/search", `{"query":"is it raining","rank":"all"}`)
	check(operation("search"), "/v1/search", `{"query":"is it raining","rank":"providers"}`)
	check(operation("get-tool"), "/v1/tools/weather%2Fnow?provenance=true", "")
	parameter := regexp.MustCompile(`\{[a-z]+\}`)
	for _, op := range ofAPI(api) {
		for _, body := range []string{"", "{}"} {
			check(op, parameter.ReplaceAllString(op.Path, "x"), body)
		}
	}
}

// ofAPI returns the operations of an API by their ids.
func ofAPI(api huma.API) (out []*huma.Operation) {
	for _, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Options, item.Head} {
			if op != nil {
				out = append(out, op)
			}
		}
	}
	slices.SortFunc(out, func(a, b *huma.Operation) int { return strings.Compare(a.OperationID, b.OperationID) })
	return out
}
