package ranking

import (
	"fmt"
	"math"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
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
