package ingest

import (
	"context"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

func TestRecordsGoOnWithTheTraceOfTheirRequest(t *testing.T) {
	bus, s := newService(t)
	spans := tracingtest.Record(t)
	ctx, root := spans.Root(t.Context())
	check.Value(s.Accept(ctx, home, []formats.Item{doc("a", "x"), doc("b", "y")}, Options{}))(t)
	root.End()
	if got := spans.Within(root.SpanContext()); got != "accept [send tools.raw]" {
		t.Errorf("got %s", got)
	}
	accept := spans.Named("accept")[0].SpanContext()
	for _, m := range bus.Published(events.ToolsRaw) {
		if got := telemetry.Extract(m.Headers); got.SpanID() != accept.SpanID() || !got.IsSampled() {
			t.Errorf("a record goes on with %v", m.Headers)
		}
	}
}

const (
	cause = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	state = "vendor=opaque"
)

// What led to an event is told by its extensions, whatever request brought it.
func TestRecordsGoOnWithTheTraceOfTheirEvent(t *testing.T) {
	caused := event("1", TypeToolUpserted, "a", `{"name":"a","description":"x"}`, 0)
	caused.Extensions = map[string]string{events.HeaderTraceparent: cause, events.HeaderTracestate: state}
	plain := event("2", TypeToolUpserted, "b", `{"name":"b","description":"x"}`, 0)
	for name, traced := range map[string]bool{"traced": true, "not traced": false} {
		t.Run(name, func(t *testing.T) {
			bus, s := newService(t)
			spans := tracingtest.Record(t)
			var ctx context.Context = t.Context()
			if traced {
				within, root := spans.Root(ctx)
				defer root.End()
				ctx = within
			}
			check.Value(s.acceptEvents(ctx, home, []cloudEvent{caused, plain}))(t)
			want := telemetry.Extract(caused.Extensions)
			msgs := bus.Published(events.ToolsRaw)
			first, second := telemetry.Extract(msgs[0].Headers), telemetry.Extract(msgs[1].Headers)
			if first.TraceID() != want.TraceID() || msgs[0].Headers[events.HeaderTracestate] != state {
				t.Errorf("the first goes on with %v", msgs[0].Headers)
			}
			if second.IsValid() != traced || second.TraceID() == want.TraceID() {
				t.Errorf("the second goes on with %v", msgs[1].Headers)
			}
			if !traced {
				return
			}
			if got := spans.Within(want); got != "receive event [accept [send tools.raw]]" {
				t.Errorf("in the trace of the event: %s", got)
			}
		})
	}
}
