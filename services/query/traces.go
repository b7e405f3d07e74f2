package query

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/schema"
)

// stage is a part of a search at work: its time is measured, and it is a span.
type stage struct {
	trace.Span
	stop func()
}

// stage begins a part of a search.
func (s *Service) stage(ctx context.Context, name string) (context.Context, stage) {
	stop := s.metrics.stage(name)
	ctx, span := tracing.Begin(ctx, name)
	return ctx, stage{span, stop}
}

// note adds what is known of the stage, if anybody will see it.
func (st stage) note(attributes ...attribute.KeyValue) {
	if st.IsRecording() {
		st.SetAttributes(attributes...)
	}
}

// end ends the stage with what came of it. It is called once.
func (st stage) end(err error) {
	st.stop()
	tracing.End(st.Span, err)
}

// noteRequest notes in the span of a search what is searched for, without its words.
func noteRequest(span trace.Span, tenant string, req *schema.SearchRequest) {
	if span.IsRecording() {
		span.SetAttributes(
			tracing.Tenant.String(tenant), tracing.Rank.String(string(req.Rank)), tracing.K.Int(req.K),
			tracing.QueryLength.Int(len(req.Query)),
		)
	}
}

// noteAnswer notes what came of it.
func noteAnswer(span trace.Span, resp *schema.SearchResponse) {
	if span.IsRecording() {
		span.SetAttributes(
			tracing.Search.String(resp.SearchID), tracing.Weights.String(resp.Weights), tracing.Results.Int(len(resp.Results)),
			tracing.Rewrite.String(string(resp.Rewrite)), tracing.Reranked.String(string(resp.Reranked)),
			tracing.Degraded.StringSlice(resp.Degraded),
		)
	}
}
