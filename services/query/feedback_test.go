package query

import (
	"errors"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/record"
)

// refusedFor returns the member of feedback that was refused, empty for none.
func refusedFor(t *testing.T, err error) string {
	t.Helper()
	invalid := (*schema.Invalid)(nil)
	if errors.As(err, &invalid) {
		return invalid.Path
	}
	check.OK(t, err)
	return ""
}

func TestFeedbackIsAboutWhatASearchOfTheTenantShowed(t *testing.T) {
	b, replica := newBench(t, tool("a", "", 2), tool("b", "", 1)), newBench(t)
	resp := b.search(t, schema.SearchRequest{K: 1})
	id := resp.SearchID
	typo := "A" + id[1:]
	if id[0] == 'A' {
		typo = "B" + id[1:]
	}
	for name, c := range map[string]struct {
		tenant string
		f      schema.Feedback
		path   string
	}{
		"shown":                  {testTenant, schema.Feedback{SearchID: id, ToolID: "a"}, ""},
		"found but not shown":    {testTenant, schema.Feedback{SearchID: id, ToolID: "b"}, "/tool_id"},
		"never heard of":         {testTenant, schema.Feedback{SearchID: id, ToolID: "c"}, "/tool_id"},
		"another tenant's":       {"other", schema.Feedback{SearchID: id, ToolID: "a"}, "/search_id"},
		"mistyped":               {testTenant, schema.Feedback{SearchID: typo, ToolID: "a"}, "/search_id"},
		"cut":                    {testTenant, schema.Feedback{SearchID: id[:len(id)-2], ToolID: "a"}, "/search_id"},
		"with a line break":      {testTenant, schema.Feedback{SearchID: id + "\n", ToolID: "a"}, "/search_id"},
		"not an id at all":       {testTenant, schema.Feedback{SearchID: "quokka", ToolID: "a"}, "/search_id"},
		"unknown event, however": {testTenant, schema.Feedback{SearchID: id, ToolID: "a", Event: "liked"}, "/event"},
		"not to be reported":     {testTenant, schema.Feedback{SearchID: id, ToolID: "a", Event: schema.Forget, Client: "eve"}, "/event"},
	} {
		if c.f.Event == "" {
			c.f.Event = schema.Called
		}
		for _, s := range []*bench{b, replica} { // neither needs to have answered the search
			if got := refusedFor(t, s.Feedback(deadline(t), c.tenant, c.f)); got != c.path {
				t.Errorf("%s: refused for %q, want %q", name, got, c.path)
			}
		}
	}
	if n := b.metric(t, "toolstream_feedback_refused_total"); n != 9 {
		t.Errorf("%v refusals counted", n)
	}
	if n := len(replica.bus.Published(events.FeedbackTopic)); n != 1 {
		t.Errorf("%d events published", n)
	}
}

func TestFeedbackOnAToolThatWasDeletedIsRefused(t *testing.T) {
	b := newBench(t, tool("a", "", 1), provider("both", 1), provider("shop", 1))
	for _, ref := range []schema.Ref{tool("gone", "", 1).Ref, tool("both", "", 1).Ref, provider("shop", 1).Ref} {
		b.catalogue.deleted[ref] = schema.Version{Revision: 9}
	}
	for id, refused := range map[string]string{"a": "", "gone": "/tool_id", "both": "", "unknown here": "", "shop": ""} {
		search := record.SearchID(testTenant, 1, []schema.Shown{{ID: id}})
		if got := refusedFor(t, b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: search, ToolID: id, Event: schema.Called})); got != refused {
			t.Errorf("%s: refused for %q, want %q", id, got, refused)
		}
	}
}

// The credential is the caller's, whatever a body says.
func TestFeedbackIsOfTheCredential(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	id := b.search(t, schema.SearchRequest{K: 1}).SearchID
	f := schema.Feedback{SearchID: id, ToolID: "a", Event: schema.Called, Credential: "another"}
	check.OK(t, b.Feedback(identity.With(deadline(t), identity.Caller{Subject: "planner"}), testTenant, f))
	got, err := events.Decode[schema.Feedback](b.bus.Published(events.FeedbackTopic)[0].Value)
	if err != nil || got.Credential != "planner" {
		t.Errorf("%+v: %v", got, err)
	}
}
