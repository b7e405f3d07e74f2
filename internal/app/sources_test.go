package app

import (
	"maps"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/source"
)

func TestEveryKindOfSourceHasAConnector(t *testing.T) {
	have := slices.Sorted(maps.Keys(embedded(t).connectors()))
	if want := slices.Sorted(slices.Values(source.Kinds)); !slices.Equal(have, want) {
		t.Errorf("there are connectors for %q, want %q", have, want)
	}
}
