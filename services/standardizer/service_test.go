package standardizer

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func upsert(id, format, raw string) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Op: events.OpUpsert, Format: format, Hash: "h", Raw: json.RawMessage(raw), Provider: "kitchen",
		Ref:     schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: id},
		Version: schema.Version{Revision: 7}, Accepted: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC),
	}
}

func record(t *testing.T, c events.Change) stream.Message {
	t.Helper()
	value := check.Value(json.Marshal(c))(t)
	return stream.Message{Topic: events.ToolsRaw, Key: events.Key(c.Ref), Value: value, Headers: map[string]string{events.HeaderRevision: "7", events.HeaderTraceparent: "00-1"}}
}

// process runs the service over records until it has committed the last one,
// and returns the bus.
func process(t *testing.T, msgs ...stream.Message) *streamtest.Bus {
	t.Helper()
	bus := streamtest.NewBus()
	s := check.Value(New(Config{}, Deps{Groups: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))(t)
	check.OK(t, bus.Publish(t.Context(), msgs...))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	end := check.Run(t, s.Run)
	all := func() bool { return bus.Committed(events.ToolsRaw, Name)[0] == uint64(len(msgs)) }
	check.OK(t, bus.Await(ctx, all))
	end()
	return bus
}

func TestAChangeGetsItsDocument(t *testing.T) {
	in := upsert("kitchen/boil", "mcp", `{"name": "boil", "description": "Boils an egg.", "inputSchema": {"properties": {"minutes": {"type": "number"}}, "required": ["minutes"]}}`)
	sent := record(t, in)
	out := process(t, sent).Published(events.ToolsStandardized)
	if len(out) != 1 {
		t.Fatalf("%d records", len(out))
	}
	if out[0].Key != sent.Key || !reflect.DeepEqual(out[0].Headers, sent.Headers) {
		t.Errorf("key %q headers %v", out[0].Key, out[0].Headers)
	}
	got := check.Value(events.Decode[events.Change](out[0].Value))(t)
	want := in
	want.Document = &schema.Document{Name: "boil", Language: "en", Description: "Boils an egg.", Parameters: []schema.Parameter{{Name: "minutes", Type: "number", Required: true}}}
	want.Raw = check.Value(json.Marshal(in.Raw))(t)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestADocumentMadeAnewSaysSo(t *testing.T) {
	m := record(t, upsert("a", "json", `{"name": "a"}`))
	m.Headers[events.HeaderRefresh] = "prompt"
	out := process(t, m).Published(events.ToolsStandardized)
	if len(out) != 1 || out[0].Headers[events.HeaderRefreshed] != "prompt" || out[0].Headers[events.HeaderRefresh] != "" {
		t.Errorf("%+v", out)
	}
}

func TestTheSameRecordGivesTheSameBytes(t *testing.T) {
	m := record(t, upsert("a", "json", `{"name": "a", "x": {"b": "One thing that is said here", "a": "Another thing that is said here"}}`))
	first := process(t, m).Published(events.ToolsStandardized)
	second := process(t, m).Published(events.ToolsStandardized)
	if len(first) != 1 || len(second) != 1 || string(first[0].Value) != string(second[0].Value) {
		t.Errorf("got %v and %v", first, second)
	}
}

func TestDeletesAndAbsencesPassUnchanged(t *testing.T) {
	gone := upsert("a", "", "")
	gone.Op, gone.Raw, gone.Format = events.OpDelete, nil, ""
	deleted := record(t, gone)
	absent := stream.Message{Topic: events.ToolsRaw, Key: "default/b", Headers: map[string]string{events.HeaderRevision: "9"}}
	out := process(t, deleted, absent).Published(events.ToolsStandardized)
	if len(out) != 2 {
		t.Fatalf("%d records", len(out))
	}
	byKey := map[string]string{out[0].Key: string(out[0].Value), out[1].Key: string(out[1].Value)}
	if want := map[string]string{deleted.Key: string(deleted.Value), absent.Key: ""}; !reflect.DeepEqual(byKey, want) {
		t.Errorf("got %q, want %q", byKey, want)
	}
}

func TestWhatCanNotBeReadBecomesADeadLetter(t *testing.T) {
	later := upsert("a", "mcp", `{"name": "a"}`)
	later.Schema = events.ChangeSchema + 1
	unknown := upsert("a", "crystal-ball", `{"name": "a"}`)
	odd := upsert("a", "mcp", `{"name": "a"}`)
	odd.Op = "upend"
	moved := record(t, upsert("a", "mcp", `{"name": "a"}`))
	moved.Key = "default/b"
	for name, test := range map[string]struct {
		msg    stream.Message
		reason string
	}{
		"later version":  {record(t, later), ReasonUnknownSchema},
		"no JSON":        {stream.Message{Topic: events.ToolsRaw, Key: "default/a", Value: []byte("{")}, ReasonUndecodable},
		"operation":      {record(t, odd), ReasonUndecodable},
		"key":            {moved, ReasonBadKey},
		"no value":       {stream.Message{Topic: events.ToolsRaw, Key: "default/a"}, ReasonBadKey},
		"format":         {record(t, unknown), ReasonUnknownFormat},
		"no document":    {record(t, upsert("a", "mcp", `null`)), ReasonBadDocument},
		"absent raw":     {record(t, upsert("a", "mcp", ``)), ReasonBadDocument},
		"a key twice":    {stream.Message{Topic: events.ToolsRaw, Key: "default/a", Value: []byte(`{"tenant":"default","kind":"tool","id":"a","revision":1,"op":"upsert","format":"mcp","raw":{"name":"a","name":"b"}}`)}, ReasonBadDocument},
		"nothing to say": {record(t, upsert("a", "text", `""`)), ReasonBadDocument},
	} {
		t.Run(name, func(t *testing.T) {
			good := record(t, upsert("good", "text", `"Boils an egg."`))
			bus := process(t, test.msg, good)
			letters := bus.Published(events.DLQ)
			if len(letters) != 1 {
				t.Fatalf("%d dead letters", len(letters))
			}
			l := check.Value(events.Decode[events.DeadLetter](letters[0].Value))(t)
			if l.Reason != test.reason || l.Stage != Name || string(l.Original) != string(test.msg.Value) {
				t.Errorf("letter %+v, want reason %q", l, test.reason)
			}
			if (l.Path == "/raw/name") != (name == "a key twice") {
				t.Errorf("the letter points to %q", l.Path)
			}
			if out := bus.Published(events.ToolsStandardized); len(out) != 1 || out[0].Key != good.Key {
				t.Errorf("its neighbour did not get through: %v", out)
			}
		})
	}
}
