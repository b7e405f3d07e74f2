package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestWhatIsRefusedIsSaidUntilSomethingGoodComes(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	good := sealed(t, 5, nil)
	raw := mustJSON(t, good)
	for name, bad := range map[string][]byte{
		"truncated":   raw[:len(raw)/2],
		"corrupted":   []byte(strings.Replace(string(raw), `"bias":0`, `"bias":7`, 1)),
		"older epoch": mustJSON(t, sealed(t, 4, nil)),
	} {
		b.models.learn("weights.live.default", raw)
		if got := b.Refused(testTenant); len(got) != 0 {
			t.Fatalf("%s: %q with good weights", name, got)
		}
		b.models.learn("weights.live.default", bad)
		if got := b.Refused(testTenant); len(got) != 1 || !strings.HasPrefix(got[0], "weights: ") {
			t.Errorf("%s: %q", name, got)
		}
		if b.WeightsVersion(testTenant) != good.Version {
			t.Errorf("%s: %s serves", name, b.WeightsVersion(testTenant))
		}
		if got := b.Refused("other"); len(got) != 0 {
			t.Errorf("%s: another tenant is told %q", name, got)
		}
	}
	b.usage.learn("usage.default", []byte("{"))
	if got := b.Refused(testTenant); len(got) != 2 || !strings.HasPrefix(got[1], "usage: ") {
		t.Errorf("%q", got)
	}
	b.models.learn("weights.live.default", nil)
	b.usage.learn("usage.default", nil)
	if got := b.Refused(testTenant); len(got) != 0 {
		t.Errorf("%q of what is gone", got)
	}
}

func TestFeedbackOnWhatWasDeletedIsRefused(t *testing.T) {
	b := newBench(t, tool("a", "", 1), agent("both", 1))
	for _, id := range []string{"gone", "both"} {
		b.catalogue.deleted[schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id}] = schema.Version{Revision: 9}
	}
	for id, refused := range map[string]bool{"a": false, "gone": true, "both": false, "unknown here": false} {
		err := b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: "s", ToolID: id, Event: schema.Called})
		var invalid *schema.Invalid
		if errors.As(err, &invalid) != refused || !refused && err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: "s", ToolID: "a", Event: "liked"}); err == nil {
		t.Error("an unknown event was accepted")
	}
	if n := b.metric(t, "toolstream_feedback_refused_total"); n != 2 {
		t.Errorf("%v refusals counted", n)
	}
	if n := len(b.bus.Published(events.FeedbackTopic)); n != 3 {
		t.Errorf("%d events published", n)
	}
}
