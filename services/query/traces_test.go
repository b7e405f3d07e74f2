package query

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// secret is a word that no span may repeat.
const secret = "pomegranate"

func TestASearchIsAFewSpans(t *testing.T) {
	for name, tc := range map[string]struct {
		req  schema.SearchRequest
		with func(*bench)
		want string
	}{
		"plain": {schema.SearchRequest{}, func(*bench) {}, "search [wait, embed, index [suppliers], answer [fuse]]"},
		"rewritten": {schema.SearchRequest{}, func(b *bench) {
			b.rewriter = &fakeRewriter{answer: rewriting.Rewritten{Needs: []schema.Need{{UserIntent: secret}}}}
		}, "search [rewrite, wait, embed, index [suppliers], answer [fuse]]"},
		"reranked":      {schema.SearchRequest{Rerank: schema.RerankMulti}, func(*bench) {}, "search [wait, embed, index [suppliers], answer [fuse, rerank]]"},
		"by steps":      {schema.SearchRequest{Steps: []string{secret}}, func(*bench) {}, "search [wait, embed, index [suppliers], answer [fuse]]"},
		"embedder away": {schema.SearchRequest{}, func(b *bench) { b.embedder.err = errDown }, "search [wait, embed, index [suppliers], answer [fuse]]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tool("a", "mail", 2), tool("b", "bank", 1))
			tc.with(b)
			b.build(t, Config{})
			spans := tracingtest.Record(t)
			ctx, root := spans.Root(t.Context())
			tc.req.Query = "buy a " + secret
			resp := check.Value(b.Search(ctx, testCaller, tc.req))(t)
			root.End()
			if got := spans.Within(root.SpanContext()); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if text := spans.Text(); strings.Contains(text, secret) || strings.Contains(text, errDown.Error()) || !strings.Contains(text, resp.SearchID) {
				t.Errorf("the spans say:\n%s", text)
			}
		})
	}
}

// What a search showed, and what was done with it, go on with the trace of the
// request that said so.
func TestRecordsGoOnWithTheTrace(t *testing.T) {
	b := newBench(t, tool("a", "mail", 1))
	stop := b.start(t)
	spans := tracingtest.Record(t)
	ctx, root := spans.Root(t.Context())
	resp := check.Value(b.Search(ctx, testCaller, schema.SearchRequest{Query: "q"}))(t)
	f := schema.Feedback{SearchID: resp.SearchID, ToolID: "a", Event: schema.Called}
	check.OK(t, b.Feedback(ctx, testTenant, f))
	stop()
	root.End()
	for topic, name := range map[events.Topic]string{events.Searches: "answer", events.FeedbackTopic: "send feedback"} {
		m := b.bus.Published(topic)[0]
		if got, want := telemetry.Extract(m.Headers), spans.Named(name)[0].SpanContext(); got.SpanID() != want.SpanID() {
			t.Errorf("%s goes on with %v, want %s", topic, m.Headers, want.SpanID())
		}
		if m.Headers[events.HeaderSchema] == "" {
			t.Errorf("%s: headers %v", topic, m.Headers)
		}
	}
}
