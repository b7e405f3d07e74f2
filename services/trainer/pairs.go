package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds on the pairs that one good result makes.
const (
	maxAgainst  = 10 // results that it is compared with
	maxRepeated = 3  // times that each pair counts
)

// look finds out up to which time all that was reported has been read.
func (m *memory) look(now time.Time, ends map[events.Topic]map[int]uint64, settle time.Duration) {
	m.over = now
	for _, topic := range []events.Topic{events.Searches, events.FeedbackTopic} {
		if now.Sub(m.heard) < settle && m.behind(topic, ends) && m.reached[topic].Before(m.over) {
			m.over = m.reached[topic]
		}
	}
}

// settled returns the keys of the searches whose feedback has settled, in the
// order in which it has: by the times of the feedback and not of its reading, so
// that a trainer that was away learns what it would have learned.
func (m *memory) settled() []string {
	var keys []string
	for key, at := range m.due {
		if !at.After(m.over) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(m.due[a].Compare(m.due[b]), cmp.Compare(a, b)) })
	return keys
}

// behind reports whether something may yet be to be read of a topic.
func (m *memory) behind(topic events.Topic, ends map[events.Topic]map[int]uint64) bool {
	for partition, end := range ends[topic] {
		if m.positions[topic][partition] < end {
			return true
		}
	}
	return ends[topic] == nil
}

// endsTimeout bounds the asking for the ends of the topics.
const endsTimeout = 2 * time.Second

// ends asks how far the topics go that are joined. Of a bus that is away it is not
// known.
func (s *Service) ends(ctx context.Context) map[events.Topic]map[int]uint64 {
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	ends := map[events.Topic]map[int]uint64{}
	for _, topic := range []events.Topic{events.Searches, events.FeedbackTopic} {
		if end, err := s.deps.Follower.End(ctx, topic); err == nil {
			ends[topic] = end
		}
	}
	return ends
}

// settle learns from the searches whose feedback has settled, of each tenant up to
// where learning has to begin anew.
func (s *Service) settle(m *memory) error {
	touched := map[string]bool{}
	for _, key := range m.settled() {
		if t := m.tenants[tenantOf(key)]; t != nil && t.waits(s.cfg.Retrain) {
			continue
		}
		name, err := s.settleSearch(m, key)
		if err != nil {
			return err
		}
		touched[name] = true
	}
	for name := range touched {
		t := m.tenant(name)
		if err := t.save(m); err != nil {
			return err
		}
	}
	return nil
}

// Pairs returns what the feedback on a search says, exactly as the service
// learns it once all of it has come, but for what is too much of one client.
// Feedback on other searches says nothing.
func Pairs(i schema.Impression, feedback []schema.Feedback) []fusion.Pair {
	if !measured(i.Shown) {
		return nil
	}
	rec := searchRecord{Shown: i.Shown[:min(len(i.Shown), maxShown)], at: i.Time}
	for _, f := range feedback {
		if f.Time.IsZero() || i.Time.IsZero() {
			f.Time = i.Time // a record that was made by hand
		}
		if position, refusal := rec.position(f, defaultWindow); f.SearchID == i.SearchID && refusal == "" {
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
	rec := searchRecord{at: at}
	if err := json.Unmarshal(raw[8:], &rec); err != nil {
		return "", fmt.Errorf("trainer: decode search: %w", err)
	}
	t := m.tenant(tenantOf(key))
	rec.Model = cmp.Or(rec.Model, s.Model()) // it is absent from before searches said it
	if rec.silent() {
		t.overhear(m, key, &rec)
		return t.name, nil
	}
	l := t.lesson(s, rec.Model)
	q := t.observe(m, key, &rec, s.cfg.Questions)
	l.take(q, rec.pairs(), s.cfg.Learn.Batch)
	l.scored(&rec)
	t.classify(m, strings.TrimPrefix(key, t.name+"/"), &rec)
	if l.record.First.IsZero() || at.Before(l.record.First) {
		l.record.First = at
	}
	if at.After(l.record.Learned) {
		l.record.Learned = at
	}
	rec.Paired = len(rec.Used)
	return t.name, m.putSearch(key, at, &rec)
}

// pairs returns the pairs of every result that proved good and has not made its
// own yet: with all that were shown and did not, the best ranked first. Of two
// who want the result at rank r only one in r looks so far: its pairs count
// that often, within bounds.
func (r *searchRecord) pairs() []fusion.Pair {
	var pairs []fusion.Pair
	for _, good := range r.Used[r.Paired:] {
		if slices.Contains(r.Rejected, good) {
			continue
		}
		for _, worse := range r.worse() {
			if r.Shown[worse].Step != r.Shown[good].Step {
				continue // its features are of another text
			}
			p := fusion.Pair{Better: example(r.Shown[good]), Worse: example(r.Shown[worse])}
			pairs = append(pairs, slices.Repeat([]fusion.Pair{p}, min(good+1, maxRepeated))...)
		}
	}
	return pairs
}

// worse returns the positions of what a good result is compared with: what was
// not used, or was and failed.
func (r *searchRecord) worse() []int {
	var out []int
	for i := range r.Shown {
		if (!slices.Contains(r.Used, i) || slices.Contains(r.Rejected, i)) && len(out) < maxAgainst {
			out = append(out, i)
		}
	}
	return out
}
