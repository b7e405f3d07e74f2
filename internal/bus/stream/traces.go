package stream

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
)

// Limits of the spans that a batch adds to the traces of its records. Records of one trace
// share a span.
const (
	tracesOwn    = 16        // traces of a batch that get a span of their own
	tracesLinked = 64        // traces that the batch's span links to
	tracesAge    = time.Hour // of a record, after which its trace is over: repeated reading adds no spans
)

// traces are the spans of one batch: a span of the batch itself, in its own trace with links to
// the traces of its records, and a span in each of these traces. Nil has no spans.
type traces struct {
	batch trace.Span
	all   []trace.Span          // in the traces of records
	own   map[string]trace.Span // the same, by the traceparent that their records get
}

// trace begins the spans of a batch. A record with a span gets its trace context, so that later
// spans of the record become children.
func (w *worker) trace(ctx context.Context, msgs []Message) (context.Context, *traces) {
	if w.tracer == nil {
		return ctx, nil
	}
	groups, order := grouped(msgs, time.Now().Add(-tracesAge))
	options := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(append(w.attributes(len(msgs)),
			semconv.MessagingDestinationPartitionIDKey.Int(msgs[0].Partition))...),
	}
	for _, parent := range order[:min(len(order), tracesLinked)] {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: telemetry.Extract(msgs[groups[parent][0]].Headers)}))
	}
	name := w.name + " process " + string(w.topic)
	ctx, batch := w.tracer.Start(ctx, name+" batch", options...)
	t := &traces{batch: batch, own: map[string]trace.Span{}}
	for _, parent := range order[:min(len(order), tracesOwn)] {
		t.begin(w, name, msgs, groups[parent])
	}
	return context.WithValue(ctx, tracesKey{}, t), t
}

// begin begins the span of the records at these places, which continue one trace.
func (t *traces) begin(w *worker, name string, msgs []Message, places []int) {
	parent := telemetry.Linked(context.Background(), msgs[places[0]].Headers)
	ctx, span := w.tracer.Start(parent, name, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(w.attributes(len(places))...), trace.WithLinks(trace.Link{SpanContext: t.batch.SpanContext()}))
	if !span.IsRecording() {
		return
	}
	for _, at := range places {
		msgs[at].Headers = maps.Clone(msgs[at].Headers)
		telemetry.Inject(ctx, msgs[at].Headers)
	}
	t.all = append(t.all, span)
	t.own[msgs[places[0]].Headers[events.HeaderTraceparent]] = span
}

func (w *worker) attributes(n int) []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.Stage.String(w.name), semconv.MessagingDestinationName(string(w.topic)),
		semconv.MessagingOperationTypeProcess, semconv.MessagingBatchMessageCount(n),
	}
}

// grouped returns the places of the records that continue a sampled trace and are
// no older than since, by their traceparent, and these in order of appearance.
func grouped(msgs []Message, since time.Time) (groups map[string][]int, order []string) {
	groups = map[string][]int{}
	for i, m := range msgs {
		parent := m.Headers[events.HeaderTraceparent]
		if parent == "" || m.Time.Before(since) {
			continue
		}
		if groups[parent] == nil {
			if !telemetry.Extract(m.Headers).IsSampled() {
				continue
			}
			order = append(order, parent)
		}
		groups[parent] = append(groups[parent], i)
	}
	return groups, order
}

// failed notes in the spans of the batch in work that a record was given up.
func failed(ctx context.Context, l events.DeadLetter) {
	t, _ := ctx.Value(tracesKey{}).(*traces)
	if t == nil {
		return
	}
	telemetry.FailSpan(t.batch, l.Reason)
	if span := t.own[l.Headers[events.HeaderTraceparent]]; span != nil {
		telemetry.FailSpan(span, l.Reason)
	}
}

// log returns the context for log lines about the batch.
func (t *traces) log(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, t.batch)
}

// tried notes a try that has failed and will be repeated.
func (t *traces) tried(err error) {
	if t != nil && err != nil {
		t.batch.AddEvent("failed try", trace.WithAttributes(semconv.ErrorTypeKey.String(telemetry.ErrorKind(err))))
	}
}

// end ends all spans. With an error, the records are not done.
func (t *traces) end(err error) {
	if t == nil {
		return
	}
	for _, span := range t.all {
		telemetry.EndSpan(span, err)
	}
	telemetry.EndSpan(t.batch, err)
}

// tracesKey is the key of a context for the spans of the batch in work.
type tracesKey struct{}

// within returns the context for handling one record of a batch: with its span, if any.
func within(ctx context.Context, m Message) context.Context {
	t, _ := ctx.Value(tracesKey{}).(*traces)
	if t == nil {
		return ctx
	}
	if span := t.own[m.Headers[events.HeaderTraceparent]]; span != nil {
		return trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// send publishes within a span of its own.
func (w *worker) send(ctx context.Context, msgs []Message) error {
	ctx, span := telemetry.StartSpan(ctx, "send "+string(msgs[0].Topic), trace.WithSpanKind(trace.SpanKindProducer))
	span.SetAttributes(semconv.MessagingDestinationName(string(msgs[0].Topic)), semconv.MessagingBatchMessageCount(len(msgs)))
	err := w.publisher.Publish(ctx, msgs...)
	telemetry.EndSpan(span, err)
	return err
}
