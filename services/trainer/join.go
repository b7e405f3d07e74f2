package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What became of a feedback event or an impression, as metrics name it.
const (
	accepted      = "accepted"
	duplicate     = "duplicate"
	waiting       = "waiting"        // its search is not known yet
	unknownSearch = "unknown_search" // it waited for its search in vain
	notShown      = "not_shown"
	tooOld        = "too_old"
	tooEarly      = "before_search"
	future        = "future"
	capped        = "capped" // more than the client's share, or unlike what everybody else reports
	invalid       = "invalid"
	badImpression = "invalid_impression"
)

// Limits of what one search can bring.
const (
	maxShown     = 100 // results remembered
	maxUsed      = 20  // results that count as used
	largestScore = 1e6 // feature values beyond this are no measurement
)

// maxSkew is how far the clocks of two processes may be apart: what was reported
// earlier than that before its search, or in the future, did not happen so.
const maxSkew = 5 * time.Minute

// searchRecord is a search as it waits for feedback. It holds no text of the
// query: what is learned from it is numbers.
type searchRecord struct {
	Shown    []schema.Shown   `json:"shown"`
	Model    string           `json:"model,omitempty"`    // embedding model of Vector
	Vector   schema.Direction `json:"vector,omitempty"`   // of the query
	Shadow   *schema.Shadow   `json:"shadow,omitempty"`   // how weights on trial would have ranked it
	Signals  []float64        `json:"signals,omitempty"`  // of which queries one owner answers
	Used     []int            `json:"used,omitempty"`     // positions, in the order of the events
	Counted  []int            `json:"counted,omitempty"`  // positions that count as uses
	Rejected []int            `json:"rejected,omitempty"` // positions
	Paired   int              `json:"paired,omitempty"`   // how many of Used have made their pairs
	Client   string           `json:"client,omitempty"`   // who reported first

	at time.Time // of the search; it is stored in front of the record
}

// applySearches stores impressions, and the position, in one transaction.
func (s *Service) applySearches(_ context.Context, records []stream.Record[schema.Impression], positions map[int]uint64) error {
	return s.change(func(m *memory) error {
		for _, r := range records {
			if err := s.impression(m, r.Decoded, eventTime(r.Decoded.Time, r.Message.Time, s.deps.Now())); err != nil {
				return err
			}
		}
		m.move(events.Searches, positions)
		m.heard = s.deps.Now()
		m.expire(s.cfg.Window, s.deps.Now())
		return nil
	})
}

// applyFeedback stores feedback, and the position, in one transaction.
func (s *Service) applyFeedback(ctx context.Context, records []stream.Record[schema.Feedback], positions map[int]uint64) error {
	if err := s.awaitSearches(ctx, records); err != nil {
		return err
	}
	return s.change(func(m *memory) error {
		for _, r := range records {
			f, now := r.Decoded, s.deps.Now()
			if f.Time.Sub(now) > maxSkew {
				m.outcomes[future]++
				continue
			}
			f.Time = eventTime(f.Time, r.Message.Time, now)
			if err := s.event(m, f); err != nil {
				return err
			}
		}
		m.move(events.FeedbackTopic, positions)
		m.heard = s.deps.Now()
		m.expire(s.cfg.Window, s.deps.Now())
		return nil
	})
}

// awaitSearches waits, where there may be no room for events to wait for their searches,
// until there is, or what the topic has of searches is read. Events are small: who catches
// up, after a time away or without its state, reads them far ahead of their searches.
func (s *Service) awaitSearches(ctx context.Context, records []stream.Record[schema.Feedback]) error {
	if !s.crowded(records) {
		return nil
	}
	ends := s.ends(ctx)
	pause := time.NewTicker(crowdPause)
	defer pause.Stop()
	for s.crowded(records) && s.searchesBehind(ends) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
	return nil
}

// crowdPause is how often is looked whether there is room again.
const crowdPause = 20 * time.Millisecond

// crowded reports whether there may be no room for all of the events to wait.
func (s *Service) crowded(records []stream.Record[schema.Feedback]) bool {
	of := map[string]int{}
	for _, r := range records {
		of[r.Decoded.Tenant]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return false // whoever changes it says so
	}
	left := s.cfg.Waiting - m.waiters() - len(records)
	for tenant, n := range of {
		if m.waits[tenant]+n > left {
			return true
		}
	}
	return false
}

func (s *Service) searchesBehind(ends map[events.Topic]map[int]uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	return err == nil && ends[events.Searches] != nil && m.behind(events.Searches, ends)
}

// eventTime is when something happened: what the record says, else when the
// bus took it, and never in the future, where it could make everything else
// look old.
func eventTime(said, taken, now time.Time) time.Time {
	if said.IsZero() {
		said = taken
	}
	if said.After(now) {
		return now
	}
	return said
}

func (m *memory) reach(topic events.Topic, t time.Time) {
	if t.After(m.reached[topic]) {
		m.reached[topic] = t
	}
}

// impression remembers a search, and hands it the feedback that came before.
func (s *Service) impression(m *memory, i schema.Impression, at time.Time) error {
	if schema.ValidateTenant(i.Tenant) != nil || schema.ValidateID(i.SearchID) != nil || !measured(i.Shown) ||
		i.Vector.Validate() != nil || schema.CheckSignals(i.Signals) != nil || len(i.Model) > schema.MaxModel {
		m.outcomes[badImpression]++
		return nil
	}
	m.reach(events.Searches, at)
	key := i.Tenant + "/" + i.SearchID
	if known, err := m.get(keySearch + key); known != nil || err != nil {
		return err
	}
	rec := searchRecord{Shown: i.Shown[:min(len(i.Shown), maxShown)], Model: i.Model, Vector: i.Vector, Shadow: i.Shadow, Signals: i.Signals}
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("trainer: encode search: %w", err)
	}
	m.remember(&m.searches, i.Tenant, keySearch+key, at, raw, s.cfg.Remembered, s.cfg.RememberedBytes)
	if err := s.attempted(m, &i, at); err != nil {
		return err
	}
	if t := m.tenants[i.Tenant]; t != nil && len(t.questions) > 0 && len(i.Vector) > 0 {
		m.await(key, at.Add(s.cfg.Mature))
	}
	for _, f := range m.takeWaiting(key) {
		raw, err := m.get(keySearch + key) // as the one before left it
		if raw == nil && err == nil {
			m.outcomes[unknownSearch]++ // older than all that there is room for
			continue
		}
		if err == nil {
			err = s.join(m, f, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measured reports whether every number that an impression shows can have been
// a measurement.
func measured(shown []schema.Shown) bool {
	for _, r := range shown {
		for _, x := range r.Features {
			if math.IsNaN(x) || math.Abs(x) > largestScore {
				return false
			}
		}
		for _, match := range r.Matches {
			if math.IsNaN(match.Score) || math.Abs(match.Score) > largestScore {
				return false
			}
		}
	}
	return true
}

// event takes one feedback event, once. Of what can not be kept nothing is: it may be
// sent again.
func (s *Service) event(m *memory, f schema.Feedback) error {
	if f.Validate() != nil || f.Tenant == "" {
		m.outcomes[invalid]++
		return nil
	}
	m.reach(events.FeedbackTopic, f.Time)
	seen := keySeen + f.Tenant + "/" + f.Identity()
	if known, err := m.get(seen); err != nil {
		return err
	} else if known != nil {
		m.outcomes[duplicate]++
		return nil
	}
	search, err := m.get(keySearch + f.Tenant + "/" + f.SearchID)
	if err != nil {
		return err
	}
	if search == nil && !m.room(f.Tenant, s.cfg.Waiting) {
		m.outcomes[unknownSearch]++
		return nil
	}
	m.remember(&m.seen, f.Tenant, seen, f.Time, nil, s.cfg.Remembered, s.cfg.RememberedBytes)
	if search == nil {
		m.outcomes[waiting]++
		m.addWaiting(f)
		return m.putJSON(waitingKey(f), f)
	}
	return s.join(m, f, search)
}

// join hands an event to its search.
func (s *Service) join(m *memory, f schema.Feedback, raw []byte) error {
	key := f.Tenant + "/" + f.SearchID
	at, err := readTime(raw)
	if err != nil {
		return err
	}
	rec := searchRecord{at: at}
	if err := json.Unmarshal(raw[8:], &rec); err != nil {
		return fmt.Errorf("trainer: decode search: %w", err)
	}
	position, refusal := rec.position(f, s.cfg.Window)
	if refusal != "" {
		m.outcomes[refusal]++
		return nil
	}
	if !m.tenant(f.Tenant).admit(m, f, position, s.cfg.HalfLife) {
		m.outcomes[capped]++
		if rec.silent() { // it is no silence to be unheard
			delete(m.due, key)
			m.put(keyDue+key, nil)
		}
		return s.unheard(m, &f, rec.Model)
	}
	m.outcomes[accepted]++
	s.take(m, &rec, f, position)
	if err := s.used(m, &f, rec.Model); err != nil {
		return err
	}
	return m.putSearch(key, at, &rec)
}

// position returns where what an event is about was shown, or why the event says
// nothing of the search.
func (r *searchRecord) position(f schema.Feedback, window time.Duration) (_ int, refusal string) {
	position := slices.IndexFunc(r.Shown, func(s schema.Shown) bool { return s.ID == f.ToolID })
	switch {
	case f.Time.Sub(r.at) > window:
		return 0, tooOld
	case r.at.Sub(f.Time) > maxSkew:
		return 0, tooEarly
	case position < 0:
		return 0, notShown
	}
	return position, ""
}

func (m *memory) putSearch(key string, at time.Time, rec *searchRecord) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("trainer: encode search: %w", err)
	}
	m.put(keySearch+key, append(encodeTime(at), raw...))
	return nil
}

// take notes an event on the result at that position, and counts the use.
func (s *Service) take(m *memory, rec *searchRecord, f schema.Feedback, position int) {
	first := rec.silent()
	if !rec.mark(f.Event, position) {
		return
	}
	rec.Client = cmp.Or(rec.Client, f.Client)
	counts := f.Event == schema.Called || f.Event == schema.Succeeded
	if counts && !slices.Contains(rec.Counted, position) && len(rec.Counted) < maxUsed {
		s.count(m, rec, f, position)
		rec.Counted = append(rec.Counted, position)
	}
	key := f.Tenant + "/" + f.SearchID
	if at := f.Time.Add(s.cfg.Settle); first || at.After(m.due[key]) {
		m.await(key, at)
	}
}

// await notes when a search is to be learned from.
func (m *memory) await(key string, at time.Time) {
	m.due[key] = at
	m.put(keyDue+key, encodeTime(at))
}

// mark notes what an event says of the result at that position, and reports
// whether it says anything.
func (r *searchRecord) mark(event schema.FeedbackEvent, position int) bool {
	switch event {
	case schema.Failed, schema.Rejected:
		r.Rejected = include(r.Rejected, position)
	case schema.Selected, schema.Called, schema.Succeeded:
		r.Used = include(r.Used, position)
	default:
		return false
	}
	return true
}

// count counts a use of a tool, alone, for the query, and together with what was
// used for the same search before.
func (s *Service) count(m *memory, rec *searchRecord, f schema.Feedback, position int) {
	if rec.Shown[position].Kind == schema.KindAgent {
		return
	}
	t := m.tenant(f.Tenant)
	t.use(m, f.ToolID, f.Time, s.cfg.HalfLife)
	t.ask(m, f.ToolID, rec, f.Time, s.cfg.HalfLife)
	for _, other := range rec.Counted {
		if rec.Shown[other].Kind != schema.KindAgent {
			t.useTogether(m, f.ToolID, rec.Shown[other].ID, f.Time, s.cfg.HalfLife)
		}
	}
}

// include returns list with x in it once, as long as there is room.
func include(list []int, x int) []int {
	if slices.Contains(list, x) || len(list) >= maxUsed {
		return list
	}
	return append(list, x)
}

// room reports whether another event of a tenant may wait for its search: as long as
// fewer of it wait than could still come (a dynamic threshold, Choudhury and Hahne
// 1998), so that whoever makes up searches leaves room for others.
func (m *memory) room(tenant string, limit int) bool {
	return m.waits[tenant] < limit-m.waiters()
}

// waiters is how many events wait, of all tenants.
func (m *memory) waiters() (n int) {
	for _, of := range m.waits {
		n += of
	}
	return n
}

func waitingKey(f schema.Feedback) string { return keyWaiting + f.Tenant + "/" + f.Identity() }

func (m *memory) addWaiting(f schema.Feedback) {
	key := f.Tenant + "/" + f.SearchID
	m.waiting[key] = append(m.waiting[key], f)
	m.waits[f.Tenant]++
}

// takeWaiting returns what waited for a search, in the order of time, and where
// that is the same in an order that a restart does not change.
func (m *memory) takeWaiting(key string) []schema.Feedback {
	list := m.waiting[key]
	m.dropWaiting(key, list, nil)
	slices.SortFunc(list, func(a, b schema.Feedback) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Identity(), b.Identity()))
	})
	return list
}

// dropWaiting ends the waiting of some events; the others go on.
func (m *memory) dropWaiting(key string, dropped, others []schema.Feedback) {
	for _, f := range dropped {
		m.put(waitingKey(f), nil)
		if m.waits[f.Tenant]--; m.waits[f.Tenant] == 0 {
			delete(m.waits, f.Tenant)
		}
	}
	if m.waiting[key] = others; len(others) == 0 {
		delete(m.waiting, key)
	}
}

// expireWaiting gives up on what happened before the horizon.
func (m *memory) expireWaiting(horizon time.Time) {
	for key, list := range m.waiting {
		var dropped, others []schema.Feedback
		for _, f := range list {
			if f.Time.Before(horizon) {
				dropped = append(dropped, f)
			} else {
				others = append(others, f)
			}
		}
		if len(dropped) > 0 {
			m.dropWaiting(key, dropped, others)
			m.outcomes[unknownSearch] += len(dropped)
		}
	}
}

// example is a shown result as small steps and their judges see it: without what was
// known of its use. That came of the same question too, where it has been asked
// before, and would teach that whatever was used is right. Features that an older
// version did not measure are 0.
func example(r schema.Shown) fusion.Example {
	var e fusion.Example
	copy(e.Features[:], r.Features)
	for f := range e.Features {
		if fusion.Feature(f).Usage() {
			e.Features[f] = 0
		}
	}
	e.Matches = r.Matches
	return e
}
