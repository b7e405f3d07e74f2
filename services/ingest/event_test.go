package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestParseEventTypes(t *testing.T) {
	got, err := ParseEventTypes(" com.example.tool.removed=tool.deleted\nApiAdded=openapi.published ")
	want := map[string]string{"com.example.tool.removed": TypeToolDeleted, "ApiAdded": TypeOpenAPIPublished}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"a", "a=", "=tool.deleted", "a=tool.removed", "a=tool.deleted,b=tool.deleted"} {
		if got, err := ParseEventTypes(wrong); err == nil {
			t.Errorf("%q is %v", wrong, got)
		}
	}
}

// event returns an event about a tool; second is that of its time, 0 for none.
func event(id, eventType, subject, data string, second int) cloudEvent {
	e := cloudEvent{ID: id, Source: "/registry", Type: eventType, Subject: subject, Data: []byte(data), Extensions: map[string]string{}}
	if second != 0 {
		e.Time = time.Date(2026, 2, 1, 0, 0, second, 0, time.UTC)
	}
	return e
}

func with(e cloudEvent, extension, value string) cloudEvent {
	e.Extensions = map[string]string{extension: value}
	return e
}

func at(e cloudEvent, t time.Time) cloudEvent {
	e.Time = t
	return e
}

func from(source string, e cloudEvent) cloudEvent {
	e.Source = source
	return e
}

func tellOne(t *testing.T, s *Service, e cloudEvent) EventOutcome {
	t.Helper()
	out, err := s.acceptEvents(t.Context(), home, []cloudEvent{e})
	if err != nil || len(out) != 1 || out[0].ID != e.ID || out[0].Source != e.Source {
		t.Fatalf("%+v, %v", out, err)
	}
	return out[0]
}

func describedAs(text string) string {
	return fmt.Sprintf(`{"name":"t","description":%q,"inputSchema":{}}`, text)
}

func TestEventsInAnyOrder(t *testing.T) {
	up, down := TypeToolUpserted, TypeToolDeleted
	for _, tc := range []struct {
		name   string
		events []cloudEvent
		want   string
		left   string
	}{
		{"one", []cloudEvent{event("1", up, "a", describedAs("x"), 0)}, "accepted", "x"},
		{"the same again", []cloudEvent{event("1", up, "a", describedAs("x"), 0), event("1", up, "a", describedAs("x"), 0)}, "accepted duplicate", "x"},
		{"the same id from another source", []cloudEvent{event("1", up, "a", describedAs("x"), 0), from("/other", event("1", up, "a", describedAs("y"), 0))}, "accepted accepted", "y"},
		{"the first again after the second", []cloudEvent{event("1", up, "a", describedAs("x"), 0), event("2", up, "a", describedAs("y"), 0), event("1", up, "a", describedAs("x"), 0)}, "accepted accepted duplicate", "y"},
		{"another event, same content", []cloudEvent{event("1", up, "a", describedAs("x"), 0), event("2", up, "a", describedAs("x"), 0)}, "accepted unchanged", "x"},
		{"older by time", []cloudEvent{event("2", up, "a", describedAs("y"), 20), event("1", up, "a", describedAs("x"), 10)}, "accepted stale", "y"},
		{"older by time, another source", []cloudEvent{event("2", up, "a", describedAs("y"), 20), from("/other", event("1", up, "a", describedAs("x"), 10))}, "accepted accepted", "x"},
		{"older by time, another tool", []cloudEvent{event("2", up, "b", describedAs("y"), 20), event("1", up, "a", describedAs("x"), 10)}, "accepted accepted", "x"},
		{"late update after a delete", []cloudEvent{event("2", down, "a", "", 20), event("1", up, "a", describedAs("x"), 10)}, "accepted stale", "-"},
		{"late delete after an update", []cloudEvent{event("2", up, "a", describedAs("y"), 20), event("1", down, "a", "", 10)}, "accepted stale", "y"},
		{"late after one that brought nothing new", []cloudEvent{event("1", up, "a", describedAs("x"), 10), event("3", up, "a", describedAs("x"), 30), event("2", up, "a", describedAs("y"), 20)}, "accepted unchanged stale", "x"},
		{"versions decide before times", []cloudEvent{with(event("2", up, "a", describedAs("y"), 20), "sourceversion", "1"), with(event("1", up, "a", describedAs("x"), 10), "sourceversion", "2")}, "accepted accepted", "x"},
		{"sequence", []cloudEvent{with(event("2", up, "a", describedAs("y"), 0), "sequence", "0000000002"), with(event("1", up, "a", describedAs("x"), 0), "sequence", "0000000001")}, "accepted stale", "y"},
		{"version in the data", []cloudEvent{event("2", up, "a", `{"name":"t","description":"y","version":2}`, 0), event("1", up, "a", `{"name":"t","description":"x","version":1}`, 0)}, "accepted stale", "y"},
		{"a version that is no number", []cloudEvent{with(event("1", up, "a", describedAs("x"), 0), "version", "1.2.3")}, "accepted", "x"},
		{"version reused", []cloudEvent{with(event("1", up, "a", describedAs("x"), 0), "version", "3"), with(event("2", up, "a", describedAs("y"), 0), "version", "3")}, "accepted rejected", "x"},
		{"a delete of what is not known", []cloudEvent{event("1", down, "a", "", 0)}, "accepted", "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bus, s := newService(t)
			var got []string
			for _, e := range tc.events {
				got = append(got, string(tellOne(t, s, e).State))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("states %v, want %s", got, tc.want)
			}
			if left := description(t, newest(t, bus, "a")); left != tc.left {
				t.Errorf("newest on the bus is %q, want %q", left, tc.left)
			}
			checkLog(t, bus, strings.Count(tc.want, "accepted"))
		})
	}
}

func TestEventsAreRecognisedAfterARestart(t *testing.T) {
	bus := streamtest.NewBus()
	w := newWall()
	s, stop := start(t, bus, Config{}, w.now)
	newer, older := event("2", TypeToolUpserted, "a", describedAs("y"), 20), event("1", TypeToolUpserted, "a", describedAs("x"), 10)
	tellOne(t, s, newer)
	if c := newest(t, bus, "a"); c.Event == nil || c.Event.ID != "2" || c.Event.Source != "/registry" || !c.Event.Time.Equal(newer.Time) {
		t.Fatalf("the change does not say what brought it: %+v", c.Event)
	}
	accept(t, s, doc("a", "by hand"))
	stop()
	s, _ = start(t, bus, Config{}, w.now)
	tellOne(t, s, older)
	checkLog(t, bus, 3) // the change by hand has pushed the event out of the topic
	stop()

	bus = streamtest.NewBus()
	s, stop = start(t, bus, Config{}, w.now)
	tellOne(t, s, newer)
	stop()
	s, _ = start(t, bus, Config{}, w.now)
	if o := tellOne(t, s, older); o.State != Stale {
		t.Errorf("the older: %+v", o)
	}
	if o := tellOne(t, s, newer); o.State != Unchanged {
		t.Errorf("the newest again: %+v", o)
	}
	checkLog(t, bus, 1)
}

const twoOperations = `{"openapi":"3.0.0","info":{"title":"Mail","version":"1"},"paths":{"/send":{"post":{"summary":"Sends."}},"/box":{"get":{"summary":"Lists."}}}}`
const oneOperation = `{"openapi":"3.0.0","info":{"title":"Mail","version":"2"},"paths":{"/send":{"post":{"summary":"Sends."}}}}`

func TestDocumentEvents(t *testing.T) {
	bus, s := newService(t)
	check := func(e cloudEvent, want State, summary Summary, ids string) {
		t.Helper()
		o := tellOne(t, s, e)
		if o.Summary == nil {
			t.Fatalf("%s: %+v", e.ID, o)
		}
		if o.Summary.Start = 0; o.State != want || *o.Summary != summary {
			t.Errorf("%s: %s %s %+v", e.ID, o.State, o.Reason, o.Summary)
		}
		if got := alive(t, bus); got != ids {
			t.Errorf("%s: tools %q, want %q", e.ID, got, ids)
		}
	}
	check(event("1", TypeOpenAPIPublished, "mail", twoOperations, 10), Accepted, Summary{Accepted: 2}, "mail/GET /box,mail/POST /send")
	check(event("3", TypeOpenAPIPublished, "mail", oneOperation, 30), Accepted, Summary{Unchanged: 1, Deleted: 1}, "mail/POST /send")
	check(event("2", TypeOpenAPIPublished, "mail", twoOperations, 20), Stale, Summary{Stale: 2}, "mail/POST /send")
	check(event("4", TypeToolsPublished, "mail", `{"tools":[{"name":"a","inputSchema":{}}]}`, 40), Accepted, Summary{Accepted: 1, Deleted: 1}, "mail/a")
	check(event("5", TypeOpenAPIDeleted, "mail", "", 60), Accepted, Summary{Deleted: 1}, "")
}

// alive lists the ids of the tools that the bus ends with, in order.
func alive(t *testing.T, bus *streamtest.Bus) string {
	t.Helper()
	last := map[string]events.Change{}
	for _, c := range changes(t, bus) {
		last[c.ID] = c
	}
	var ids []string
	for _, key := range []string{"mail/GET /box", "mail/POST /send", "mail/a"} {
		if c, ok := last[key]; ok && c.Op == events.OpUpsert {
			ids = append(ids, key)
		}
	}
	return strings.Join(ids, ",")
}

func TestEventTypesOfOthersAreMapped(t *testing.T) {
	cfg := Config{EventTypes: map[string]string{"com.example.tool.deregistered": TypeToolDeleted, "ApiAdded": TypeOpenAPIPublished}}
	for name, tc := range map[string]struct {
		event cloudEvent
		want  State
		alive string // ids on the bus in the end
	}{
		"a delete that carries its document":  {event("1", "com.example.tool.deregistered", "mail/a", describedAs("x"), 0), Accepted, ""},
		"a document":                          {event("1", "ApiAdded", "mail", oneOperation, 0), Accepted, "mail/POST /send"},
		"a verb that ends like one of ours":   {event("1", "com.acme.tool.deregistered", "mail/a", describedAs("y"), 0), Ignored, "mail/a"},
		"one of ours below another prefix":    {event("1", "com.example.tool.deleted", "mail/a", "", 0), Ignored, "mail/a"},
		"one of ours with another last word":  {event("1", "io.toolstream.tool.seen", "mail/a", describedAs("y"), 0), Ignored, "mail/a"},
		"one of ours in a version of its own": {event("1", TypeToolDeleted+".v2", "mail/a", "", 0), Ignored, "mail/a"},
	} {
		t.Run(name, func(t *testing.T) {
			bus := streamtest.NewBus()
			s, _ := start(t, bus, cfg, newWall().now)
			accept(t, s, owned(doc("mail/a", "x"), "mail"))
			o := tellOne(t, s, tc.event)
			if got := alive(t, bus); o.State != tc.want || got != tc.alive {
				t.Errorf("%+v, on the bus %q", o, got)
			}
		})
	}
}

func TestInvalidEvents(t *testing.T) {
	for name, e := range map[string]cloudEvent{
		"no document":             event("1", TypeToolUpserted, "a", "", 0),
		"no subject":              event("1", TypeToolDeleted, "", "", 0),
		"no provider":             event("1", TypeToolsPublished, "", `{"tools":[{"name":"a","inputSchema":{}}]}`, 0),
		"several tools for an id": event("1", TypeToolUpserted, "a", `{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]}`, 0),
		"version":                 with(event("1", TypeToolUpserted, "a", describedAs("x"), 0), "sourceversion", "-1"),
		"id":                      event("1", TypeToolDeleted, "a\u0007", "", 0),
		"tenant":                  event("1", TypeToolUpserted, "a", `{"name":"a","tenant":"other"}`, 0),
		"time":                    at(event("1", TypeToolUpserted, "a", describedAs("x"), 0), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))),
	} {
		t.Run(name, func(t *testing.T) {
			bus, s := newService(t)
			for range 2 { // a refused event is not remembered
				if o := tellOne(t, s, e); o.State != Rejected || len(o.Rejected) == 0 {
					t.Errorf("%+v", o)
				}
			}
			checkLog(t, bus, 0)
		})
	}
}

func TestEventsAreNotRememberedBeforeTheyAreDurable(t *testing.T) {
	bus, s := newService(t)
	e := event("1", TypeToolUpserted, "a", describedAs("x"), 10)
	bus.Fail(onPublish(func(stream.Message) error { return errors.New("down") }))
	if _, err := s.acceptEvents(t.Context(), home, []cloudEvent{e}); err == nil {
		t.Fatal("accepted without the bus")
	}
	bus.Fail(nil)
	if o := tellOne(t, s, e); o.State != Accepted {
		t.Errorf("again: %+v", o)
	}
	checkLog(t, bus, 1)
}

func (s *site) events(contentType, body string, headers ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPost, "/v1/events", strings.NewReader(body), append(headers, "Content-Type", contentType)...)
}

func structured(members string) string {
	return `{"specversion":"1.0","id":"1","source":"/s","type":"` + TypeToolUpserted + `"` + members + `}`
}

func TestPostEvents(t *testing.T) {
	const one, many = "application/cloudevents+json", "application/cloudevents-batch+json"
	data := `,"subject":"a","data":` + mcpTool
	for name, tc := range map[string]struct {
		contentType, body string
		headers           []string
		status            int
		states            string
	}{
		"structured": {one, structured(data), nil, 202, "accepted"},
		"binary": {"application/json", mcpTool,
			[]string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "/s", "ce-type", TypeToolUpserted, "ce-subject", "a"}, 202, "accepted"},
		"batch with a repetition": {many, "[" + structured(data) + "," + structured(data) + "]", nil, 202, "accepted duplicate"},
		"35 unknown type":         {one, strings.Replace(structured(data), TypeToolUpserted, "com.example.ping", 1), nil, 202, "ignored"},
		"36 another tenant":       {one, structured(data + `,"tenant":"other"`), nil, 403, ""},
		"31 no type":              {one, `{"specversion":"1.0","id":"1","source":"/s"}`, nil, 400, ""},
		"32 specversion":          {one, strings.Replace(structured(data), "1.0", "0.3", 1), nil, 400, ""},
		"no such format":          {"application/cloudevents+xml", "<a/>", nil, 415, ""},
		"content type":            {"image/png", structured(data), nil, 415, ""},
		"no document":             {one, structured(`,"subject":"a"`), nil, 422, ""},
		"mixed":                   {many, "[" + structured(`,"subject":"a"`) + "," + structured(data) + "]", nil, 202, "rejected accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Config{})
			r := s.events(tc.contentType, tc.body, tc.headers...)
			if r.StatusCode != tc.status {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
			if tc.states == "" {
				r.problem(t)
				return
			}
			var answer struct{ Events []EventOutcome }
			check.OK(t, json.Unmarshal(r.body, &answer))
			var got []string
			for _, o := range answer.Events {
				got = append(got, string(o.State))
			}
			if strings.Join(got, " ") != tc.states {
				t.Errorf("%s", r.body)
			}
		})
	}
}

func TestPostEventsAgain(t *testing.T) {
	s := serve(t, Config{})
	body := structured(`,"subject":"a","data":` + mcpTool)
	s.events("application/cloudevents+json", body)
	if r := s.events("application/cloudevents+json", body); r.StatusCode != http.StatusOK {
		t.Errorf("28: %d %s", r.StatusCode, r.body)
	}
	s.bus.Fail(onPublish(func(stream.Message) error { return errors.New("down") }))
	other := strings.Replace(body, `"id":"1"`, `"id":"2","provider":"x"`, 1)
	if r := s.events("application/cloudevents+json", other); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("39: %d %s", r.StatusCode, r.body)
	}
	if c := newest(t, s.bus, "a"); c.Kind != schema.KindTool || c.Format != "mcp" {
		t.Errorf("%+v", c)
	}
}

func TestWebhookHandshake(t *testing.T) {
	for name, tc := range map[string]struct {
		origins []string
		origin  string
		status  int
		allowed string
	}{
		"34 on the list":     {[]string{"events.example.com"}, "events.example.com", 200, "events.example.com"},
		"34 not on the list": {[]string{"events.example.com"}, "evil.example.com", 403, ""},
		"34 any":             {[]string{"*"}, "events.example.com", 200, "events.example.com"},
		"no list":            {nil, "events.example.com", 403, ""},
		"no handshake":       {nil, "", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Config{Origins: tc.origins})
			var headers []string
			if tc.origin != "" {
				headers = []string{"WebHook-Request-Origin", tc.origin}
			}
			r := s.do(http.MethodOptions, "/v1/events", nil, headers...)
			if r.StatusCode != tc.status || r.Header.Get("WebHook-Allowed-Origin") != tc.allowed || (r.Header.Get("WebHook-Allowed-Rate") != "") != (tc.allowed != "") {
				t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
			}
		})
	}
}
