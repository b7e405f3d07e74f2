package ranking

import (
	"math"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Worked by hand: one provider describes itself with a cosine of .5, another with .1. One
// that has a name alone, which a query may say by chance, has the mean of these, as has one
// without a document.
func TestDescriptionsOfProvidersCount(t *testing.T) {
	says := func(id string, name, description float64) index.Candidate {
		c := entity(schema.KindProvider, id, "", 0)
		for _, f := range []fusion.Feature{fusion.QueryDenseName, fusion.QueryDenseFlat, fusion.NeedsDenseName, fusion.NeedsDenseFlat} {
			c.Features[f] = name
		}
		c.Features[fusion.QueryDenseDescription] = description
		return c
	}
	candidates := []index.Candidate{
		tool("send", "mail", 9), tool("post", "chat", 8), tool("alone", "", 7), tool("of named", "named", 6), tool("of none", "none", 5),
		says("mail", 0.5, 0.4), says("chat", 0.1, 0.2), says("named", 0.9, 0.9),
	}
	want := []float64{0.5, 0.1, 0, 0.3, 0.3, 0.5, 0.1, 0.3}
	m := &fusion.Model{Features: fusion.Features{fusion.QueryLexicalFlat: 1}}
	features, ofTools := Features(candidates, m, Signals{Providers: true}), Features(candidates, m, Signals{})
	for i, c := range candidates {
		if got := features[i][fusion.RelatedProvider]; math.Abs(got-want[i]) > 1e-9 || ofTools[i][fusion.RelatedProvider] != 0 {
			t.Errorf("%s has %v, and %v where tools are ranked; want %v and 0", c.ID, got, ofTools[i][fusion.RelatedProvider], want[i])
		}
	}
}
