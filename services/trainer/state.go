package trainer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of records in the state. The rest of a key identifies the record.
const (
	keyPosition = "position/" // topic/partition: offset
	keyTenant   = "tenant/"   // tenant: tenantRecord
	keyCluster  = "cluster/"  // tenant/cluster: cluster
	keyVersion  = "version/"  // tenant/version: History
	keySearch   = "search/"   // tenant/search: time, then searchRecord
	keyWaiting  = "waiting/"  // tenant/event id: schema.Feedback of an unknown search
)

// memory is the trainer's state without the searches, which stay on disk until feedback on
// them arrives. stateStore guards it.
type memory struct {
	positions map[events.Topic]map[int]uint64
	newest    map[events.Topic]time.Time // time of the newest record read
	tenants   map[string]*tenantState
	searches  searchQueue
	waiting   waitingFeedback

	disk     State
	changes  map[string][]byte // since the last Save
	outcomes map[string]int    // of feedback, since the last Save
}

// stateStore loads the memory from disk and saves its changes.
type stateStore struct {
	disk    State
	metrics *metrics

	mu     sync.Mutex
	memory *memory // nil until it is loaded
}

// update runs fn on the memory and saves the changes. If either fails or panics, the memory
// is dropped and the next call loads it again: the memory always equals the saved state.
func (s *stateStore) update(fn func(m *memory) error) error {
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
		if err := s.disk.Save(m.changes); err != nil {
			return fmt.Errorf("trainer: save state: %w", err)
		}
	}
	s.memory = m
	s.metrics.observe(m)
	return nil
}

// view runs fn on the memory, which fn must not change.
func (s *stateStore) view(fn func(m *memory)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return err
	}
	fn(m)
	return nil
}

// erase deletes the records of a tenant.
func (s *stateStore) erase(tenant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = nil // the next call loads it without the tenant
	return s.disk.Erase(func(key string) bool {
		kind, owner, _ := splitKey(key)
		return kind != keyPosition && owner == tenant
	})
}

// loaded returns the memory, loading it first if necessary. The caller holds mu.
func (s *stateStore) loaded() (*memory, error) {
	if s.memory != nil {
		return s.memory, nil
	}
	m := &memory{
		positions: map[events.Topic]map[int]uint64{},
		newest:    map[events.Topic]time.Time{},
		tenants:   map[string]*tenantState{},
		searches:  searchQueue{tenants: map[string]*searchList{}},
		waiting:   waitingFeedback{bySearch: map[string][]schema.Feedback{}, counts: map[sender]int{}},
		disk:      s.disk,
	}
	if err := s.disk.Load(m.restore); err != nil {
		return nil, fmt.Errorf("trainer: load state: %w", err)
	}
	for _, list := range m.searches.tenants {
		slices.SortFunc(list.all, func(a, b storedSearch) int { return a.at.Compare(b.at) })
	}
	s.memory = m
	return m, nil
}

// splitKey splits a key of the state. The kind is a key prefix.
func splitKey(key string) (kind, owner, name string) {
	kind, rest, _ := strings.Cut(key, "/")
	owner, name, _ = strings.Cut(rest, "/")
	return kind + "/", owner, name
}

// restore adds a record of the state to the memory.
func (m *memory) restore(key string, value []byte) error {
	kind, owner, name := splitKey(key)
	var err error
	switch kind {
	case keyPosition:
		var partition int
		var offset uint64
		if partition, err = strconv.Atoi(name); err == nil {
			offset, err = strconv.ParseUint(string(value), 10, 64)
		}
		m.setPositions(events.Topic(owner), map[int]uint64{partition: offset})
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
		at, err = decodeTime(value)
		m.searches.add(owner, storedSearch{key, at, len(key) + len(value)})
	case keyWaiting:
		var f schema.Feedback
		err = json.Unmarshal(value, &f)
		m.waiting.add(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// setPositions records how far a topic was read.
func (m *memory) setPositions(topic events.Topic, positions map[int]uint64) {
	if m.positions[topic] == nil {
		m.positions[topic] = map[int]uint64{}
	}
	maps.Copy(m.positions[topic], positions)
	for p, offset := range positions {
		m.set(keyPosition+string(topic)+"/"+strconv.Itoa(p), strconv.AppendUint(nil, offset, 10))
	}
}

// watermark returns how far both topics were read: now for a topic that was read to
// its end, else the time of the newest record read.
func (m *memory) watermark(ends map[events.Topic]map[int]uint64, now time.Time) time.Time {
	read := now
	for topic, end := range ends {
		if (end == nil || stream.Behind(m.positions[topic], end) > 0) && m.newest[topic].Before(read) {
			read = m.newest[topic]
		}
	}
	return read
}

// advance moves the time of the newest record of a topic.
func (m *memory) advance(topic events.Topic, t time.Time) {
	if t.After(m.newest[topic]) {
		m.newest[topic] = t
	}
}

// tenant returns the state of a tenant, and creates it if necessary.
func (m *memory) tenant(name string) *tenantState {
	if m.tenants[name] == nil {
		m.tenants[name] = newTenantState(name)
	}
	return m.tenants[name]
}

// collect adds the records of the tenants and clusters that have changed.
func (m *memory) collect() error {
	for name, t := range m.tenants {
		for id := range t.dirty {
			if c := t.clusters[id]; c == nil {
				m.set(keyCluster+name+"/"+id, nil)
			} else if err := m.setJSON(keyCluster+name+"/"+id, c); err != nil {
				return err
			}
		}
		clear(t.dirty)
		if t.changed {
			if err := m.setJSON(keyTenant+name, t.record); err != nil {
				return err
			}
			t.changed = false
		}
	}
	return nil
}

// set saves a record with the next Save; a nil value deletes it. While the memory is being
// loaded, nothing has to be saved.
func (m *memory) set(key string, value []byte) {
	if m.changes != nil {
		m.changes[key] = value
	}
}

func (m *memory) setJSON(key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("trainer: encode %s: %w", key, err)
	}
	m.set(key, raw)
	return nil
}

// get returns a record, as the pending changes leave it.
func (m *memory) get(key string) ([]byte, error) {
	if value, changed := m.changes[key]; changed {
		return value, nil
	}
	value, err := m.disk.Get(key)
	if err != nil {
		return nil, fmt.Errorf("trainer: read state: %w", err)
	}
	return value, nil
}

// storedSearch is a search on disk.
type storedSearch struct {
	key  string
	at   time.Time
	size int
}

// searchQueue knows the searches on disk that wait for feedback.
type searchQueue struct {
	tenants map[string]*searchList
	bytes   int // of all searches
}

// searchList holds the searches of a tenant, in the order of reading.
type searchList struct {
	all   []storedSearch
	bytes int
}

func (q *searchQueue) add(tenant string, s storedSearch) {
	if q.tenants[tenant] == nil {
		q.tenants[tenant] = &searchList{}
	}
	list := q.tenants[tenant]
	list.all = append(list.all, s)
	list.bytes += s.size
	q.bytes += s.size
}

// trim removes searches until the rest fits into limit bytes, and returns their keys. The
// tenant with the most bytes loses its oldest search first, so that no tenant evicts the
// searches of another one.
func (q *searchQueue) trim(limit int) (keys []string) {
	for q.bytes > limit {
		keys = append(keys, q.pop(slices.MaxFunc(slices.Sorted(maps.Keys(q.tenants)), func(a, b string) int {
			return q.tenants[a].bytes - q.tenants[b].bytes
		})))
	}
	return keys
}

// expire removes the searches from before the horizon, and returns their keys.
func (q *searchQueue) expire(horizon time.Time) (keys []string) {
	for _, tenant := range slices.Collect(maps.Keys(q.tenants)) {
		for list := q.tenants[tenant]; len(list.all) > 0 && list.all[0].at.Before(horizon); {
			keys = append(keys, q.pop(tenant))
		}
	}
	return keys
}

// pop removes the first search of a tenant, and returns its key.
func (q *searchQueue) pop(tenant string) (key string) {
	list := q.tenants[tenant]
	first := list.all[0]
	list.all = list.all[1:]
	list.bytes -= first.size
	q.bytes -= first.size
	if len(list.all) == 0 {
		delete(q.tenants, tenant)
	}
	return first.key
}

// encodeTime writes a time as eight bytes of microseconds.
func encodeTime(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMicro())) }

func decodeTime(value []byte) (time.Time, error) {
	if len(value) < 8 {
		return time.Time{}, fmt.Errorf("a time of %d bytes", len(value))
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(value))).UTC(), nil
}
