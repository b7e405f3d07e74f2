package ranking

import (
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func scored(candidates ...index.Candidate) []Ranked {
	var rs []Ranked
	for _, c := range candidates {
		rs = append(rs, Ranked{Candidate: c, Score: c.Features[fusion.QueryLexicalFlat]})
	}
	return rs
}

// Tool-to-Agent Algorithm 1, worked by hand: down the list mail/send 9, chat/post 8,
// mail/reply 7, orphan 6, provider wiki 5, chat/list 4, provider mail 3, each entity
// gives way to its provider, and the first one stands.
func TestAlgorithm1(t *testing.T) {
	ranked := scored(
		tool("send", "mail", 9), tool("post", "chat", 8), tool("reply", "mail", 7), tool("orphan", "", 6),
		entity(schema.KindProvider, "wiki", "", 5), tool("list", "chat", 4), entity(schema.KindProvider, "mail", "", 3),
	)
	provider := func(id string) schema.Ref { return entity(schema.KindProvider, id, "", 0).Ref }
	want := []Hit{
		{Ref: provider("mail"), By: &ranked[0], Supporting: []schema.SupportingTool{{ID: "send", Rank: 1, Score: 9}, {ID: "reply", Rank: 3, Score: 7}}},
		{Ref: provider("chat"), By: &ranked[1], Supporting: []schema.SupportingTool{{ID: "post", Rank: 2, Score: 8}, {ID: "list", Rank: 6, Score: 4}}},
		{Ref: provider("wiki"), By: &ranked[4]},
	}
	if got := Hits([][]Ranked{ranked}, schema.RankProviders, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The provider that covers the needs of a query leads, whichever has the best tool.
func TestAProviderMayLead(t *testing.T) {
	ranked := scored(tool("x", "a", 9), tool("b", "b", 8), tool("y", "c", 7))
	for first, want := range map[string][]string{"": {"a", "b", "c"}, "b": {"b", "a", "c"}, "a": {"a", "b", "c"}, "nowhere": {"a", "b", "c"}} {
		var got []string
		for _, h := range Hits([][]Ranked{ranked}, schema.RankProviders, first) {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q first: %v, want %v", first, got, want)
		}
	}
}
