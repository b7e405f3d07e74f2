package trainer

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// ToolUse is how a tool is used.
type ToolUse struct {
	ID           string  `json:"id"`
	Uses         float64 `json:"uses" doc:"How often it was used, halved with every half-life, as searches rank by it."`
	Shown        int     `json:"shown,omitempty" doc:"Remembered searches with feedback that showed it, among the first 20 results."`
	Selected     int     `json:"selected,omitempty" doc:"Of these, those in which it was selected, called or succeeded."`
	Called       int     `json:"called,omitempty" doc:"Those in which it was called or succeeded."`
	Succeeded    int     `json:"succeeded,omitempty" doc:"Those in which a call of it succeeded."`
	Failed       int     `json:"failed,omitempty" doc:"Those in which a call of it failed."`
	Rejected     int     `json:"rejected,omitempty" doc:"Those in which it failed or was rejected."`
	Queries      int     `json:"queries,omitempty" doc:"Queries whose order clicks on it change."`
	ClickLogOdds float64 `json:"click_log_odds,omitempty" doc:"Log odds that it is relevant to one of these, by clicks alone: the mean."`
}

// ClickEffect is what clicks changed.
type ClickEffect struct {
	Searches int      `json:"searches" doc:"Remembered searches with feedback."`
	Moved    int      `json:"moved" doc:"Those whose order clicks on earlier searches had changed."`
	Gain     *float64 `json:"gain,omitempty" doc:"How much higher what was used stood in these: the mean of 1/log2(1+rank), less what it would have been without the change. Users look at first results first, so it is an upper bound."`
}

// UsagePage is one page of the tools that are used.
type UsagePage struct {
	Tools    []ToolUse    `json:"tools" doc:"The most used ones first."`
	Withheld bool         `json:"withheld" doc:"Uses are counted and have no say in rankings: they ranked queries worse that were left out."`
	Clicks   *ClickEffect `json:"clicks,omitempty" doc:"What clicks changed; absent where there is no feedback."`
	Cursor   string       `json:"cursor,omitempty" doc:"Of the next page; absent on the last."`
}

// errNoCursor says that a list has no such place.
var errNoCursor = errors.New("not a cursor of this list")

// Usage returns how the tools of a tenant are used, the most used first: one of them, or
// up to limit behind the cursor.
func (s *Service) Usage(tenant, id, cursor string, limit int) (UsagePage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return UsagePage{}, err
	}
	page := UsagePage{Tools: []ToolUse{}}
	t := m.tenants[tenant]
	if t == nil {
		return page, nil
	}
	list := t.uses(s.published(t))
	page.Withheld, page.Clicks = t.record.Withheld, t.clicks()
	from := 0
	switch {
	case id != "":
		list = slices.DeleteFunc(list, func(u ToolUse) bool { return u.ID != id })
	case cursor != "":
		if from = 1 + slices.IndexFunc(list, func(u ToolUse) bool { return u.ID == cursor }); from == 0 {
			return page, errNoCursor
		}
	}
	page.Tools = append(page.Tools, list[from:min(from+limit, len(list))]...)
	if from+limit < len(list) {
		page.Cursor = list[from+limit-1].ID
	}
	return page, nil
}

// published returns the usage of a tenant as searches rank by it; after a start it is not
// made yet.
func (s *Service) published(t *tenantState) *schema.Usage {
	if t.usage != nil {
		return t.usage
	}
	return t.makeUsage(s.Model(), s.deps.Now().UTC(), s.cfg.HalfLife, s.cfg.UsageBytes)
}

// uses counts what is remembered of every tool that was shown or used, the most used first.
func (t *tenantState) uses(published *schema.Usage) []ToolUse {
	byID := map[string]*ToolUse{}
	of := func(id string) *ToolUse {
		if byID[id] == nil {
			byID[id] = &ToolUse{ID: id}
		}
		return byID[id]
	}
	for id, prior := range published.Prior {
		of(id).Uses = math.Expm1(prior)
	}
	for _, outcome := range published.Came {
		for id, odds := range outcome.Tools {
			u := of(id)
			u.Queries++
			u.ClickLogOdds += (odds - u.ClickLogOdds) / float64(u.Queries)
		}
	}
	for _, c := range t.clusters {
		tools := make([]*ToolUse, len(c.Tools)) // nil for a provider
		for i := range c.Tools {
			if c.Tools[i].Kind != schema.KindProvider {
				tools[i] = of(c.Tools[i].ID)
			}
		}
		for i := range c.Sessions {
			c.Sessions[i].count(tools)
		}
	}
	list := make([]ToolUse, 0, len(byID))
	for _, u := range byID {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b ToolUse) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(b.Shown, a.Shown), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// count adds the session to what is counted of the tools at its positions.
func (s *session) count(tools []*ToolUse) {
	add := func(positions []int, to func(*ToolUse) *int) {
		for _, i := range positions {
			if tools[i] != nil {
				*to(tools[i])++
			}
		}
	}
	add(s.Shown, func(u *ToolUse) *int { return &u.Shown })
	add(s.Used, func(u *ToolUse) *int { return &u.Selected })
	add(s.Called, func(u *ToolUse) *int { return &u.Called })
	add(s.Succeeded, func(u *ToolUse) *int { return &u.Succeeded })
	add(s.Failed, func(u *ToolUse) *int { return &u.Failed })
	add(s.Rejected, func(u *ToolUse) *int { return &u.Rejected })
}

// lift is what clicks on earlier searches did to the results of one.
type lift struct {
	Moved bool     `json:"moved,omitempty"`
	Gain  *float64 `json:"gain,omitempty"` // of what was used; nil where that is not known
}

// byClicks compares where what was used stood with where it would have stood among these
// results if clicks had moved none.
func (r *searchRecord) byClicks() (l lift) {
	l.Moved = slices.ContainsFunc(r.Shown, func(s schema.Shown) bool { return s.Before > 0 })
	if !l.Moved || !r.comparable() {
		return l
	}
	n := len(r.Shown)
	before := ranks(n, func(i int) float64 {
		if at := r.Shown[i].Before; at > 0 {
			return float64(at)
		}
		return math.Inf(1) // was behind all
	})
	if gain, ok := r.raised(before, ranks(n, func(i int) float64 { return float64(i) })); ok {
		l.Gain = &gain
	}
	return l
}

// clicks adds up what clicks changed, nil where there is no feedback.
func (t *tenantState) clicks() *ClickEffect {
	var e ClickEffect
	var sum float64
	known := 0
	for _, c := range t.clusters {
		e.Searches += len(c.Sessions)
		for i := range c.Sessions {
			if s := &c.Sessions[i]; s.Moved {
				e.Moved++
				if s.Gain != nil {
					sum += *s.Gain
					known++
				}
			}
		}
	}
	if e.Searches == 0 {
		return nil
	}
	if known > 0 {
		mean := sum / float64(known)
		e.Gain = &mean
	}
	return &e
}
