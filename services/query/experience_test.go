package query

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What came of the same question orders the answer, and nothing that is learned from.
func TestAnswersFollowWhatCameOfTheSame(t *testing.T) {
	b := newBench(t, tool("first", "", 5), tool("second", "", 4), tool("third", "", 3))
	b.model = "m"
	b.build(t, Config{})
	stop := b.start(t)
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 1, bySimilar))
	u := askedFor(nil)
	b.watcher.put(t, "usage.default", u)
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Fatalf("ranked %v", got)
	}
	u.Epoch, u.Came = 2, []schema.Outcome{
		{Query: schema.Direction{0, 127}, Tools: map[string]float64{"second": 8}},
		{Query: schema.Direction{127, 10}, Tools: map[string]float64{"first": -4, "third": 3}},
	}
	b.watcher.put(t, "usage.default", u)
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
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 2, byWordsAlone))
	if got := ids(b.search(t, schema.SearchRequest{})); got[0] != "first" {
		t.Errorf("weights that give use no say: ranked %v", got)
	}
	if also := b.alsoOf(t); also != nil {
		t.Errorf("%v take part although the weights give them no say", also)
	}
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 3, bySimilar))
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

// Usage that is withheld lifts nothing, and tells all the same which tools are known and
// what came of the same question.
func TestWithheldUsageHasNoSay(t *testing.T) {
	b := newBench(t, tool("first", "", 5), tool("second", "", 4), tool("third", "", 3))
	b.model = "m"
	b.build(t, Config{})
	stop := b.start(t)
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 1, bySimilar))
	u := askedFor(map[string]schema.Direction{"third": {127, 0}})
	u.Prior = map[string]float64{"third": 3}
	u.CoUse = map[string]map[string]float64{"first": {"third": 3}, "third": {"first": 3}}
	b.watcher.put(t, "usage.default", u)
	if got := ids(b.search(t, schema.SearchRequest{})); got[0] != "third" {
		t.Fatalf("ranked %v", got)
	}
	u.Epoch, u.Withheld = 2, true
	b.watcher.put(t, "usage.default", u)
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("ranked %v", got)
	}
	if also := b.alsoOf(t); also != nil {
		t.Errorf("%v take part", also)
	}
	u.Epoch, u.Came = 3, []schema.Outcome{{Query: schema.Direction{127, 0}, Tools: map[string]float64{"first": -4}}}
	b.watcher.put(t, "usage.default", u)
	if got := ids(b.search(t, schema.SearchRequest{})); !slices.Equal(got, []string{"second", "third", "first"}) {
		t.Errorf("what came of the same: ranked %v", got)
	}
	stop()
	for _, imp := range b.impressions(t)[1:] {
		for _, shown := range imp.Shown {
			for f := range fusion.FeatureCount {
				if f.Usage() && shown.Features[f] != 0 {
					t.Errorf("%s of %s is %v", f, shown.ID, shown.Features[f])
				}
			}
		}
	}
}

// An impression says where the results stood before clicks moved some, so that what clicks
// bring can be told.
func TestImpressionsSayWhatClicksMoved(t *testing.T) {
	b := newBench(t, tool("first", "", 5), tool("second", "", 4), tool("third", "", 3))
	b.model = "m"
	b.build(t, Config{})
	stop := b.start(t)
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 1, bySimilar))
	u := askedFor(nil)
	u.Came = []schema.Outcome{{Query: schema.Direction{127, 10}, Tools: map[string]float64{"first": 1}}}
	b.watcher.put(t, "usage.default", u)
	b.search(t, schema.SearchRequest{})
	u.Epoch, u.Came[0].Tools = 2, map[string]float64{"third": 3}
	b.watcher.put(t, "usage.default", u)
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
