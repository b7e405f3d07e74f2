package evaluator

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What is searched for goes by a name of its own, and not by that of where the search
// began.
func TestTunedWeightsAreNamedAfterWhatTheyAre(t *testing.T) {
	dir := writeSet(t, smallSet())
	tuned := func(begin schema.Weights) schema.Weights {
		t.Helper()
		got := check.Value(Tune(t.Context(), TuneConfig{Dirs: []string{dir}, Begin: begin, Config: evalConfig(t, dir, nil).Config}, func(string, int, int) {}))(t)
		if _, err := fusion.ModelOf(got.Weights); err != nil || len(got.Sets) != 2 || got.Sets[1].LeftOut == nil {
			t.Errorf("%v: %+v", err, got)
		}
		return got.Weights
	}
	first, again, other := tuned(fusion.Builtin()), tuned(fusion.Builtin()), tuned(fusion.Heuristic())
	if v := first.Version; !strings.HasPrefix(v, "tuned-") || v != again.Version || v == other.Version {
		t.Errorf("versions %s, %s, and from elsewhere %s", v, again.Version, other.Version)
	}
}
