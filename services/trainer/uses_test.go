package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func (b *bench) page(id, cursor string, limit int) UsagePage {
	b.t.Helper()
	page := check.Value(b.Usage("default", id, cursor, limit))(b.t)
	return page
}

func TestUsageCountsActs(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	events := map[string][]schema.FeedbackEvent{
		"right": {schema.Succeeded}, "wordy": {schema.Called, schema.Failed}, "other": {schema.Selected, schema.Rejected},
	}
	for i, client := range []string{"ann", "ben", "eve"} {
		search := fmt.Sprint("s", i)
		b.must(b.show(b.asking(search, 1, "wordy", "right", "other", "idle")))
		for _, tool := range []string{"right", "wordy", "other"} {
			for _, event := range events[tool] {
				f := b.feedback(search, tool, event)
				f.Client = client
				b.must(b.report(f))
			}
		}
	}
	uses := map[string]ToolUse{}
	for _, when := range []string{"at once", "after it is published", "after a restart"} {
		page := b.page("", "", 10)
		for _, u := range page.Tools {
			uses[u.ID] = u
		}
		for id, want := range map[string]ToolUse{
			"right": {Shown: 3, Selected: 3, Called: 3, Succeeded: 3},
			"wordy": {Shown: 3, Selected: 3, Called: 3, Failed: 3, Rejected: 3},
			"other": {Shown: 3, Selected: 3, Rejected: 3},
			"idle":  {Shown: 3},
		} {
			got := uses[id]
			want.ID, want.Uses, want.Queries, want.ClickLogOdds = id, got.Uses, got.Queries, got.ClickLogOdds
			if got != want {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		if right := page.Tools[0]; right.ID != "right" || math.Abs(right.Uses-3) > 0.1 || right.Queries != 1 || right.ClickLogOdds <= 0 || uses["idle"].Uses != 0 {
			t.Errorf("%s: %+v", when, page.Tools)
		}
		if c := page.Clicks; c == nil || c.Searches != 3 || c.Moved != 0 || c.Gain != nil || page.Withheld {
			t.Errorf("%s: %+v", when, page)
		}
		if when == "at once" {
			b.advance()
		} else {
			b.restart(b.cfg)
		}
	}
}

func TestUsageShowsTheEffectOfClicks(t *testing.T) {
	b := newBench(t, Config{})
	show := func(search string, axis int, before ...int) {
		i := b.asking(search, axis, "a", "b", "c")
		for rank, at := range before {
			i.Shown[rank].Before = at
		}
		b.must(b.show(i))
	}
	show("still", 0)
	show("up", 1, 3, 1, 2) // a stood third
	show("down", 2, 2, 1, 0)
	show("rejected", 3, 2, 1, 3)
	show("nothing heard of", 4, 3, 1, 2)
	for search, tool := range map[string]string{"still": "a", "up": "a", "down": "b"} {
		b.must(b.report(b.feedback(search, tool, schema.Called)))
	}
	b.must(b.report(b.feedback("rejected", "a", schema.Rejected)))
	c := b.page("", "", 1).Clicks
	up, down := 1-1/math.Log2(4), 1/math.Log2(3)-1
	if c == nil || c.Searches != 4 || c.Moved != 3 || c.Gain == nil || math.Abs(*c.Gain-(up+down)/2) > 1e-9 {
		t.Errorf("%+v", c)
	}
	b.must(b.report(b.feedback("up", "a", schema.Succeeded))) // of the same search
	if again := b.page("", "", 1).Clicks; again.Moved != 3 || *again.Gain != *c.Gain {
		t.Errorf("a second event of a search: %+v", again)
	}
}

func TestUsageIsListedByPages(t *testing.T) {
	b := newBench(t, Config{})
	if page := b.page("", "", 5); page.Tools == nil || len(page.Tools) != 0 || page.Clicks != nil {
		t.Errorf("of nobody: %+v", page)
	}
	for i := range 5 {
		b.search(fmt.Sprint("s", i), i, "ann", []string{"all", fmt.Sprint("t", i)}, []string{"all"})
	}
	var ids []string
	cursor := ""
	for {
		page := b.page("", cursor, 4)
		for _, u := range page.Tools {
			ids = append(ids, u.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if want := []string{"all", "t0", "t1", "t2", "t3", "t4"}; !slices.Equal(ids, want) {
		t.Errorf("listed %v, want %v", ids, want)
	}
	if page := b.page("t3", "", 4); len(page.Tools) != 1 || page.Tools[0].ID != "t3" || page.Cursor != "" {
		t.Errorf("of one tool: %+v", page)
	}
	if page := b.page("unknown", "", 4); len(page.Tools) != 0 || page.Cursor != "" {
		t.Errorf("of an unknown tool: %+v", page)
	}
	if _, err := b.Usage("default", "", "unknown", 4); !errors.Is(err, errNoCursor) {
		t.Errorf("an unknown cursor: %v", err)
	}
	if page, err := b.Usage("another", "", "", 4); err != nil || len(page.Tools) != 0 {
		t.Errorf("of another tenant: %+v, %v", page, err)
	}
}
