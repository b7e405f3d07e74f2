package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// recorded returns a provider and the spans that it has made.
func recorded(t *testing.T) (trace.TracerProvider, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	t.Cleanup(func() { check.OK(t, provider.Shutdown(context.Background())) })
	return provider, spans
}

// named returns the spans of a name.
func named(spans *tracetest.SpanRecorder, name string) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, s := range spans.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

// sender is the n-th trace that records come with.
func sender(n int, flags string) string {
	return fmt.Sprintf("00-%032x-%016x-%s", n+1, n+1, flags)
}

func put(t *testing.T, b *streamtest.Bus, topic events.Topic, parents ...string) {
	t.Helper()
	var msgs []stream.Message
	for i, parent := range parents {
		m := stream.Message{Topic: topic, Key: fmt.Sprint("key", i), Value: []byte("v"), Headers: map[string]string{events.HeaderRevision: "1"}}
		if parent != "" {
			m.Headers[events.HeaderTraceparent], m.Headers[events.HeaderTracestate] = parent, "a=b"
		}
		msgs = append(msgs, m)
	}
	check.OK(t, b.Publish(t.Context(), msgs...))
}

// loop runs echo over what is on the bus.
func loop(t *testing.T, b *streamtest.Bus, provider trace.TracerProvider, h stream.Handler) {
	t.Helper()
	d := deps(b, io.Discard)
	d.Traces = provider
	stop := check.Run(t, stream.New(stream.Stage{Name: "stage", Topic: from, Handler: h}, d).Run)
	synctest.Wait()
	stop()
}

func TestTheTracesOfRecordsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, spans := recorded(t)
		b := streamtest.NewBus()
		put(t, b, from, sender(0, "01"), sender(0, "01"), sender(1, "01"), sender(2, "00"), "", "no trace")
		var seen []trace.SpanContext
		loop(t, b, provider, stream.Each(1, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
			seen = append(seen, trace.SpanContextFromContext(ctx))
			return echo(ctx, m)
		}))
		batches, own := named(spans, "stage process searches batch"), named(spans, "stage process searches")
		if len(batches) != 1 || len(own) != 2 || len(batches[0].Links()) != 2 || batches[0].Parent().IsValid() {
			t.Fatalf("%d spans of batches, %d of traces", len(batches), len(own))
		}
		for i, s := range own {
			want := telemetry.Extract(map[string]string{events.HeaderTraceparent: sender(i, "01")})
			if s.Parent().SpanID() != want.SpanID() || s.SpanContext().TraceID() != want.TraceID() {
				t.Errorf("span %d is in trace %s below %s", i, s.SpanContext().TraceID(), s.Parent().SpanID())
			}
			if s.Links()[0].SpanContext.SpanID() != batches[0].SpanContext().SpanID() {
				t.Error("it does not name its batch")
			}
		}
		on := []trace.SpanContext{own[0].SpanContext(), own[0].SpanContext(), own[1].SpanContext()}
		for i, m := range b.Published(into) {
			sc := telemetry.Extract(m.Headers)
			switch {
			case i < len(on) && (sc.SpanID() != on[i].SpanID() || seen[i].SpanID() != on[i].SpanID() || m.Headers[events.HeaderTracestate] != "a=b"):
				t.Errorf("record %d goes on with %v and was handled in %v, want %v", i, m.Headers, seen[i], on[i])
			case i == 3 && m.Headers[events.HeaderTraceparent] != sender(2, "00"):
				t.Errorf("what is not sampled goes on with %v", m.Headers)
			case i >= 3 && seen[i].SpanID() != batches[0].SpanContext().SpanID():
				t.Errorf("record %d was handled in %v and not in the span of the batch", i, seen[i])
			}
		}
		if sent := named(spans, "send feedback"); len(sent) != 1 || sent[0].Parent().SpanID() != batches[0].SpanContext().SpanID() {
			t.Errorf("%d spans of sending", len(sent))
		}
	})
}

// However many traces meet in a batch, the spans that are made for them are few;
// the others go on as they came.
func TestSpansOfABatchAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, spans := recorded(t)
		b := streamtest.NewBus()
		var parents []string
		for n := range 100 {
			parents = append(parents, sender(n, "01"))
		}
		put(t, b, from, parents...)
		loop(t, b, provider, stream.Each(1, echo))
		if n := len(spans.Ended()); n != 16+1+1 {
			t.Errorf("%d spans", n)
		}
		if n := len(named(spans, "stage process searches batch")[0].Links()); n != 64 {
			t.Errorf("%d links", n)
		}
		if last := b.Published(into)[99].Headers[events.HeaderTraceparent]; last != parents[99] {
			t.Errorf("the last one goes on with %s", last)
		}
	})
}

func TestFailuresAreInTheTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, spans := recorded(t)
		b := streamtest.NewBus()
		put(t, b, from, sender(0, "01"), sender(1, "01"))
		loop(t, b, provider, stream.Each(1, func(_ context.Context, m stream.Message) ([]stream.Message, error) {
			if m.Key == "key1" {
				return nil, stream.Permanent("unfit", errors.New("a secret text"))
			}
			return nil, nil
		}))
		own := named(spans, "stage process searches")
		if own[0].Status().Description != "" || own[1].Status().Description != "unfit" {
			t.Errorf("%v, %v", own[0].Status(), own[1].Status())
		}
		if got := named(spans, "stage process searches batch")[0].Status().Description; got != "unfit" {
			t.Errorf("the batch: %q", got)
		}
		sc := telemetry.Extract(b.Published(events.DLQ)[0].Headers)
		if sc.SpanID() != own[1].SpanContext().SpanID() {
			t.Errorf("the letter is in %v", sc)
		}
	})
}

func TestOnlySinksThatWantToGoOnWithTraces(t *testing.T) {
	for _, traced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			provider, spans := recorded(t)
			b := streamtest.NewBus()
			put(t, b, from, sender(0, "01"))
			d := deps(b, io.Discard)
			d.Traces = provider
			tail := stream.NewTail(stream.Sink[string]{
				Name: "sink", Topic: from, Traced: traced,
				Decode: func(m stream.Message) (string, error) { return string(m.Value), nil },
				Apply:  func(context.Context, []stream.Record[string], map[int]uint64) error { return nil },
			}, d)
			stop := check.Run(t, func(ctx context.Context) error { return tail.Run(ctx, nil) })
			synctest.Wait()
			stop()
			if n := len(named(spans, "sink process searches")); (n == 1) != traced {
				t.Errorf("traced %v: %d spans", traced, n)
			}
		})
	}
}

// What is read again long after, to build something anew, makes no spans in
// traces that are over.
func TestOldRecordsDoNotGoOnWithTheirTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, spans := recorded(t)
		b := streamtest.NewBus()
		put(t, b, from, sender(0, "01"))
		time.Sleep(2 * time.Hour)
		loop(t, b, provider, stream.Each(1, echo))
		if n := len(named(spans, "stage process searches")); n != 0 {
			t.Errorf("%d spans", n)
		}
		if got := b.Published(into)[0].Headers[events.HeaderTraceparent]; got != sender(0, "01") {
			t.Errorf("it goes on with %s", got)
		}
	})
}
