package ranking

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestCoUseIsCountedWithTheFrontRunnersOnly(t *testing.T) {
	var m fusion.Model
	m.Features[fusion.QueryLexicalFlat], m.Features[fusion.UsageCoUse] = 1, 1
	pairs := map[string]map[string]float64{}
	candidates := make([]index.Candidate, fusion.FrontRunners+2)
	for i := range candidates {
		id := fmt.Sprintf("place-%02d", i)
		candidates[i].Ref = schema.Ref{Kind: schema.KindTool, ID: id}
		candidates[i].Features[fusion.QueryLexicalFlat] = float64(100 - i)
		pairs[id] = map[string]float64{"helper": math.Log1p(1)}
	}
	candidates[len(candidates)-1].ID = "helper"
	delete(pairs, "helper")

	for _, r := range Rank(candidates, &m, Signals{Usage: NewUsage(schema.Usage{CoUse: pairs}).For("", nil)}) {
		want := 0.0
		if r.ID == "helper" {
			want = float64(fusion.FrontRunners) / 1.5 // one use of each, and half a use more
		}
		if got := r.Features[fusion.UsageCoUse]; math.Abs(got-want) > 1e-9 {
			t.Errorf("co-use of %s is %v, want %v", r.ID, got, want)
		}
	}
}

// askedUsage is usage by the model m in which tools were used for queries, and one query has known
// outcomes.
func askedUsage(asked map[string]schema.Direction) schema.Usage {
	u := schema.Usage{Model: "m", Prior: map[string]float64{}, Asked: map[string][]schema.Direction{}}
	for id, d := range asked {
		u.Prior[id], u.Asked[id] = 1, []schema.Direction{{0, 127}, d}
	}
	u.Came = []schema.Outcome{{Query: schema.Direction{127, 0}, Tools: map[string]float64{"clicked": 2, "passed over": -2}}}
	return u
}

func TestToolsUsedForSimilarQueriesTakePart(t *testing.T) {
	asked := map[string]schema.Direction{"far": {60, 127}, "half": {127, 127}, "nearest": {127, 1}}
	for i := range 60 {
		asked[fmt.Sprintf("t%02d", i)] = schema.Direction{127, int8(10 + i)}
	}
	usage := NewUsage(askedUsage(asked))
	similar := fusion.Features{fusion.UsageSimilar: 1}
	got := usage.For("m", []float32{1, 0}).Tools(&similar)
	if len(got) != 51 || got[0] != "nearest" || got[1] != "t00" || got[50] != "clicked" || slices.Contains(got, "half") {
		t.Errorf("%v take part", got)
	}
	all := fusion.Features{fusion.UsageSimilar: 1, fusion.UsagePrior: 1}
	if got := usage.For("m", []float32{1, 0}).Tools(&all); len(got) != len(asked)+1 || slices.Index(got, "clicked") != 50 {
		t.Errorf("with all that was used %v take part, each once", got)
	}
	for name, got := range map[string][]string{
		"weights without usage": usage.For("m", []float32{1, 0}).Tools(&fusion.Features{}),
		"another query":         usage.For("m", []float32{-1, 0}).Tools(&similar),
		"another model":         usage.For("n", []float32{1, 0}).Tools(&similar),
	} {
		if len(got) > 0 {
			t.Errorf("%s: %v take part", name, got)
		}
	}
}

// Withheld usage lifts nothing; it still tells which tools are known, and the outcomes of the same
// query.
func TestWithheldUsageHasNoSay(t *testing.T) {
	table := askedUsage(map[string]schema.Direction{"used": {127, 0}})
	table.CoUse, table.Withheld = map[string]map[string]float64{"front": {"used": 3}}, true
	usage := NewUsage(table)
	got := usage.For("m", []float32{1, 0})
	if got.Prior("used") != 0 || got.Similar("used") != 0 || got.CoUse("used", []string{"front"}) != 0 || got.ClickLogOdds("clicked") != 2 || !usage.Used("used") {
		t.Errorf("%+v", got)
	}
	if got := got.Tools(&fusion.Features{fusion.UsagePrior: 1}); len(got) > 0 {
		t.Errorf("%v take part", got)
	}
}
