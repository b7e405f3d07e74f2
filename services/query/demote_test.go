package query

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// An unhealthy tool stands behind those that score as well, and before those that do not;
// the search remembers the order that was shown.
func TestUnhealthyToolsStandBehindTheirEquals(t *testing.T) {
	b := newBench(t, tool("a", "", 100), tool("b", "", 99.9), tool("c", "", 99.8), tool("d", "", 60), tool("e", "", 59.9))
	for _, tc := range []struct {
		broken []string
		want   []string
	}{
		{nil, []string{"a", "b", "c", "d", "e"}},
		{[]string{"a"}, []string{"b", "c", "a", "d", "e"}},
		{[]string{"a", "b"}, []string{"c", "a", "b", "d", "e"}},
		{[]string{"a", "b", "c"}, []string{"a", "b", "c", "d", "e"}},
		{[]string{"a", "d"}, []string{"b", "c", "a", "e", "d"}},
	} {
		calls := fakeConnections{unhealthy: tc.broken, shown: map[string][]string{}}
		b.Connect(calls)
		resp := b.search(t, schema.SearchRequest{Session: "of one agent"})
		if got := ids(resp); !slices.Equal(got, tc.want) {
			t.Errorf("with %q unhealthy: %q, want %q", tc.broken, got, tc.want)
		}
		if got := calls.shown["of one agent"]; !slices.Equal(got, append([]string{resp.SearchID}, tc.want...)) {
			t.Errorf("with %q unhealthy %q was shown", tc.broken, got)
		}
	}
}
