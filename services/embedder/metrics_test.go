package embedder

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
)

// What the objective may be is what the metric can tell.
func TestEveryObjectiveIsABoundOfFreshness(t *testing.T) {
	setting, _ := reflect.TypeFor[config.Freshness]().FieldByName("Objective")
	for text := range strings.SplitSeq(setting.Tag.Get("in"), ",") {
		objective, err := time.ParseDuration(text)
		if err != nil || !slices.Contains(freshnessBounds(), objective.Seconds()) {
			t.Errorf("freshness.objective may be %q, which is no bound (%v)", text, err)
		}
	}
}
