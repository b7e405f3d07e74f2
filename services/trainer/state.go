package trainer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of record in the state: a kind, then what the record is about.
const (
	keyPosition = "position/" // topic/partition: offset
	keyTenant   = "tenant/"   // tenant: tenantRecord
	keyCluster  = "cluster/"  // tenant/cluster: cluster
	keyVersion  = "version/"  // tenant/version: History
	keySearch   = "search/"   // tenant/search: time, then searchRecord
	keyWaiting  = "waiting/"  // tenant/event id: schema.Feedback of an unknown search
)

// memory is the trainer's state, except for the searches, which stay on disk until
// feedback on them arrives. It belongs to the holder of Service.mu.
type memory struct {
	positions map[events.Topic]map[int]uint64
	newest    map[events.Topic]time.Time // time of the newest record read
	tenants   map[string]*tenantState
	searches  map[string]*searchList       // by tenant
	bytes     int                          // of all searches
	waiting   map[string][]schema.Feedback // by search key
	waits     map[waiter]int               // events that wait

	state    State
	changes  map[string][]byte // since the last Save
	outcomes map[string]int    // of feedback, since the last Save
}

// change runs fn on the memory and saves what it changed. If either fails or panics, the
// memory is dropped and the next call loads it again: the memory always equals what was
// saved.
func (s *Service) change(fn func(m *memory) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return err
	}
	s.memory = nil
	m.changes, m.outcomes = map[string][]byte{}, map[string]int{}
	if err := fn(m); err != nil {
		return err
	}
	if err := m.collect(); err != nil {
		return err
	}
	if len(m.changes) > 0 {
		if err := m.state.Save(m.changes); err != nil {
			return fmt.Errorf("trainer: save state: %w", err)
		}
	}
	s.memory = m
	for outcome, n := range m.outcomes {
		s.metrics.feedback.WithLabelValues(outcome).Add(float64(n))
	}
	s.metrics.observe(m)
	return nil
}

// collect adds the records of the tenants and clusters that have changed.
func (m *memory) collect() error {
	for name, t := range m.tenants {
		for id := range t.dirty {
			var err error
			if c := t.clusters[id]; c != nil {
				err = m.putJSON(keyCluster+name+"/"+id, c)
			} else {
				m.put(keyCluster+name+"/"+id, nil)
			}
			if err != nil {
				return err
			}
		}
		clear(t.dirty)
		if t.changed {
			if err := m.putJSON(keyTenant+name, t.record); err != nil {
				return err
			}
			t.changed = false
		}
	}
	return nil
}

// loaded returns the memory, and loads it first if need be. The caller holds mu.
func (s *Service) loaded() (*memory, error) {
	if s.memory != nil {
		return s.memory, nil
	}
	m := &memory{
		positions: map[events.Topic]map[int]uint64{},
		newest:    map[events.Topic]time.Time{},
		tenants:   map[string]*tenantState{},
		searches:  map[string]*searchList{},
		waiting:   map[string][]schema.Feedback{},
		waits:     map[waiter]int{},
		state:     s.deps.State,
	}
	if err := m.state.Load(m.read); err != nil {
		return nil, fmt.Errorf("trainer: load state: %w", err)
	}
	for _, list := range m.searches {
		slices.SortFunc(list.all, func(a, b storedSearch) int { return a.at.Compare(b.at) })
	}
	s.memory = m
	return m, nil
}

// splitKey takes a key of the state apart. The kind is one of the prefixes of keys.
func splitKey(key string) (kind, owner, name string) {
	kind, rest, _ := strings.Cut(key, "/")
	owner, name, _ = strings.Cut(rest, "/")
	return kind + "/", owner, name
}

// read takes one record of the state.
func (m *memory) read(key string, value []byte) error {
	kind, owner, name := splitKey(key)
	var err error
	switch kind {
	case keyPosition:
		var partition int
		var offset uint64
		if partition, err = strconv.Atoi(name); err == nil {
			offset, err = strconv.ParseUint(string(value), 10, 64)
		}
		m.move(events.Topic(owner), map[int]uint64{partition: offset})
	case keyTenant:
		t := m.tenant(owner)
		err = json.Unmarshal(value, &t.record)
		t.usageChanged = true
	case keyCluster:
		c := &cluster{id: name}
		err = json.Unmarshal(value, c)
		m.tenant(owner).clusters[name] = c
	case keyVersion:
		var h History
		err = json.Unmarshal(value, &h)
		m.tenant(owner).history[name] = h
	case keySearch:
		var at time.Time
		at, err = readTime(value)
		m.track(owner, storedSearch{key, at, len(key) + len(value)})
	case keyWaiting:
		var f schema.Feedback
		err = json.Unmarshal(value, &f)
		m.addWaiting(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// move takes over the positions up to which a topic has been read.
func (m *memory) move(topic events.Topic, positions map[int]uint64) {
	if m.positions[topic] == nil {
		m.positions[topic] = map[int]uint64{}
	}
	maps.Copy(m.positions[topic], positions)
	for p, offset := range positions {
		m.put(keyPosition+string(topic)+"/"+strconv.Itoa(p), strconv.AppendUint(nil, offset, 10))
	}
}

// positions returns how far both topics have been read.
func (s *Service) positions() (searches, feedback map[int]uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return nil, nil, err
	}
	return maps.Clone(m.positions[events.Searches]), maps.Clone(m.positions[events.FeedbackTopic]), nil
}

// tenant returns the state of a tenant, a new one for an unknown tenant.
func (m *memory) tenant(name string) *tenantState {
	t, known := m.tenants[name]
	if !known {
		t = newTenantState(name)
		m.tenants[name] = t
	}
	return t
}

// put notes a record to be saved, or to be deleted if value is nil. While the memory is
// loaded there is nothing to note.
func (m *memory) put(key string, value []byte) {
	if m.changes != nil {
		m.changes[key] = value
	}
}

func (m *memory) putJSON(key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("trainer: encode %s: %w", key, err)
	}
	m.put(key, raw)
	return nil
}

// get returns a record as it will be once the changes are saved.
func (m *memory) get(key string) ([]byte, error) {
	if value, changed := m.changes[key]; changed {
		return value, nil
	}
	value, err := m.state.Get(key)
	if err != nil {
		return nil, fmt.Errorf("trainer: read state: %w", err)
	}
	return value, nil
}

// storedSearch is a search in the state.
type storedSearch struct {
	key  string
	at   time.Time
	size int
}

// searchList holds the searches of a tenant in the order in which they were read.
type searchList struct {
	all   []storedSearch
	bytes int
}

func (m *memory) track(tenant string, s storedSearch) {
	list := m.searches[tenant]
	if list == nil {
		list = &searchList{}
		m.searches[tenant] = list
	}
	list.all = append(list.all, s)
	list.bytes += s.size
	m.bytes += s.size
}

// remember stores a search. While all searches together are larger than limit, the
// tenant with the most bytes loses its oldest search, so that no tenant pushes out the
// searches of the others.
func (m *memory) remember(tenant, key string, at time.Time, record []byte, limit int) {
	m.put(key, record)
	m.track(tenant, storedSearch{key, at, len(key) + len(record)})
	for m.bytes > limit {
		m.forget(slices.MaxFunc(slices.Sorted(maps.Keys(m.searches)), func(a, b string) int {
			return m.searches[a].bytes - m.searches[b].bytes
		}))
	}
}

// forget deletes the first search of a tenant.
func (m *memory) forget(tenant string) {
	list := m.searches[tenant]
	first := list.all[0]
	m.put(first.key, nil)
	list.all = list.all[1:]
	list.bytes -= first.size
	m.bytes -= first.size
	if len(list.all) == 0 {
		delete(m.searches, tenant)
	}
}

// expire forgets searches and waiting feedback from before the horizon.
func (m *memory) expire(horizon time.Time) {
	for _, tenant := range slices.Collect(maps.Keys(m.searches)) {
		for list := m.searches[tenant]; len(list.all) > 0 && list.all[0].at.Before(horizon); {
			m.forget(tenant)
		}
	}
	for key, list := range m.waiting {
		old := func(f schema.Feedback) bool { return f.Time.Before(horizon) }
		expired := slices.Clone(list)
		expired = slices.DeleteFunc(expired, func(f schema.Feedback) bool { return !old(f) })
		if len(expired) > 0 {
			m.dropWaiting(key, expired, slices.DeleteFunc(list, old))
			m.outcomes[unknownSearch] += len(expired)
		}
	}
}

// encodeTime writes a time as eight bytes of microseconds.
func encodeTime(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMicro())) }

func readTime(value []byte) (time.Time, error) {
	if len(value) < 8 {
		return time.Time{}, fmt.Errorf("a time of %d bytes", len(value))
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(value))).UTC(), nil
}
