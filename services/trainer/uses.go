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
	Uses         float64 `json:"uses" doc:"Uses, halved with every half-life: the ranking feature."`
	Shown        int     `json:"shown,omitempty" doc:"Remembered searches with feedback that showed it, among the first 20 results."`
	Selected     int     `json:"selected,omitempty" doc:"How many of these searches selected it, called it or succeeded."`
	Called       int     `json:"called,omitempty" doc:"How many called it or succeeded."`
	Succeeded    int     `json:"succeeded,omitempty" doc:"How many had a call that succeeded."`
	Failed       int     `json:"failed,omitempty" doc:"How many had a call that failed."`
	Rejected     int     `json:"rejected,omitempty" doc:"How many had a failed call or rejected it."`
	Queries      int     `json:"queries,omitempty" doc:"Queries whose order clicks on it change."`
	ClickLogOdds float64 `json:"click_log_odds,omitempty" doc:"Log odds that it is relevant to one of these, by clicks alone: the mean."`
}

// ClickEffect is the effect of clicks on rankings.
type ClickEffect struct {
	Searches int      `json:"searches" doc:"Remembered searches with feedback."`
	Moved    int      `json:"moved" doc:"Searches whose order changed by clicks on earlier searches."`
	Gain     *float64 `json:"gain,omitempty" doc:"How much clicks raised the rank of used results in these searches: the mean of 1/log2(1+rank), minus its value without the change. Users look at first results first, so it is an upper bound."`
}

// UsagePage is one page of the tools that are used.
type UsagePage struct {
	Tools    []ToolUse    `json:"tools" doc:"The most used ones first."`
	Withheld bool         `json:"withheld" doc:"Uses are counted and have no say in rankings: they ranked queries worse that were left out."`
	Clicks   *ClickEffect `json:"clicks,omitempty" doc:"The effect of clicks on rankings; absent without feedback."`
	Cursor   string       `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

// errNoCursor means that a list has no entry of a cursor.
var errNoCursor = errors.New("not a cursor of this list")

// Usage returns how the tools of a tenant are used, the most used first: one tool if id is
// set, else up to limit tools after the cursor.
func (s *Service) Usage(tenant, id, cursor string, limit int) (UsagePage, error) {
	page := UsagePage{Tools: []ToolUse{}}
	var unknown error
	err := s.state.view(func(m *memory) {
		t := m.tenants[tenant]
		if t == nil {
			return
		}
		published := t.usage
		if published == nil { // after a start
			published = t.makeUsage(s.Model(), s.deps.Now().UTC(), s.cfg.HalfLife, s.cfg.UsageBytes)
		}
		list := t.uses(published)
		page.Withheld, page.Clicks = t.record.Withheld, t.clicks()
		from := 0
		switch {
		case id != "":
			list = slices.DeleteFunc(list, func(u ToolUse) bool { return u.ID != id })
		case cursor != "":
			if from = 1 + slices.IndexFunc(list, func(u ToolUse) bool { return u.ID == cursor }); from == 0 {
				unknown = errNoCursor
				return
			}
		}
		page.Tools = append(page.Tools, list[from:min(from+limit, len(list))]...)
		if from+limit < len(list) {
			page.Cursor = list[from+limit-1].ID
		}
	})
	return page, cmp.Or(err, unknown)
}

// uses counts the uses of every tool that was shown or used, the most used first.
func (t *tenantState) uses(published *schema.Usage) []ToolUse {
	byID := map[string]*ToolUse{}
	entry := func(id string) *ToolUse {
		if byID[id] == nil {
			byID[id] = &ToolUse{ID: id}
		}
		return byID[id]
	}
	for id, prior := range published.Prior {
		entry(id).Uses = math.Expm1(prior)
	}
	for _, outcome := range published.Came {
		for id, odds := range outcome.Tools {
			u := entry(id)
			u.Queries++
			u.ClickLogOdds += (odds - u.ClickLogOdds) / float64(u.Queries)
		}
	}
	for _, c := range t.clusters {
		tools := make([]*ToolUse, len(c.Tools)) // nil for a provider
		for i := range c.Tools {
			if c.Tools[i].Kind != schema.KindProvider {
				tools[i] = entry(c.Tools[i].ID)
			}
		}
		add := func(positions []int, counter func(*ToolUse) *int) {
			for _, i := range positions {
				if tools[i] != nil {
					*counter(tools[i])++
				}
			}
		}
		for i := range c.Sessions {
			s := &c.Sessions[i]
			add(s.Shown, func(u *ToolUse) *int { return &u.Shown })
			add(s.Used, func(u *ToolUse) *int { return &u.Selected })
			add(s.Called, func(u *ToolUse) *int { return &u.Called })
			add(s.Succeeded, func(u *ToolUse) *int { return &u.Succeeded })
			add(s.Failed, func(u *ToolUse) *int { return &u.Failed })
			add(s.Rejected, func(u *ToolUse) *int { return &u.Rejected })
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

// lift is the effect of clicks on earlier searches on the results of a search.
type lift struct {
	Moved bool     `json:"moved,omitempty"`
	Gain  *float64 `json:"gain,omitempty"` // of the used results; nil if unknown
}

// byClicks compares the ranks of the used results with their ranks without clicks.
func (r *searchRecord) byClicks() (l lift) {
	l.Moved = slices.ContainsFunc(r.Shown, func(s schema.Shown) bool { return s.Before > 0 })
	// Results of several steps, and providers, have no common ranking.
	if !l.Moved || slices.ContainsFunc(r.Shown, func(s schema.Shown) bool { return s.Step > 0 || s.Kind == schema.KindProvider }) {
		return l
	}
	n := len(r.Shown)
	before := ranks(n, func(i int) float64 {
		if at := r.Shown[i].Before; at > 0 {
			return float64(at)
		}
		return math.Inf(1) // it came after all others
	})
	gain, used := 0., 0. // the mean difference of 1/log2(1+rank)
	for _, at := range r.Used {
		if !slices.Contains(r.Rejected, at) {
			gain += 1/math.Log2(2+float64(at)) - 1/math.Log2(1+before[at])
			used++
		}
	}
	if used > 0 {
		gain /= used
		l.Gain = &gain
	}
	return l
}

// ranks returns the rank, from 1, of each of n results in ascending order of a key.
func ranks(n int, key func(i int) float64) []float64 {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	out := make([]float64, n)
	for rank, i := range order {
		out[i] = float64(rank + 1)
	}
	return out
}

// clicks adds up the effect of clicks, nil without feedback.
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
