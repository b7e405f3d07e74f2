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
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Outcomes of feedback events and impressions, as metrics name them.
const (
	accepted      = "accepted"
	duplicate     = "duplicate"
	waiting       = "waiting"        // its search is not known yet
	unknownSearch = "unknown_search" // its search never arrived
	notShown      = "not_shown"
	tooOld        = "too_old"
	tooEarly      = "before_search"
	future        = "future"
	noLesson      = "teaches_nothing"
	capped        = "capped" // more events than one search may bring
	takenBack     = "taken_back"
	invalid       = "invalid"
	badImpression = "invalid_impression"
)

// Limits of what one search can bring.
const (
	maxShown     = 100  // results remembered
	maxEvents    = 100  // events that count
	maxWords     = 1000 // bytes of the query remembered
	largestScore = 1e6  // a larger feature value is no measurement
)

// maxSkew is how far the clocks of two processes may be apart.
const maxSkew = 5 * time.Minute

// searchRecord is a search that waits for feedback.
type searchRecord struct {
	Query    string           `json:"query,omitempty"`  // its first words, for operators: nothing is learned from them
	Model    string           `json:"model,omitempty"`  // embedding model of Vector
	Vector   schema.Direction `json:"vector,omitempty"` // of the query
	Shown    []schema.Shown   `json:"shown"`
	acts                      // at positions as offers.go counts them
	Events   []string         `json:"events,omitempty"`  // identities of the events that counted
	Cluster  string           `json:"cluster,omitempty"` // that holds its session
	reporter                  // who reported first

	id string
	at time.Time // stored in front of the record
}

// acts are what was done with results, each named by its position.
type acts struct {
	Used      []int `json:"used,omitempty"`      // selected, called or succeeded
	Called    []int `json:"called,omitempty"`    // called or succeeded
	Succeeded []int `json:"succeeded,omitempty"` // for certain
	Rejected  []int `json:"rejected,omitempty"`  // failed or rejected
	Failed    []int `json:"failed,omitempty"`
}

// each puts the list that fn makes of it in the place of each list.
func (a acts) each(fn func(positions []int) []int) acts {
	return acts{Used: fn(a.Used), Called: fn(a.Called), Succeeded: fn(a.Succeeded), Rejected: fn(a.Rejected), Failed: fn(a.Failed)}
}

// applySearches stores impressions and the position in one transaction.
func (s *Service) applySearches(_ context.Context, records []stream.Record[schema.Impression], positions map[int]uint64) error {
	return s.change(func(m *memory) error {
		for _, r := range records {
			if err := s.impression(m, r.Decoded, eventTime(r.Decoded.Time, r.Message.Time, s.deps.Now())); err != nil {
				return err
			}
		}
		m.move(events.Searches, positions)
		return nil
	})
}

// applyFeedback stores feedback and the position in one transaction. It waits until all
// searches that are on the bus by now are read, so that hardly any event has to wait for
// its search.
func (s *Service) applyFeedback(ctx context.Context, records []stream.Record[schema.Feedback], positions map[int]uint64) error {
	if err := s.awaitSearches(ctx); err != nil {
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
		return nil
	})
}

// awaitPause is the time between two looks at how far the searches are read.
const awaitPause = 10 * time.Millisecond

func (s *Service) awaitSearches(ctx context.Context) error {
	end := s.end(ctx, events.Searches)
	pause := time.NewTicker(awaitPause)
	defer pause.Stop()
	for {
		s.mu.Lock()
		m, err := s.loaded()
		behind := err == nil && m.behind(events.Searches, end)
		s.mu.Unlock()
		if err != nil || !behind {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// endTimeout bounds the request for the end of a topic.
const endTimeout = 2 * time.Second

// end returns the positions behind the last record of a topic, nil if the bus does not
// answer.
func (s *Service) end(ctx context.Context, topic events.Topic) map[int]uint64 {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	end, err := s.deps.Follower.End(ctx, topic)
	if err != nil {
		return nil
	}
	return end
}

// behind reports whether a topic has records before the end that are not read yet.
func (m *memory) behind(topic events.Topic, end map[int]uint64) bool {
	for partition, offset := range end {
		if m.positions[topic][partition] < offset {
			return true
		}
	}
	return false
}

// eventTime is when something happened: what the record says, else when the bus took it,
// and never in the future.
func eventTime(said, taken, now time.Time) time.Time {
	if said.IsZero() {
		said = taken
	}
	if said.After(now) {
		return now
	}
	return said
}

func (m *memory) saw(topic events.Topic, t time.Time) {
	if t.After(m.newest[topic]) {
		m.newest[topic] = t
	}
}

// impression remembers a search and joins the feedback that came before it.
func (s *Service) impression(m *memory, i schema.Impression, at time.Time) error {
	if schema.ValidateTenant(i.Tenant) != nil || schema.ValidateID(i.SearchID) != nil || !measured(i.Shown) ||
		i.Vector.Validate() != nil || len(i.Model) > schema.MaxModel {
		m.outcomes[badImpression]++
		return nil
	}
	m.saw(events.Searches, at)
	key := i.Tenant + "/" + i.SearchID
	if known, err := m.get(keySearch + key); known != nil || err != nil {
		return err
	}
	rec := newSearchRecord(&i, at)
	raw, err := rec.encode()
	if err != nil {
		return err
	}
	m.remember(i.Tenant, keySearch+key, at, raw, s.cfg.SearchBytes)
	for _, f := range m.takeWaiting(key) {
		if err := s.join(m, f, rec); err != nil {
			return err
		}
	}
	return nil
}

func newSearchRecord(i *schema.Impression, at time.Time) *searchRecord {
	return &searchRecord{id: i.SearchID, at: at, Query: text.Truncate(i.Query, maxWords), Model: i.Model, Vector: i.Vector, Shown: i.Shown[:min(len(i.Shown), maxShown)]}
}

func (r *searchRecord) encode() ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("trainer: encode search: %w", err)
	}
	return append(encodeTime(r.at), raw...), nil
}

// search returns a stored search, nil if it is not known.
func (m *memory) search(tenant, id string) (*searchRecord, error) {
	raw, err := m.get(keySearch + tenant + "/" + id)
	if raw == nil || err != nil {
		return nil, err
	}
	r := &searchRecord{id: id}
	if r.at, err = readTime(raw); err == nil {
		err = json.Unmarshal(raw[8:], r)
	}
	if err != nil {
		return nil, fmt.Errorf("trainer: decode search: %w", err)
	}
	return r, nil
}

// measured reports whether every number of an impression can be a measurement.
func measured(shown []schema.Shown) bool {
	sane := func(x float64) bool { return math.Abs(x) <= largestScore } // false for NaN
	for _, r := range shown {
		for _, x := range r.Features {
			if !sane(x) {
				return false
			}
		}
		for _, match := range r.Matches {
			if !sane(match.Score) {
				return false
			}
		}
	}
	return true
}

// event takes one feedback event. An event that can be neither joined nor kept may be
// sent again.
func (s *Service) event(m *memory, f schema.Feedback) error {
	if f.Validate() != nil || f.Tenant == "" {
		m.outcomes[invalid]++
		return nil
	}
	m.saw(events.FeedbackTopic, f.Time)
	switch {
	case f.Event == schema.Forget:
		return s.forget(m, f.Tenant, markOf(f))
	case !f.Event.Teaches():
		m.outcomes[noLesson]++
		return nil
	}
	rec, err := m.search(f.Tenant, f.SearchID)
	switch {
	case err != nil:
		return err
	case rec != nil:
		return s.join(m, f, rec)
	case !m.room(waiterOf(f), s.cfg.Waiting):
		m.outcomes[unknownSearch]++
		return nil
	}
	if known, err := m.get(waitingKey(f)); known != nil || err != nil {
		m.outcomes[duplicate]++
		return err
	}
	m.outcomes[waiting]++
	m.addWaiting(f)
	return m.putJSON(waitingKey(f), f)
}

// join adds an event to its search, and the search to its query cluster.
func (s *Service) join(m *memory, f schema.Feedback, rec *searchRecord) error {
	t := m.tenant(f.Tenant)
	if t.takenBack(reporter{f.Credential, f.Client}, rec.at) {
		m.outcomes[takenBack]++
		return nil
	}
	if t.takenBack(rec.reporter, rec.at) {
		rec.reporter, rec.acts = reporter{}, acts{}
	}
	outcome := rec.add(f, s.cfg.Window)
	m.outcomes[outcome]++
	if outcome != accepted {
		return nil
	}
	seen := rec.seen()
	t.observe(seen, s.cfg.Clusters)
	t.score(seen, cmp.Or(rec.Model, s.Model()), f.Time)
	rec.Cluster = seen.Cluster
	raw, err := rec.encode()
	m.put(keySearch+f.Tenant+"/"+f.SearchID, raw)
	return err
}

// add notes an event and returns its outcome.
func (r *searchRecord) add(f schema.Feedback, window time.Duration) string {
	position := r.position(f.ToolID)
	switch {
	case f.Time.Sub(r.at) > window:
		return tooOld
	case r.at.Sub(f.Time) > maxSkew:
		return tooEarly
	case position < 0:
		return notShown
	case slices.Contains(r.Events, f.Identity()):
		return duplicate
	case len(r.Events) >= maxEvents:
		return capped
	}
	if r.Client == "" && (r.Credential == "" || r.Credential == f.Credential) {
		r.reporter = reporter{f.Credential, f.Client}
	}
	r.Events = append(r.Events, f.Identity())
	r.act(f.Event, position)
	return accepted
}

// act notes what was done with the result at a position.
func (a *acts) act(event schema.FeedbackEvent, position int) {
	switch event {
	case schema.Failed:
		a.Failed = include(a.Failed, position)
		a.Rejected = include(a.Rejected, position)
	case schema.Rejected:
		a.Rejected = include(a.Rejected, position)
	case schema.Succeeded:
		a.Succeeded = include(a.Succeeded, position)
		a.act(schema.Called, position)
	case schema.Called:
		a.Called = include(a.Called, position)
		a.act(schema.Selected, position)
	case schema.Selected:
		a.Used = include(a.Used, position)
	}
}

// include returns the list with x in it once.
func include(list []int, x int) []int {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// waiter is whose events wait: a credential of a tenant, whatever clients it names.
type waiter struct{ tenant, credential string }

func waiterOf(f schema.Feedback) waiter { return waiter{f.Tenant, f.Credential} }

// room reports whether another event of a credential may wait for its search: as long as
// fewer of it wait than could still come of its tenant, and of that fewer than of all (a
// dynamic threshold, Choudhury and Hahne 1998), so that nobody takes all the room.
func (m *memory) room(who waiter, limit int) bool {
	all, tenant := 0, 0
	for other, n := range m.waits {
		all += n
		if other.tenant == who.tenant {
			tenant += n
		}
	}
	return m.waits[who] < limit-all-tenant
}

func waitingKey(f schema.Feedback) string { return keyWaiting + f.Tenant + "/" + f.Identity() }

func (m *memory) addWaiting(f schema.Feedback) {
	key := f.Tenant + "/" + f.SearchID
	m.waiting[key] = append(m.waiting[key], f)
	m.waits[waiterOf(f)]++
}

// takeWaiting returns the events that waited for a search, in the order of their times.
func (m *memory) takeWaiting(key string) []schema.Feedback {
	list := m.waiting[key]
	m.dropWaiting(key, list, nil)
	slices.SortFunc(list, func(a, b schema.Feedback) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Identity(), b.Identity()))
	})
	return list
}

// dropWaiting ends the waiting of some events of a search; the others go on.
func (m *memory) dropWaiting(key string, dropped, others []schema.Feedback) {
	for _, f := range dropped {
		m.put(waitingKey(f), nil)
		who := waiterOf(f)
		if m.waits[who]--; m.waits[who] == 0 {
			delete(m.waits, who)
		}
	}
	if m.waiting[key] = others; len(others) == 0 {
		delete(m.waiting, key)
	}
}

// example is a shown result without what was known of its use, which came of the same
// question where it had been asked before. Features that an older version did not measure
// are 0.
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
