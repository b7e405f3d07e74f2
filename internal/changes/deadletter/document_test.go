package deadletter

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestContentsDescribeTheRecord(t *testing.T) {
	const tool = `{"name":"book","description":"Books a room. It is held for a day.","inputSchema":{"properties":{"city":{"description":"Where the house is","type":"string"},"nights":{"type":"integer"}}}}`
	const head = `{"tenant":"default","kind":"tool","id":"a","revision":7,"op":"upsert","provider":"p","format":"mcp",`
	const made = `,"document":{"name":"book","description":"Books a room. It is held for a day.","examples":["Where do I sleep?"],"parameters":[{"name":"city","description":"Where the house is"},{"name":"nights"}]}}`
	lines := "{\n  \"name\": \"book\",\n  \"description\": \"Books a room. It is held for a day.\",\n  \"inputSchema\": {\n    \"properties\": {\n      \"city\": {\n" +
		"        \"description\": \"Where the house is\",\n        \"type\": \"string\"\n      },\n      \"nights\": {\n        \"type\": \"integer\"\n      }\n    }\n  }\n}"
	book := Contents{schema.KindTool, "a", "p", "mcp", lines, nil}
	at := func(g Contents, pointer string, line, column int) Contents {
		g.Location = &Location{pointer, line, column}
		return g
	}
	for name, c := range map[string]struct {
		topic             events.Topic
		key, record, path string
		want              Contents
	}{
		"a tool":                       {events.ToolsRaw, "default/a", head + `"raw":` + tool + `}`, "", book},
		"a member of it":               {events.ToolsRaw, "default/a", head + `"raw":` + tool + `}`, "/raw/inputSchema/properties", at(book, "/inputSchema/properties", 5, 5)},
		"what is not there":            {events.ToolsRaw, "default/a", head + `"raw":` + tool + `}`, "/raw/name/first", at(book, "/name", 2, 3)},
		"its head":                     {events.ToolsRaw, "default/a", head + `"raw":` + tool + `}`, "/provider", book},
		"a field":                      {events.ToolsStandardized, "default/a", head + `"raw":` + tool + made, "/document/description", at(book, "/description", 3, 3)},
		"a parameter":                  {events.Embedded(2), "default/a", head + `"raw":` + tool + made, "/document/parameters/0", at(book, "/inputSchema/properties/city/description", 7, 9)},
		"a parameter without a text":   {events.ToolsEmbedded, "default/a", head + `"raw":` + tool + made, "/document/parameters/1/type", at(book, "/inputSchema/properties/nights", 10, 7)},
		"what a model has written":     {events.ToolsEmbedded, "default/a", head + `"raw":` + tool + made, "/document/examples/0", book},
		"beyond the document":          {events.ToolsEmbedded, "default/a", head + `"raw":` + tool + made, "/document/parameters/9", book},
		"a text":                       {events.ToolsRaw, "default/a", head + `"raw":"Books a\nroom."}`, "/raw", Contents{schema.KindTool, "a", "p", "mcp", "Books a\nroom.", nil}},
		"a provider":                   {events.ToolsRaw, "default/\x1fp", `{"tenant":"default","kind":"provider","id":"p","revision":7,"op":"upsert","format":"provider","raw":{}}`, "", Contents{schema.KindProvider, "p", "", "provider", "{}", nil}},
		"a delete":                     {events.ToolsRaw, "default/a", `{"tenant":"default","kind":"tool","id":"a","revision":7,"op":"delete"}`, "", Contents{schema.KindTool, "a", "", "", "", nil}},
		"another tool":                 {events.ToolsRaw, "default/b", head + `"raw":` + tool + `}`, "/raw", Contents{schema.KindTool, "b", "", "", "", nil}},
		"a record that is broken":      {events.ToolsRaw, "default/a", "{\n \"é\": oh}", "", Contents{schema.KindTool, "a", "", "", "", &Location{"", 2, 7}}},
		"a record that is cut off":     {events.ToolsRaw, "default/a", `{"a`, "", Contents{schema.KindTool, "a", "", "", "", &Location{"", 1, 3}}},
		"a record that is no text":     {events.ToolsRaw, "default/a", "\xff{", "", Contents{schema.KindTool, "a", "", "", "", nil}},
		"a record of a later version":  {events.ToolsRaw, "default/a", `{"schema":99}`, "", Contents{schema.KindTool, "a", "", "", "", nil}},
		"a record that is not kept":    {events.ToolsRaw, "default/a", "", "", Contents{schema.KindTool, "a", "", "", "", nil}},
		"a search":                     {events.Searches, "default/a", `{"query":"a"}`, "/query", Contents{}},
		"a record without an entity":   {events.ToolsRaw, "a", `{}`, "", Contents{}},
		"a document that is no object": {events.ToolsRaw, "default/a", head + `"raw":null}`, "", Contents{schema.KindTool, "a", "p", "mcp", "", nil}},
	} {
		got := contentsOf(events.DeadLetter{Topic: c.topic, Key: c.key, Original: []byte(c.record), Path: c.path})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v %+v, want %+v %+v", name, got, got.Location, c.want, c.want.Location)
		}
	}
}

// editor answers as it is told, and keeps what it was asked.
type editor struct {
	revision uint64
	newer    bool
	err      error
	asked    []string
}

func (e *editor) Amend(_ context.Context, of events.Change, document string) (uint64, bool, error) {
	e.asked = append(e.asked, of.ID+" "+document)
	return e.revision, !e.newer, e.err
}

// broken publishes a change that the stage gives up, and returns the id of its letter.
func (f *failing) broken(id string, revision int) string {
	f.Helper()
	value := check.Value(json.Marshal(map[string]any{"tenant": "default", "kind": "tool", "id": id, "revision": revision, "op": "upsert", "raw": map[string]any{"name": unfit}}))(f)
	f.raw("default/"+id, string(value), revision)
	return f.id(f.Context(), "default/"+id)
}

func TestAnEditedDocumentReplacesTheRecord(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		for name, c := range map[string]struct {
			e    editor
			want Decision
			open bool
		}{
			"accepted":     {editor{revision: 9}, Decision{State: events.DeadLetterReplayed, Kind: schema.KindTool, Revision: 9}, false},
			"superseded":   {editor{revision: 9, newer: true}, Decision{State: events.DeadLetterSuperseded}, false},
			"the same one": {editor{revision: 5}, Decision{State: events.DeadLetterReplayed, Kind: schema.KindTool, Revision: 5}, false},
			"refused":      {editor{err: huma.Error422UnprocessableEntity("no")}, Decision{}, true},
		} {
			id := f.broken(strings.ReplaceAll(name, " ", "-"), 5)
			before := len(f.bus.Published(events.ToolsRaw))
			d, err := f.store.ReplayEdited(f.Context(), &c.e, id, "new")
			if (err != nil) != c.open || len(c.e.asked) != 1 {
				f.Errorf("%s: %+v, %v, asked %q", name, d, err, c.e.asked)
			}
			if answer := huma.StatusError(nil); c.open && (!errors.As(err, &answer) || answer.GetStatus() != 422) {
				f.Errorf("%s: %v", name, err)
			}
			if c.want.Kind != "" {
				c.want.Entity = strings.ReplaceAll(name, " ", "-")
			}
			if c.want.ID = id; !c.open && d != c.want {
				f.Errorf("%s: %+v, want %+v", name, d, c.want)
			}
			if again := len(f.bus.Published(events.ToolsRaw)) - before; (again == 1) != (name == "the same one") {
				f.Errorf("%s: %d records are published again", name, again)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if l, err := f.store.Show(f.Context(), id); err != nil || (l.State == events.DeadLetterOpen) != c.open {
				f.Errorf("%s: the letter is %s, %v", name, l.State, err)
			}
		}
	})
}

// Where the process ends before the letter is closed, the same call again closes it.
func TestARepeatedCallClosesALetterThatStayedOpen(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		id := f.broken("a", 5)
		e := &editor{revision: 9}
		f.bus.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpPublish {
				return errors.New("the bus is away")
			}
			return nil
		})
		if d, err := f.store.ReplayEdited(f.Context(), e, id, "new"); err == nil {
			f.Fatalf("%+v", d)
		}
		f.bus.Fail(nil)
		if l, err := f.store.Show(f.Context(), id); err != nil || l.State != events.DeadLetterOpen {
			f.Fatalf("the letter is %s, %v", l.State, err)
		}
		if d, err := f.store.ReplayEdited(f.Context(), e, id, "new"); err != nil || d.State != events.DeadLetterReplayed || d.Revision != 9 {
			f.Errorf("%+v, %v", d, err)
		}
	})
}

func TestARecordThatCannotBeEditedIsRefused(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		_, api := humatest.New(f.T)
		e := &editor{err: huma.Error422UnprocessableEntity("no tool", &huma.ErrorDetail{Location: "/body/document/name"})}
		Routes(api, f.store, e)
		call := func(id, body string, status int, says string) {
			f.Helper()
			resp := api.Do(http.MethodPost, "/v1/dlq/"+url.PathEscape(id)+"/replay", strings.NewReader(body))
			if resp.Code != status || !strings.Contains(resp.Body.String(), says) {
				f.Errorf("%s: %d %s, want %d that says %q", body, resp.Code, resp.Body, status, says)
			}
		}
		f.raw("default/no-change", "{", 1)
		f.raw("default/gone", `{"tenant":"default","kind":"tool","id":"gone","revision":2,"op":"delete","raw":"`+unfit+`"}`, 2)
		const edited = `{"document":"{}"}`
		call(f.id(f.Context(), "default/no-change"), edited, 409, "cannot be edited")
		call(f.id(f.Context(), "default/gone"), edited, 409, "a delete")
		call("nothing", edited, 404, "there is no dead letter")
		tool := f.broken("tool", 3)
		call(tool, `{"document":""}`, 422, "expected length >= 1")
		call(tool, `{}`, 422, "document")
		if len(e.asked) != 0 {
			f.Errorf("the editor was asked %q", e.asked)
		}
		call(tool, edited, 422, "/body/document/name")
		e.err, e.revision = nil, 9
		call(tool, edited, 200, `"revision":9`)
		call(tool, edited, 409, "replayed already")
		call(f.id(f.Context(), "default/no-change"), "", 200, `"state":"replayed"`)
		if len(e.asked) != 2 {
			f.Errorf("the editor was asked %q", e.asked)
		}
	})
}

// Indented, the document would be twenty times as long, and be refused when it is sent back.
func TestADeepDocumentIsNotIndented(t *testing.T) {
	const depth, members = 60, 50_000
	raw := strings.Repeat("[", depth) + "1" + strings.Repeat(",1", members) + strings.Repeat("]", depth)
	record := `{"tenant":"default","kind":"tool","id":"a","revision":7,"op":"upsert","format":"mcp","raw":` + raw + `}`
	got := contentsOf(events.DeadLetter{Topic: events.ToolsRaw, Key: "default/a", Original: []byte(record)})
	if got.Document != raw {
		t.Errorf("%d bytes are shown as %d", len(raw), len(got.Document))
	}
}
