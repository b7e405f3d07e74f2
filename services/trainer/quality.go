package trainer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// maxAttempts is how many of the newest searches by the live weights are
// remembered: so far apart, where there are very many, that half of them mature.
const maxAttempts = 200

// clearly is how many standard errors are no chance, even where is looked at
// again and again.
const clearly = 3

// attempt is a search by the live weights, and whether something of it was used.
// Where nothing that is shown is of use there is no feedback, and so no pair, to
// tell how bad the weights are.
type attempt struct {
	Search string    `json:"search"`
	At     time.Time `json:"at"`
	Used   bool      `json:"used,omitempty"`
}

// rate is how many of the searches by a version led to a use.
type rate struct {
	Shown int `json:"shown,omitempty"`
	Used  int `json:"used,omitempty"`
}

func (t *account) readAttempts(model string, value []byte) error {
	var list []attempt
	if err := json.Unmarshal(value, &list); err != nil {
		return fmt.Errorf("attempts of %s: %w", t.name, err)
	}
	t.attempts[model] = list
	return nil
}

func (t *account) putAttempts(m *memory, model string, list []attempt) error {
	t.attempts[model] = list
	if len(list) == 0 {
		m.put(keyAttempts+t.name+"/"+model, nil)
		return nil
	}
	return m.putJSON(keyAttempts+t.name+"/"+model, list)
}

// attempted notes a search, if it ranked by the weights that are live.
func (s *Service) attempted(m *memory, i *schema.Impression, at time.Time) error {
	t, model := m.tenants[i.Tenant], cmp.Or(i.Model, s.Model())
	if t == nil || len(i.Shown) == 0 {
		return nil
	}
	if l := t.find(model); l == nil || l.liveVersion() != i.Weights {
		return nil
	}
	list := t.attempts[model]
	if len(list) >= maxAttempts && at.Sub(list[len(list)-1].At) < s.cfg.Mature*2/maxAttempts {
		return nil
	}
	list = append(list, attempt{Search: i.SearchID, At: at})
	return t.putAttempts(m, model, list[max(0, len(list)-maxAttempts):])
}

// used notes that something of a search was used.
func (s *Service) used(m *memory, f *schema.Feedback, model string) error {
	if f.Event == schema.Failed || f.Event == schema.Rejected {
		return nil
	}
	model = cmp.Or(model, s.Model())
	t := m.tenant(f.Tenant)
	list := t.attempts[model]
	i := slices.IndexFunc(list, func(a attempt) bool { return a.Search == f.SearchID })
	if i < 0 || list[i].Used {
		return nil
	}
	list[i].Used = true
	return t.putAttempts(m, model, list)
}

// unheard forgets a search of which what was reported does not count: whether it led to
// a use is not known.
func (s *Service) unheard(m *memory, f *schema.Feedback, model string) error {
	model = cmp.Or(model, s.Model())
	t := m.tenant(f.Tenant)
	list := t.attempts[model]
	i := slices.IndexFunc(list, func(a attempt) bool { return a.Search == f.SearchID })
	if i < 0 || list[i].Used {
		return nil
	}
	return t.putAttempts(m, model, slices.Delete(list, i, i+1))
}

// rate returns how often the live weights led to a use, in searches that have
// matured.
func (t *account) rate(l *lesson, matured time.Time) rate {
	var r rate
	for _, a := range t.attempts[l.record.Model] {
		if !a.At.After(matured) {
			r.Shown++
			if a.Used {
				r.Used++
			}
		}
	}
	return r
}

// below reports whether r is clearly the lower rate.
func (r rate) below(other rate) bool {
	n, m := float64(r.Shown), float64(other.Shown)
	p := float64(r.Used+other.Used) / (n + m)
	deviation := math.Sqrt(p * (1 - p) * (1/n + 1/m))
	return float64(r.Used)/n+clearly*deviation < float64(other.Used)/m
}

// failing says why the live weights have to go, "" where they may stay.
func (s *Service) failing(t *account, l *lesson, matured time.Time) string {
	if l.failed(s.cfg.Sample) {
		return "lost more than the weights before it"
	}
	now, before := t.rate(l, matured), l.record.Trial.Rate
	if l.record.Trial.Began && min(now.Shown, before.Shown) >= max(s.cfg.Sample, 1) && now.below(before) {
		return fmt.Sprintf("led to a use in %d of %d searches, the weights before it in %d of %d", now.Used, now.Shown, before.Used, before.Shown)
	}
	return ""
}
