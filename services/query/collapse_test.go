package query

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// offered is a tool of which there are several, with its age.
func offered(id, provider string, words float64, first uint64) index.Candidate {
	c := tool(id, provider, words)
	c.First, c.Sketch = first, index.SketchOf(&schema.Document{Name: "forecast", Description: "The forecast of the weather."}, provider)
	return c
}

func TestCopiesAreOneResult(t *testing.T) {
	b := newBench(t, offered("copy", "b", 50, 2), tool("map", "c", 49), offered("original", "a", 48, 1), tool("way", "c", 40))
	resp := b.search(t, schema.SearchRequest{K: 2})
	r := resp.Results[0]
	if got := ids(resp); !slices.Equal(got, []string{"original", "map"}) {
		t.Fatalf("%v", got)
	}
	if !slices.Equal(r.AlsoOfferedBy, []schema.Offer{{ID: "copy", Provider: "b"}}) || r.OtherOffers != 1 || r.Name != "name of original" {
		t.Errorf("%+v", r)
	}
	all := false
	if got := ids(b.search(t, schema.SearchRequest{K: 4, Collapse: &all})); !slices.Equal(got, []string{"copy", "map", "original", "way"}) {
		t.Errorf("apart: %v", got)
	}
}

// A tool that was deleted since the index was asked hides no copy of it, and is named
// beside none.
func TestADeletedToolHidesNoCopy(t *testing.T) {
	b := newBench(t, offered("copy", "b", 50, 2), offered("original", "a", 48, 1), offered("late", "c", 47, 3))
	for _, id := range []string{"original", "late"} {
		ref := schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id}
		delete(b.catalogue.entities, ref)
		b.catalogue.deleted[ref] = schema.Version{Revision: 9}
	}
	resp := b.search(t, schema.SearchRequest{})
	if got := ids(resp); !slices.Equal(got, []string{"copy"}) || len(resp.Results[0].AlsoOfferedBy) > 0 {
		t.Errorf("%+v", resp.Results)
	}
}

// Where only a copy can be called, it stands for the others. They are not named if only what can be
// called is wanted.
func TestACopyThatCanBeCalledStandsForTheOthers(t *testing.T) {
	b := newBench(t, offered("copy", "b", 50, 2), offered("original", "a", 48, 1))
	b.Connect(fakeConnections{but: "a"})
	for connected, others := range map[bool][]schema.Offer{false: {{ID: "original", Provider: "a"}}, true: nil} {
		resp := b.search(t, schema.SearchRequest{Connected: connected})
		if got := ids(resp); !slices.Equal(got, []string{"copy"}) || !slices.Equal(resp.Results[0].AlsoOfferedBy, others) {
			t.Errorf("connected %v: %+v", connected, resp.Results)
		}
	}
}

// Feedback on an offer that was only named is taken, and the impression has it.
func TestFeedbackOnAnotherOfferIsTaken(t *testing.T) {
	b := newBench(t, offered("copy", "b", 50, 2), offered("original", "a", 48, 1))
	stop := b.start(t)
	resp := b.search(t, schema.SearchRequest{})
	for _, id := range []string{"original", "copy"} {
		if err := b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: resp.SearchID, ToolID: id, Event: schema.Called}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	stop()
	shown := b.impressions(t)[0].Shown
	if len(shown) != 1 || shown[0].ID != "original" || !slices.Equal(shown[0].Also, []schema.Offer{{ID: "copy", Provider: "b"}}) {
		t.Errorf("%+v", shown)
	}
}

// Where copies fill the candidates, more are asked for.
func TestCopiesLeaveNoResultOut(t *testing.T) {
	var copies []index.Candidate
	for i := range 104 {
		copies = append(copies, offered(fmt.Sprint("copy", i), fmt.Sprint("p", i), 50, uint64(i+1)))
	}
	b := newBench(t, copies...)
	resp := b.search(t, schema.SearchRequest{K: 2})
	if got := b.index.last().N; len(resp.Results) != 1 || got != 8*104 {
		t.Errorf("%d results of %d candidates", len(resp.Results), got)
	}
	if r := resp.Results[0]; r.ID != "copy0" || len(r.AlsoOfferedBy) != 10 || r.OtherOffers != 103 {
		t.Errorf("%s with %d of %d others", r.ID, len(r.AlsoOfferedBy), r.OtherOffers)
	}
}
