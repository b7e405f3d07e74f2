package trainer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Operators see what was asked for lately and what was used, until it expires, is taken back
// or is erased.
func TestSearchesAreListedWhileTheyWait(t *testing.T) {
	b := newBench(t, Config{})
	list := func(tenant string, limit int) (said []string) {
		t.Helper()
		for _, s := range check.Value(b.Searches(tenant, limit))(t) {
			said = append(said, fmt.Sprint(s.ID, " ", s.Query, " ", s.Results, s.Used))
		}
		return said
	}
	if got := list("default", 10); len(got) != 0 {
		t.Errorf("at first: %q", got)
	}
	ask := func(id, query string, tools ...string) schema.Impression {
		i := b.impression(id, tools...)
		i.Query = query
		b.now = b.now.Add(time.Minute)
		return i
	}
	first := ask("s1", "a ferry", "a", "b")
	first.Shown[0].Also = []schema.Offer{{ID: "c"}}
	other := ask("s4", "of another tenant", "a")
	other.Tenant = "other"
	b.must(b.show(first, ask("s2", strings.Repeat("é", 1000), "a"), ask("s3", "a train", "a", "b"), other))
	failed := b.feedback("s3", "a", schema.Called)
	taken := b.feedback("s3", "b", schema.Called)
	used := b.feedback("s1", "c", schema.Called)
	used.Client = "script"
	b.must(b.report(used, failed, b.feedback("s3", "a", schema.Failed), taken))
	long := strings.Repeat("é", 500)
	want := []string{"s3 a train [a b] [b]", "s2 " + long + " [a] []", "s1 a ferry [a b] [c]"}
	if got := list("default", 10); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	b.restart(Config{})
	if got := list("default", 2); !slices.Equal(got, want[:2]) {
		t.Errorf("the newest two: %q", got)
	}
	b.must(b.report(schema.Feedback{Tenant: "default", Event: schema.Forget, Client: "script", Time: b.now}))
	if got := list("default", 10); !slices.Equal(got, append(want[:2:2], "s1 a ferry [a b] []")) {
		t.Errorf("what a client said is taken back: %q", got)
	}
	b.must(b.Erase("default", false))
	if got := list("default", 10); len(got) != 0 {
		t.Errorf("of an erased tenant: %q", got)
	}
	if got := list("other", 10); len(got) != 1 {
		t.Errorf("of the other tenant: %q", got)
	}
	b.now = b.now.Add(25 * time.Hour)
	b.advance()
	if got := list("other", 10); len(got) != 0 {
		t.Errorf("after a day: %q", got)
	}
}
