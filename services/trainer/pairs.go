package trainer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxAbove bounds the pairs that one used result makes with those above it:
// the best ranked ones, which are the worst mistakes.
const maxAbove = 10

// settle learns from the searches whose feedback has settled.
func (s *Service) settle(m *memory) error {
	now := s.deps.Now()
	var keys []string
	for key, at := range m.due {
		if !at.After(now) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	touched := map[string]bool{}
	for _, key := range keys {
		name, err := s.settleSearch(m, key)
		if err != nil {
			return err
		}
		touched[name] = true
	}
	for name := range touched {
		t := m.tenant(name)
		for _, l := range t.lessons {
			l.learn(s.cfg.Learn.Batch)
		}
		if err := t.save(m); err != nil {
			return err
		}
	}
	return nil
}

// Pairs returns what the feedback on a search says, exactly as the service
// learns it once all of it has come. Feedback on other searches says nothing.
func Pairs(i schema.Impression, feedback []schema.Feedback) []fusion.Pair {
	if !measured(i.Shown) {
		return nil
	}
	rec := searchRecord{Shown: i.Shown[:min(len(i.Shown), maxShown)]}
	for _, f := range feedback {
		position := slices.IndexFunc(rec.Shown, func(r schema.Shown) bool { return r.ID == f.ToolID })
		if f.SearchID == i.SearchID && position >= 0 {
			rec.mark(f.Event, position)
		}
	}
	return rec.pairs()
}

// settleSearch turns what is new of one search into pairs of its tenant.
func (s *Service) settleSearch(m *memory, key string) (tenant string, err error) {
	delete(m.due, key)
	m.put(keyDue+key, nil)
	raw, err := m.get(keySearch + key)
	if err != nil || raw == nil {
		return tenantOf(key), err
	}
	at, err := readTime(raw)
	if err != nil {
		return "", err
	}
	var rec searchRecord
	if err := json.Unmarshal(raw[8:], &rec); err != nil {
		return "", fmt.Errorf("trainer: decode search: %w", err)
	}
	t := m.tenant(tenantOf(key))
	if rec.Model == "" { // from before searches said it
		rec.Model = s.Model()
	}
	l := t.lesson(s, rec.Model)
	l.record.Pending = append(l.record.Pending, rec.pairs()...)
	if at.After(l.record.Learned) {
		l.record.Learned = at
	}
	rec.Paired = len(rec.Used)
	return t.name, m.putSearch(key, at, &rec)
}

// pairs returns the pairs of every used result that has not made its own yet:
// with the results above it, the next one below it and the rejected ones, as
// far as they were not used themselves.
func (r *searchRecord) pairs() []fusion.Pair {
	var pairs []fusion.Pair
	for _, used := range r.Used[r.Paired:] {
		if slices.Contains(r.Rejected, used) {
			continue
		}
		for _, skipped := range r.skipped(used) {
			pairs = append(pairs, fusion.Pair{Better: example(r.Shown[used]), Worse: example(r.Shown[skipped])})
		}
	}
	return pairs
}

// skipped returns the positions that a use of the result at that position says
// something about.
func (r *searchRecord) skipped(used int) []int {
	var out []int
	for i := 0; i < used && len(out) < maxAbove; i++ {
		if !slices.Contains(r.Used, i) {
			out = append(out, i)
		}
	}
	if next := used + 1; next < len(r.Shown) && !slices.Contains(r.Used, next) {
		out = append(out, next)
	}
	for _, i := range r.Rejected {
		if !slices.Contains(r.Used, i) && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
