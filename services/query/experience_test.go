package query

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// What came of the same question orders the answer, and nothing that is learned from.
func TestClicksOnTheSameQueryOrderTheAnswer(t *testing.T) {
	b := newBench(t, tool("first", "", 5), tool("second", "", 4), tool("third", "", 3))
	stop := b.learning(t)
	u := askedFor(nil)
	b.learn(t, "usage.default", u)
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Fatalf("ranked %v", got)
	}
	u.Epoch, u.Came = 2, []schema.Outcome{
		{Query: schema.Direction{0, 127}, Tools: map[string]float64{"second": 8}},
		{Query: schema.Direction{127, 10}, Tools: map[string]float64{"first": -4, "third": 3}},
	}
	b.learn(t, "usage.default", u)
	answer := b.search(t, schema.SearchRequest{Explain: true})
	if got := ids(answer); !slices.Equal(got, []string{"third", "second", "first"}) {
		t.Errorf("ranked %v", got)
	}
	e := answer.Results[0].Explanation
	if e.Clicks == nil || *e.Clicks != (schema.Clicks{LogOdds: 3, From: 3, To: 1}) || e.Summary[0] != "moved from place 3 to 1: users of the same query used it" {
		t.Errorf("the first: %+v, %q", e.Clicks, e.Summary)
	}
	if also := b.alsoOf(t); !slices.Equal(also, []string{"third"}) {
		t.Errorf("%v take part", also)
	}
	b.weigh(t, 2, byWordsAlone)
	if got := ids(b.search(t, schema.SearchRequest{})); got[0] != "first" {
		t.Errorf("weights that give use no say: ranked %v", got)
	}
	b.weigh(t, 3, bySimilar)
	b.embedder.err = fmt.Errorf("away")
	if got := ids(b.search(t, schema.SearchRequest{})); got[0] != "first" {
		t.Errorf("without a vector: ranked %v", got)
	}
	stop()
	recorded := b.impressions(t)
	for _, was := range recorded[0].Shown {
		at := slices.IndexFunc(recorded[1].Shown, func(is schema.Shown) bool { return is.ID == was.ID })
		if is := recorded[1].Shown[at]; !slices.Equal(is.Features, was.Features) || is.Score != was.Score {
			t.Errorf("%s: features %v, were %v", is.ID, is.Features, was.Features)
		}
	}
}

// An impression says where the results stood before clicks moved some, so that what clicks
// bring can be told.
func TestImpressionsSayWhatClicksMoved(t *testing.T) {
	b := newBench(t, tool("first", "", 5), tool("second", "", 4), tool("third", "", 3))
	stop := b.learning(t)
	u := askedFor(nil)
	u.Came = []schema.Outcome{{Query: schema.Direction{127, 10}, Tools: map[string]float64{"first": 1}}}
	b.learn(t, "usage.default", u)
	b.search(t, schema.SearchRequest{})
	u.Epoch, u.Came[0].Tools = 2, map[string]float64{"third": 3}
	b.learn(t, "usage.default", u)
	b.search(t, schema.SearchRequest{})
	stop()
	recorded := b.impressions(t)
	for i, want := range []map[string]int{{"first": 0, "second": 0, "third": 0}, {"first": 1, "second": 2, "third": 3}} {
		for _, s := range recorded[i].Shown {
			if s.Before != want[s.ID] {
				t.Errorf("search %d: %s stood at %d before, want %d", i, s.ID, s.Before, want[s.ID])
			}
		}
	}
	if recorded[1].Shown[0].ID != "third" {
		t.Errorf("clicks moved nothing: %+v", recorded[1].Shown)
	}
}
