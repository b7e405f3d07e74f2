package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// amends returns what became of a document in place of that of a change: its revision, a
// word, or the status of the refusal, its place, and line and column in the document.
func amends(t *testing.T, s *Service, of events.Change, document string) (revision uint64, became string) {
	t.Helper()
	revision, done, err := s.Amend(t.Context(), of, document)
	var p *placedProblem
	var other *huma.ErrorModel
	switch {
	case err == nil && done:
		return revision, "accepted"
	case err == nil:
		return revision, "superseded"
	case errors.As(err, &other): // not of the document
		p = &placedProblem{ErrorModel: *other}
	case !errors.As(err, &p):
		t.Fatal(err)
	}
	place := ""
	if len(p.Errors) > 0 {
		place = p.Errors[0].Location
	}
	if p.Line > 0 {
		place += fmt.Sprintf(" %d:%d", p.Line, p.Column)
	}
	return 0, strings.Join([]string{strings.ToLower(p.Title), place}, " ")
}

func TestADocumentTakesThePlaceOfThatOfAChange(t *testing.T) {
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	one := versioned(owned(doc("a", "one"), "p"), 4)
	check.Value(s.Accept(t.Context(), home, []formats.Item{one}, Options{Source: "shop"}))(t)
	of := newest(t, bus, "a")
	const edited = "{\n \"name\": \"a\",\n \"description\": \"two\"\n}"
	revision, became := amends(t, s, of, edited)
	c := newest(t, bus, "a")
	if became != "accepted" || revision != c.Revision || c.Revision <= of.Revision {
		t.Fatalf("%s at %d, %+v", became, revision, c)
	}
	if c.Provider != "p" || c.From != "" || c.Source != 4 || c.Format != "function" || string(c.Raw) != `{"name":"a","description":"two"}` || c.CallableName != of.CallableName {
		t.Errorf("accepted is %+v with %s, before %+v", c, c.Raw, of)
	}
	stop() // before the letter is closed
	s, _ = start(t, bus, Config{}, newWall().now)
	if again, became := amends(t, s, of, edited); again != revision || became != "accepted" || newest(t, bus, "a").Revision != revision {
		t.Errorf("the same once more: %s at %d, want %d", became, again, revision)
	}
	if _, became := amends(t, s, of, `{"name":"a","description":"three"}`); became != "superseded" {
		t.Errorf("over a newer document: %s", became)
	}
	wantStates(t, s, "accepted", gone("a"))
	if _, became := amends(t, s, of, edited); became != "superseded" {
		t.Errorf("of what is deleted: %s", became)
	}
}

// A document that was read in another form is known as it was accepted.
func TestTheSameDocumentIsNoNewChange(t *testing.T) {
	bus, s := newService(t)
	for _, text := range []string{`{"name":"a","description":"One.","inputSchema":{"type":"object"}}`, `{"anything":"One."}`} {
		items, problems := formats.Parse([]byte(text), formats.Options{ID: "a"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		accept(t, s, items...)
		of := newest(t, bus, "a")
		if revision, became := amends(t, s, of, string(of.Raw)); became != "accepted" || revision != of.Revision {
			t.Errorf("%s: %s at %d, want %d", text, became, revision, of.Revision)
		}
	}
}

// Whatever the form in which the record of a format has a document, it is taken in that form.
func TestDocumentsAreTakenInTheFormOfTheirRecords(t *testing.T) {
	bus, s := newService(t)
	for format, text := range map[string]string{
		tooldoc.MCP:       `{"name":"a","description":"One.","inputSchema":{"type":"object"}}`,
		tooldoc.OpenAPI:   `{"openapi":"3.1.0","info":{"title":"Shop"},"paths":{"/a":{"get":{"summary":"One."}}}}`,
		tooldoc.A2A:       `{"name":"Agent","url":"https://a.example","version":"1","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[{"id":"a","name":"A","description":"One.","tags":[]}]}`,
		tooldoc.Skill:     "---\nname: a\ndescription: One.\n---\nDo it.",
		tooldoc.GraphQL:   "type Query { \"One.\" a(id: ID!): String }",
		tooldoc.Protobuf:  "syntax = \"proto3\"; service A { // One.\n rpc B(C) returns (C); } message C {}",
		tooldoc.Python:    "def a(x: int) -> int:\n    \"\"\"One.\"\"\"\n",
		tooldoc.Text:      "# A\nOne.",
		tooldoc.JSON:      `{"anything":"One."}`,
		tooldoc.LangChain: `{"lc":1,"type":"constructor","id":["langchain","tools","A"],"kwargs":{"name":"a","description":"One."}}`,
	} {
		opts := formats.Options{ID: "a " + format}
		if format == tooldoc.Text {
			opts.Format = format
		}
		items, problems := formats.Parse([]byte(text), opts)
		if len(problems) > 0 || len(items) != 1 || items[0].Format != format {
			t.Fatalf("%s: %+v, %v", format, items, problems)
		}
		accept(t, s, items...)
		of := newest(t, bus, "a "+format)
		edited := string(of.Raw)
		if v, err := jsondoc.Decode(of.Raw, jsondoc.Limits{}); err != nil {
			t.Fatal(err)
		} else if text, is := v.(string); is {
			edited = text
		}
		edited = strings.Replace(edited, "One.", "Two.", 1)
		_, became := amends(t, s, of, edited)
		c := newest(t, bus, of.ID)
		if became != "accepted" || c.Format != format || c.CallableName != of.CallableName || !strings.Contains(string(c.Raw), "Two.") && format != tooldoc.Protobuf {
			t.Errorf("%s: %s, %s %s %s, before %s", format, became, c.Format, c.CallableName, c.Raw, of.CallableName)
		}
	}
	accept(t, s, formats.Item{ID: "p", Kind: schema.KindProvider, Format: tooldoc.Provider, Raw: []byte(`{"name":"P"}`), Hash: "x"})
	if _, became := amends(t, s, newest(t, bus, "p"), `{"name":"Q"}`); became != "accepted" || newest(t, bus, "p").Kind != schema.KindProvider {
		t.Errorf("a provider: %s %+v", became, newest(t, bus, "p"))
	}
	if _, became := amends(t, s, newest(t, bus, "a json"), `{"name":"a","description":"Two.","inputSchema":{}}`); became != "accepted" || newest(t, bus, "a json").Format != tooldoc.MCP {
		t.Errorf("JSON that is a tool now: %s as %s", became, newest(t, bus, "a json").Format)
	}
}

func TestARefusalPointsIntoTheDocument(t *testing.T) {
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{MaxDocument: 1 << 10}, newWall().now)
	items, _ := formats.Parse([]byte(`{"name":"a","description":"One.","inputSchema":{"type":"object"}}`), formats.Options{ID: "a", Provider: "p"})
	accept(t, s, items...)
	of := newest(t, bus, "a")
	for document, want := range map[string]string{
		`{"name":"a",`:                                "unprocessable entity /body/document 1:13",
		"{\n \"name\": \"ä\",\n \"x\": ä}\n":          "unprocessable entity /body/document/x 3:7",
		`{"name":"a","name":"b"}`:                     "unprocessable entity /body/document/name 1:19",
		"{\"name\":\"a\",\n\"inputSchema\":\"none\"}": "unprocessable entity /body/document/inputSchema 2:1",
		`{"name":5}`:                                  "accepted",
		`{}`:                                          "unprocessable entity /body/document",
		`[{"name":"a"},{"name":"b"}]`:                 "unprocessable entity /body/document/1 1:15",
		`some words`:                                  "unprocessable entity /body/document",
		`{"name":"a","tenant":"another"}`:             "forbidden /body/document/tenant 1:13",
		`"` + strings.Repeat("x", 2<<10) + `"`:        "request entity too large /body/document",
	} {
		if _, became := amends(t, s, of, document); became != want {
			t.Errorf("%s: %s, want %s", document, became, want)
		}
	}
	bus.Fail(func(c streamtest.Call) error {
		if c.Op == streamtest.OpPublish {
			return stream.ErrFull
		}
		return nil
	})
	of = newest(t, bus, "a")
	if _, became := amends(t, s, of, `{"name":"a","description":"Three."}`); became != "insufficient storage " {
		t.Errorf("a full bus: %s", became)
	}
}
