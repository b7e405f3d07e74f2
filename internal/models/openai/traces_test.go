package openai

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// telling is a transport that keeps the span that requests name.
type telling struct {
	http.RoundTripper
	told trace.SpanContext
}

func (tr *telling) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.told = telemetry.Extract(map[string]string{events.HeaderTraceparent: r.Header.Get("traceparent")})
	return tr.RoundTripper.RoundTrip(r)
}

func TestCallsAreSpansWithoutWords(t *testing.T) {
	const secret = "pomegranate"
	spans := tracingtest.Record(t)
	ctx, root := spans.Root(t.Context())
	server := newServer(t)
	own := http.DefaultTransport.(*http.Transport).Clone()
	defer own.CloseIdleConnections()
	transport := &telling{RoundTripper: own}
	m := check.Value(New(Config{URL: server.URL + "/v1", Name: "tiny"}, transport))(t)
	check.Value(m.Embed(ctx, []string{secret}))(t)
	posts := spans.Named("POST embeddings")
	if last := posts[len(posts)-1].SpanContext(); transport.told.SpanID() != last.SpanID() {
		t.Errorf("the endpoint is told %v, want %v", transport.told, last)
	}

	model := newScripted(t, llmtest.Config{})
	c := check.Value(NewChat(ChatConfig{URL: model.URL(), Name: "scripted"}, transport))(t)
	check.Value(c.Complete(ctx, question(secret)))(t)
	chat := spans.Named("chat")[0]
	call := spans.Named("POST completions")[0]
	if transport.told.SpanID() != call.SpanContext().SpanID() || call.Parent().SpanID() != chat.SpanContext().SpanID() || chat.Parent().SpanID() != root.SpanContext().SpanID() {
		t.Errorf("the endpoint is told %v, want %v", transport.told, call.SpanContext())
	}
	tokens := 0
	for _, kv := range chat.Attributes() {
		if kv.Key == telemetry.InputTokens || kv.Key == telemetry.OutputTokens {
			tokens += int(kv.Value.AsInt64())
		}
	}
	if tokens == 0 || strings.Contains(spans.Text(), secret) {
		t.Errorf("%d tokens; the spans say:\n%s", tokens, spans.Text())
	}
	root.End()
}
