package ingest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestEncodeIsWhatTheCodecReads(t *testing.T) {
	record := events.Change{
		Schema: events.ChangeSchema, Ref: ref(`a,"raw":{}`), Version: schema.Version{Revision: 5, Source: 3},
		Op: events.OpUpsert, Provider: "<&>", Format: "json", Hash: "h", Event: &events.Event{Source: "/s", ID: `,"raw":1`},
	}
	raw := json.RawMessage(`{"a":"<&>","raw":[1, 2]}`)
	value := encode(&record, raw)
	var read events.Change
	check.OK(t, json.Unmarshal(value, &read))
	if !bytes.Equal(read.Raw, raw) || read.Ref != record.Ref || read.Version != record.Version || *read.Event != *record.Event {
		t.Errorf("%s", value)
	}
	head, ok := decodeHead(stream.Message{Key: events.Key(record.Ref), Value: value})
	if !ok || head.Raw != nil || head.Ref != record.Ref || head.Hash != "h" || *head.Event != *record.Event {
		t.Errorf("head %+v, %v", head, ok)
	}
}

func TestTableReadsWhatOthersWrote(t *testing.T) {
	key := events.Key(ref("a"))
	head := `"schema":1,"tenant":"default","kind":"tool","id":"a","op":"upsert","hash":"h"`
	for name, tc := range map[string]struct {
		key, value string
		known      bool
	}{
		"raw first":        {key, `{"raw":{"a":1},` + head + `,"revision":7}`, true},
		"raw in between":   {key, `{` + head + `,"raw":{"a":1},"revision":7}`, true},
		"a newer schema":   {key, `{"news":1,` + head + `,"revision":7}`, true},
		"no revision":      {key, `{` + head + `}`, false},
		"beyond revisions": {key, `{` + head + `,"revision":9007199254740992}`, false},
		"another's key":    {events.Key(ref("b")), `{` + head + `,"revision":7}`, false},
		"no JSON":          {key, `nonsense`, false},
		"a null":           {key, ``, false},
	} {
		t.Run(name, func(t *testing.T) {
			bus := streamtest.NewBus()
			check.OK(t, bus.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: tc.key, Value: []byte(tc.value)}))
			s, _ := start(t, bus, Config{}, newWall().now)
			<-s.replica.loaded
			k, there, _ := s.replica.table.get(key)
			if there != tc.known || there && (k.Revision != 7 || k.fingerprint != fingerprintOf("h", "", "", origin{})) {
				t.Errorf("%+v, %v", k, there)
			}
			wantStates(t, s, "accepted", doc("a", "x"))
		})
	}
}

func TestTableForgetsAfterTheGraceTime(t *testing.T) {
	bus := streamtest.NewBus()
	w := newWall()
	s, stop := start(t, bus, Config{}, w.now)
	accept(t, s, versioned(gone("a"), 9))
	stop()
	null := stream.Message{Topic: events.ToolsRaw, Key: events.Key(ref("a")), Headers: map[string]string{events.HeaderRevision: "9"}}
	check.OK(t, bus.Publish(t.Context(), null))
	s, _ = start(t, bus, Config{}, w.now)
	wantStates(t, s, "accepted", versioned(doc("a", "x"), 1))
}
