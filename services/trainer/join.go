package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Outcomes of feedback events and impressions, as metrics name them.
const (
	accepted      = "accepted"
	duplicate     = "duplicate"
	waiting       = "waiting"        // for its search
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

// Limits per search.
const (
	maxShown     = 100  // results remembered
	maxEvents    = 100  // events that count
	maxWords     = 1000 // bytes of the query remembered
	largestScore = 1e6  // a larger feature value cannot be a measurement
)

// maxSkew is how far the clocks of two processes may be apart.
const maxSkew = 5 * time.Minute

// searchRecord is a search that waits for feedback.
type searchRecord struct {
	Query    string           `json:"query,omitempty"`  // the first words, for operators only: learning does not use them
	Model    string           `json:"model,omitempty"`  // embedding model of Vector
	Vector   schema.Direction `json:"vector,omitempty"` // of the query
	Shown    []schema.Shown   `json:"shown"`
	acts                      // at positions as defined by position
	Events   []string         `json:"events,omitempty"`  // identities of the events that counted
	Cluster  string           `json:"cluster,omitempty"` // the cluster with its session
	reporter                  // the first to report

	id string
	at time.Time // stored before the JSON
}

// acts are the actions of users on results, by position.
type acts struct {
	Used      []int `json:"used,omitempty"`      // selected, called or succeeded
	Called    []int `json:"called,omitempty"`    // called or succeeded
	Succeeded []int `json:"succeeded,omitempty"` // for certain
	Rejected  []int `json:"rejected,omitempty"`  // failed or rejected
	Failed    []int `json:"failed,omitempty"`
}

// mapped applies fn to each list.
func (a acts) mapped(fn func(positions []int) []int) acts {
	return acts{Used: fn(a.Used), Called: fn(a.Called), Succeeded: fn(a.Succeeded), Rejected: fn(a.Rejected), Failed: fn(a.Failed)}
}

// joiner joins impressions with the feedback on them.
type joiner struct {
	cfg      Config
	state    *stateStore
	follower stream.Follower
	now      func() time.Time
}

// applySearches stores impressions and their position in one transaction.
func (j *joiner) applySearches(_ context.Context, records []stream.Record[schema.Impression], positions map[int]uint64) error {
	return j.state.update(func(m *memory) error {
		for _, r := range records {
			if err := j.applyImpression(m, r.Decoded, eventTime(r.Decoded.Time, r.Message.Time, j.now())); err != nil {
				return err
			}
		}
		m.setPositions(events.Searches, positions)
		return nil
	})
}

// applyImpression stores a search and joins the feedback that arrived before it.
func (j *joiner) applyImpression(m *memory, i schema.Impression, at time.Time) error {
	if schema.ValidateTenant(i.Tenant) != nil || schema.ValidateID(i.SearchID) != nil || !measured(i.Shown) ||
		i.Vector.Validate() != nil || len(i.Model) > schema.MaxModel {
		m.outcomes[badImpression]++
		return nil
	}
	m.advance(events.Searches, at)
	key := i.Tenant + "/" + i.SearchID
	if stored, err := m.get(keySearch + key); stored != nil || err != nil {
		return err
	}
	rec := newSearchRecord(&i, at)
	raw, err := rec.encode()
	if err != nil {
		return err
	}
	m.set(keySearch+key, raw)
	m.searches.add(i.Tenant, storedSearch{keySearch + key, at, len(keySearch+key) + len(raw)})
	for _, evicted := range m.searches.trim(j.cfg.SearchBytes) {
		m.set(evicted, nil)
	}
	early := m.waiting.bySearch[key]
	m.waiting.remove(key, early, nil)
	slices.SortFunc(early, func(a, b schema.Feedback) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Identity(), b.Identity()))
	})
	for _, f := range early {
		m.set(waitingKey(f), nil)
		if err := j.join(m, f, rec); err != nil {
			return err
		}
	}
	return nil
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

// eventTime is the time that a record states, or the time of acceptance on the bus, but
// never in the future.
func eventTime(stated, accepted, now time.Time) time.Time {
	if stated.IsZero() {
		stated = accepted
	}
	if stated.After(now) {
		return now
	}
	return stated
}

// applyFeedback stores feedback and its position in one transaction. It first waits until
// all searches on the bus are read, so that hardly any event has to wait for its search.
func (j *joiner) applyFeedback(ctx context.Context, records []stream.Record[schema.Feedback], positions map[int]uint64) error {
	if err := j.awaitSearches(ctx); err != nil {
		return err
	}
	return j.state.update(func(m *memory) error {
		for _, r := range records {
			f, now := r.Decoded, j.now()
			if f.Time.Sub(now) > maxSkew {
				m.outcomes[future]++
				continue
			}
			f.Time = eventTime(f.Time, r.Message.Time, now)
			if err := j.applyEvent(m, f); err != nil {
				return err
			}
		}
		m.setPositions(events.FeedbackTopic, positions)
		return nil
	})
}

// awaitPause is the time between two checks how far the searches are read.
const awaitPause = 10 * time.Millisecond

func (j *joiner) awaitSearches(ctx context.Context) error {
	end := endOf(ctx, j.follower, events.Searches)
	pause := time.NewTicker(awaitPause)
	defer pause.Stop()
	for {
		var behind uint64
		err := j.state.view(func(m *memory) { behind = stream.Behind(m.positions[events.Searches], end) })
		if err != nil || behind == 0 {
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

// endOf returns the positions behind the last record of a topic, nil if the bus does not
// answer.
func endOf(ctx context.Context, bus stream.Follower, topic events.Topic) map[int]uint64 {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	end, err := bus.End(ctx, topic)
	if err != nil {
		return nil
	}
	return end
}

// applyEvent handles a feedback event. An event that can neither be joined nor kept may be sent
// again.
func (j *joiner) applyEvent(m *memory, f schema.Feedback) error {
	if f.Validate() != nil || f.Tenant == "" {
		m.outcomes[invalid]++
		return nil
	}
	m.advance(events.FeedbackTopic, f.Time)
	switch {
	case f.Event == schema.Forget:
		return m.tenant(f.Tenant).forget(m, markOf(f), j.now().UTC(), j.cfg.Refit)
	case !f.Event.Teaches():
		m.outcomes[noLesson]++
		return nil
	}
	rec, err := m.search(f.Tenant, f.SearchID)
	switch {
	case err != nil:
		return err
	case rec != nil:
		return j.join(m, f, rec)
	case !m.waiting.hasRoom(senderOf(f), j.cfg.Waiting):
		m.outcomes[unknownSearch]++
		return nil
	}
	if stored, err := m.get(waitingKey(f)); stored != nil || err != nil {
		m.outcomes[duplicate]++
		return err
	}
	m.outcomes[waiting]++
	m.waiting.add(f)
	return m.setJSON(waitingKey(f), f)
}

// search returns a stored search, nil if it is unknown.
func (m *memory) search(tenant, id string) (*searchRecord, error) {
	raw, err := m.get(keySearch + tenant + "/" + id)
	if raw == nil || err != nil {
		return nil, err
	}
	r := &searchRecord{id: id}
	if r.at, err = decodeTime(raw); err == nil {
		err = json.Unmarshal(raw[8:], r)
	}
	if err != nil {
		return nil, fmt.Errorf("trainer: decode search: %w", err)
	}
	return r, nil
}

// join adds an event to its search, and the search to its query cluster.
func (j *joiner) join(m *memory, f schema.Feedback, rec *searchRecord) error {
	t := m.tenant(f.Tenant)
	if t.takenBack(reporter{f.Credential, f.Client}, rec.at) {
		m.outcomes[takenBack]++
		return nil
	}
	if t.takenBack(rec.reporter, rec.at) {
		rec.reporter, rec.acts = reporter{}, acts{}
	}
	outcome := rec.add(f, j.cfg.Window)
	m.outcomes[outcome]++
	if outcome != accepted {
		return nil
	}
	seen := rec.seen()
	t.observe(seen, j.cfg.Clusters)
	rec.Cluster = seen.Cluster
	raw, err := rec.encode()
	m.set(keySearch+f.Tenant+"/"+f.SearchID, raw)
	return err
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

// add adds an event and returns its outcome.
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

// act adds an act on the result at a position. A success implies a call, and a
// call a selection.
func (a *acts) act(event schema.FeedbackEvent, position int) {
	include := func(list *[]int) {
		if !slices.Contains(*list, position) {
			*list = append(*list, position)
		}
	}
	switch event {
	case schema.Failed:
		include(&a.Failed)
		include(&a.Rejected)
	case schema.Rejected:
		include(&a.Rejected)
	case schema.Succeeded:
		include(&a.Succeeded)
		a.act(schema.Called, position)
	case schema.Called:
		include(&a.Called)
		a.act(schema.Selected, position)
	case schema.Selected:
		include(&a.Used)
	}
}

// sender is the credential of a tenant that sent events, whichever clients it names.
type sender struct{ tenant, credential string }

func senderOf(f schema.Feedback) sender { return sender{f.Tenant, f.Credential} }

// waitingFeedback holds events whose search has not arrived.
type waitingFeedback struct {
	bySearch map[string][]schema.Feedback // by tenant/search
	counts   map[sender]int
}

// waitingKey is the key of a stored event.
func waitingKey(f schema.Feedback) string { return keyWaiting + f.Tenant + "/" + f.Identity() }

// hasRoom reports whether another event of a sender may wait: a tenant may fill half of the
// free space, and a sender half of that (a dynamic threshold, Choudhury and Hahne 1998), so
// that a single sender cannot fill it.
func (w *waitingFeedback) hasRoom(s sender, limit int) bool {
	all, tenant := 0, 0
	for other, n := range w.counts {
		all += n
		if other.tenant == s.tenant {
			tenant += n
		}
	}
	return w.counts[s] < limit-all-tenant
}

func (w *waitingFeedback) add(f schema.Feedback) {
	key := f.Tenant + "/" + f.SearchID
	w.bySearch[key] = append(w.bySearch[key], f)
	w.counts[senderOf(f)]++
}

// remove removes some events of a search, and leaves the others.
func (w *waitingFeedback) remove(key string, removed, others []schema.Feedback) {
	for _, f := range removed {
		who := senderOf(f)
		if w.counts[who]--; w.counts[who] == 0 {
			delete(w.counts, who)
		}
	}
	if w.bySearch[key] = others; len(others) == 0 {
		delete(w.bySearch, key)
	}
}

// expire removes and returns the events from before the horizon.
func (w *waitingFeedback) expire(horizon time.Time) (expired []schema.Feedback) {
	for key, list := range w.bySearch {
		var old, others []schema.Feedback
		for _, f := range list {
			if f.Time.Before(horizon) {
				old = append(old, f)
			} else {
				others = append(others, f)
			}
		}
		if len(old) > 0 {
			w.remove(key, old, others)
			expired = append(expired, old...)
		}
	}
	return expired
}

// example is a shown result without its usage features: if the same question was asked
// before, they hold the answer. A feature that an older version did not measure is 0.
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
