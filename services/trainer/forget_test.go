package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// forgetting lets the trainer forget, and read the record that says so.
func (b *bench) forgetting(credential, client string) (schema.Feedback, TakenBack) {
	b.t.Helper()
	taken := check.Value(b.Forget(b.t.Context(), "default", credential, client))(b.t)
	var mark schema.Feedback
	published := b.bus.Messages(events.FeedbackTopic)
	b.must(json.Unmarshal(published[len(published)-1].Value, &mark))
	b.must(b.report(mark))
	return mark, taken
}

func (b *bench) teachBoth() {
	for i := range enoughSessions {
		b.search(fmt.Sprint("a", i), 1, "app/ann", ten, []string{"t1"})
		b.search(fmt.Sprint("e", i), 2, "app/eve", ten, []string{"t2"})
	}
}

func TestFeedbackOfAClientIsTakenBack(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	b.teachBoth()
	if u := b.published(); u.Prior["t1"] == 0 || u.Prior["t2"] == 0 {
		t.Fatalf("before: %v", u.Prior)
	}
	if _, taken := b.forgetting("", "eve"); taken != (TakenBack{Searches: 1, Queries: 1}) {
		t.Errorf("taken back: %+v", taken)
	}
	b.restart(Config{Model: "m"})
	late := b.feedback("e2", "t2", schema.Succeeded)
	late.Credential, late.Client = "app", "eve"
	b.must(b.report(late))
	u := b.published()
	if u.Prior["t1"] == 0 || u.Prior["t2"] > 0 || len(u.Came) != 1 || len(b.clusters()) != 1 || b.outcome(takenBack) != 1 {
		t.Errorf("%v, outcomes %v, %d clusters", u.Prior, u.Came, len(b.clusters()))
	}
	for i := range enoughSessions {
		b.search(fmt.Sprint("again", i), 2, "app/eve", ten, []string{"t2"})
	}
	if u := b.published(); u.Prior["t2"] == 0 {
		t.Errorf("what is taught afterwards does not count: %v", u.Prior)
	}
}

// Another client's word on a search of the client does not bring its own back.
func TestFeedbackOfOthersRestoresNothing(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	b.search("e", 1, "app/eve", ten, []string{"t2"})
	b.forgetting("app", "")
	other := b.feedback("e", "t1", schema.Called)
	other.Credential = "web"
	b.must(b.report(other))
	if s := b.clusters()[0].Sessions[0]; s.Credential != "web" || len(s.Used) != 1 || b.clusters()[0].Tools[s.Used[0]].ID != "t1" {
		t.Errorf("%+v", s)
	}
}

// A trainer that lost its state reads the topics from the beginning, or the record that
// takes back before what it takes back, which is of another partition.
func TestAReplayBringsNothingBack(t *testing.T) {
	for name, first := range map[string]bool{"after": false, "before": true} {
		b := newBench(t, Config{Model: "m"})
		b.teachBoth()
		mark, _ := b.forgetting("", "eve")
		mark.Time = b.now
		again := newBench(t, Config{Model: "m"})
		if first {
			began := again.now
			again.now = mark.Time
			again.must(again.report(mark))
			again.now = began
		}
		again.teachBoth()
		if !first {
			again.must(again.report(mark))
		}
		again.advance()
		if u := again.store.usage(t, "default"); u.Prior["t1"] == 0 || u.Prior["t2"] > 0 {
			t.Errorf("%s: %v", name, u.Prior)
		}
	}
}

// Learned weights may hold what a client taught.
func TestLearnedWeightsAreTakenBack(t *testing.T) {
	b := newBench(t, Config{MinPairs: 10, Publish: 1})
	b.teach("s", 40)
	for i := range 40 {
		f := b.feedback(fmt.Sprint("s", i), "right", schema.Called)
		f.Client = "eve"
		b.must(b.report(f))
	}
	b.advance()
	if live := b.store.live(t, "default"); live.Source != learnedFromFeedback {
		t.Fatalf("live: %q", live.Source)
	}
	b.forgetting("", "eve")
	b.advance()
	live := b.store.live(t, "default")
	m, err := fusion.ModelOf(live.Weights)
	m.Version = builtin("").Version
	if err != nil || m != builtin("") || len(b.clusters()) > 0 {
		t.Errorf("live: %q, %d clusters: %v", live.Source, len(b.clusters()), err)
	}
}

func TestForgetNamesSomebody(t *testing.T) {
	b := newBench(t, Config{})
	var invalid *schema.Invalid
	if _, err := b.Forget(t.Context(), "default", "", ""); !errors.As(err, &invalid) {
		t.Errorf("%v", err)
	}
}
