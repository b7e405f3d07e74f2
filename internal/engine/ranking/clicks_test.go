package ranking

import (
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestClicksReorderARanking(t *testing.T) {
	m := model()
	rs := Rank([]index.Candidate{
		tool("first", "", 9), tool("second", "", 8), entity(schema.KindProvider, "third", "", 7), tool("fourth", "", 6), tool("fifth", "", 5),
	}, m, Signals{})
	for what, c := range map[string]struct {
		came map[string]float64
		want []string
	}{
		"nothing":                  {nil, []string{"first", "second", "third", "fourth", "fifth"}},
		"one was used":             {map[string]float64{"fifth": 2.2}, []string{"fifth", "first", "second", "third", "fourth"}},
		"the first is passed over": {map[string]float64{"first": -2.2}, []string{"second", "third", "fourth", "fifth", "first"}},
		"a little":                 {map[string]float64{"first": -0.5, "second": -0.5}, []string{"first", "third", "second", "fourth", "fifth"}},
		"providers are not tools":  {map[string]float64{"third": 8}, []string{"first", "second", "third", "fourth", "fifth"}},
	} {
		before := slices.Clone(rs)
		got := ByClicks(rs, m, uses{came: c.came})
		var names []string
		for _, r := range got {
			names = append(names, r.ID)
			at := slices.IndexFunc(rs, func(x Ranked) bool { return x.ID == r.ID })
			if !reflect.DeepEqual(r, rs[at]) {
				t.Errorf("%s: %+v was %+v", what, r, rs[at])
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: %v, want %v", what, names, c.want)
		}
		if !reflect.DeepEqual(rs, before) {
			t.Errorf("%s: what was ranked has changed", what)
		}
	}
	mute := *m
	for f := range mute.Features {
		if fusion.Feature(f).Usage() {
			mute.Features[f] = 0
		}
	}
	came := uses{came: map[string]float64{"fifth": 8}}
	if got := ByClicks(rs, &mute, came); got[0].ID != "first" {
		t.Errorf("weights that give use no say: %v", refs(got))
	}
	if got := ByClicks(rs, m, nil); got[0].ID != "first" {
		t.Errorf("nothing known: %v", refs(got))
	}
}
