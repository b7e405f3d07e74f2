package search

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/schema"
)

func scored(id, owner string, score float64) ranking.Ranked {
	return ranking.Ranked{Candidate: index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: id}, Provider: owner}, Score: score}
}

// Worked by hand. Best of all are 10, 4 and 6. The tools of mail reach 10, 3 and
// 3, those of chat 8, 4 and 0; wiki reaches 6 once, and so does a tool that
// nobody owns.
func TestChooseByCoverage(t *testing.T) {
	got, tools := choose([][]ranking.Ranked{
		{scored("send", "mail", 10), scored("post", "chat", 8), scored("list", "mail", 7)},
		{scored("join", "chat", 4), scored("sort", "mail", 3)},
		{scored("look", "wiki", 6), scored("orphan", "", 6), scored("find", "mail", 3), scored("spoil", "chat", -1)},
	}, []query{{text: "a"}, {text: "b"}, {text: "c"}})
	want := []schema.Covered{{Need: "a", Tool: "send", Score: 10, Best: 10}, {Need: "b", Tool: "sort", Score: 3, Best: 4}, {Need: "c", Tool: "find", Score: 3, Best: 6}}
	if got.Rank != schema.RankProviders || got.Provider != "mail" || math.Abs(got.Coverage-16./20) > 1e-12 || !slices.Equal(got.Needs, want) ||
		!strings.Contains(got.Why, "mail") || !slices.Equal(tools, []string{"send", "sort", "find"}) {
		t.Errorf("%+v, %v", got, tools)
	}
	described := scored("mail", "", 9) // a provider's own document answers nothing
	described.Kind = schema.KindProvider
	for name, tc := range map[string]struct {
		rankings [][]ranking.Ranked
		provider string
		best     float64 // for the first need
	}{
		"nobody":                {[][]ranking.Ranked{{scored("orphan", "", 6)}, {scored("spoil", "chat", 0)}, nil}, "", 6},
		"a provider's document": {[][]ranking.Ranked{{described, scored("send", "mail", 2), scored("post", "chat", 3)}, {scored("x", "y", 2)}, nil}, "chat", 3},
		"tied":                  {[][]ranking.Ranked{{scored("x", "a", 5)}, {scored("y", "b", 5)}, nil}, "b", 5},
	} {
		got, tools := choose(tc.rankings, make([]query, 3))
		if got.Rank != schema.RankTools || got.Provider != tc.provider || got.Needs[0].Best != tc.best || len(got.Needs) != 3 || tools != nil {
			t.Errorf("%s: %+v, %v", name, got, tools)
		}
	}
}
