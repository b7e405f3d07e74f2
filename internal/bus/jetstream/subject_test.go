package jetstream

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// Whatever the key and the headers hold, they come back, and the subject is
// one that the server takes.
func TestSubjectsAndHeadersRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		topic := rapid.SampledFrom(events.Topics()).Draw(rt, "topic")
		key := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "key"))
		subject := subjectOf(topic, key)
		if strings.ContainsAny(subject, " *>\t\r\n") || strings.Contains(subject, "..") || strings.HasSuffix(subject, ".") {
			rt.Errorf("subject %q cannot be published to", subject)
		}
		if k := keyOf(subject); k != key {
			rt.Errorf("subject %q reads as key %q, want %q", subject, k, key)
		}
		value := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "header"))
		escaped := escape(value)
		if strings.ContainsAny(escaped, "\r\n\t") || strings.TrimSpace(escaped) != escaped {
			rt.Errorf("header value %q is written as %q", value, escaped)
		}
		if got := decodeHeaders(nats.Header{"x": {escaped}})["x"]; got != value {
			rt.Errorf("header value %q reads as %q", value, got)
		}
	})
}

func TestEncodeRefuses(t *testing.T) {
	long := strings.Repeat("x", maxHeaders)
	tests := []struct {
		name   string
		m      stream.Message
		reason string
	}{
		{"long key", stream.Message{Key: strings.Repeat("k", maxKey+1)}, reasonBadKey},
		{"long header", stream.Message{Headers: map[string]string{"a": long}}, reasonBadHeader},
		{"large value", stream.Message{Value: make([]byte, MaxPayload)}, stream.ReasonTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.Topic = events.ToolsRaw
			if _, err := encode(tt.m); stream.Reason(err) != tt.reason {
				t.Errorf("%v, want reason %s", err, tt.reason)
			}
		})
	}
}

// What lies on the bus in a form of its own is read as it is, and holds nobody up.
func TestForeignRecords(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer closeServer(t, s)
	foreign := nats.NewMsg(prefix + "tools.raw.theirs")
	foreign.Data, foreign.Header = []byte("{"), nats.Header{"odd": {"100%"}}
	check.Value(s.js.PublishMsg(t.Context(), foreign))(t)
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/ours"}))
	got := readWhole(t, s, events.ToolsRaw)
	if len(got) != 2 || got[0].Key != "theirs" || string(got[0].Value) != "{" ||
		!maps.Equal(got[0].Headers, map[string]string{"odd": "100%"}) || got[1].Key != "t/ours" {
		t.Errorf("read %+v", got)
	}
}

// A reader that loses its consumer on the server goes on where it was.
func TestConsumerLoss(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer closeServer(t, s)
	const n = 3000 // several requests
	msgs := make([]stream.Message, n)
	for i := range msgs {
		msgs[i] = stream.Message{Topic: events.Searches, Key: "t/a"}
	}
	check.OK(t, s.Publish(t.Context(), msgs...))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := &reader{js: s.js, erased: s.erased, log: s.log, topic: events.Searches}
	defer r.close()
	var next uint64 = 1
	failures, losses := 0, 0
	for next <= n {
		got, err := r.Fetch(ctx, 100)
		if err != nil {
			failures++
			if ctx.Err() != nil {
				t.Fatalf("after %d messages and %d failures: %v", next-1, failures, err)
			}
			continue // as the loop does, that waits in between
		}
		for _, m := range got {
			if m.Offset != next {
				t.Fatalf("offset %d came, want %d", m.Offset, next)
			}
			next++
		}
		if next%500 < 100 && r.consumer != nil &&
			s.js.DeleteConsumer(ctx, streamName(events.Searches), r.consumer.CachedInfo().Name) == nil {
			losses++
		}
	}
	if losses == 0 {
		t.Error("no consumer was deleted")
	}
}
