package trainer

import (
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of record in the state: a kind, then what it is about.
const (
	keyPosition = "position/" // topic/partition: offset
	keyTenant   = "tenant/"   // tenant: accountRecord
	keyUse      = "use/"      // tenant/tool: asked.Tally
	keyTogether = "together/" // tenant/tool NUL tool: asked.Tally
	keyAsked    = "asked/"    // tenant/tool: asked.Exemplars, of the first slot's model
	keySpace    = "space/"    // tenant: spaceRecord of these
	keyClass    = "class/"    // tenant/search: class
	keySearch   = "search/"   // tenant/search: time, then searchRecord
	keyDue      = "due/"      // tenant/search: the time at which it is learned from
	keySeen     = "seen/"     // tenant/event id: time
	keyClient   = "client/"   // tenant/client: client
	keyUsual    = "usual/"    // tenant: mean of log2(rank) of the median client
	keyVersion  = "version/"  // tenant/version: History
	keyAttempts = "attempts/" // tenant/embedding model: []attempt
	keyQuestion = "question/" // tenant/question: question
	keyWaiting  = "waiting/"  // tenant/event id: schema.Feedback whose search is not known
)

// inSlot is the kind of what is kept of an embedding model: of that in the first
// slot as it is, of the others with their number before the slash.
func inSlot(kind string, slot int) string {
	if slot == 0 {
		return kind
	}
	return strings.TrimSuffix(kind, "/") + strconv.Itoa(slot) + "/"
}

// memory is what the trainer knows, except for the searches themselves, which
// stay in the state until somebody asks. It belongs to the holder of
// Service.mu.
type memory struct {
	positions map[events.Topic]map[int]uint64
	tenants   map[string]*account
	due       map[string]time.Time         // search key to when it is settled
	waiting   map[string][]schema.Feedback // by search key, in order of arrival
	waits     map[string]int               // by tenant, how many wait
	searches  kept
	seen      kept                       // ids of events
	reached   map[events.Topic]time.Time // newest time read
	over      time.Time                  // all that was reported before this was read, when it was looked at last
	heard     time.Time                  // when the bus was read last, or the state was

	state    State
	changes  map[string][]byte // since the last Save
	outcomes map[string]int    // of feedback, since the last Save
}

// change runs fn on the memory and saves what it changed. If either fails, or
// panics, the memory is dropped and loaded again by the next call: what is
// known is always what was saved.
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
	if len(m.changes) > 0 {
		if err := m.state.Save(m.changes); err != nil {
			return fmt.Errorf("trainer: save state: %w", err)
		}
	}
	s.memory = m
	for outcome, n := range m.outcomes {
		s.metrics.feedback.WithLabelValues(outcome).Add(float64(n))
	}
	s.metrics.observe(m, s.deps.Now(), s.cfg.Settle)
	return nil
}

// loaded returns the memory, loading it if need be. The caller holds mu.
func (s *Service) loaded() (*memory, error) {
	if s.memory != nil {
		return s.memory, nil
	}
	m := &memory{
		positions: map[events.Topic]map[int]uint64{},
		tenants:   map[string]*account{},
		due:       map[string]time.Time{},
		waiting:   map[string][]schema.Feedback{},
		waits:     map[string]int{},
		searches:  kept{byTenant: map[string]*ages{}},
		seen:      kept{byTenant: map[string]*ages{}},
		reached:   map[events.Topic]time.Time{},
		heard:     s.deps.Now(),
		state:     s.deps.State,
	}
	if err := m.state.Load(func(key string, value []byte) error { return s.read(m, key, value) }); err != nil {
		return nil, fmt.Errorf("trainer: load state: %w", err)
	}
	s.memory = m
	return m, nil
}

// read takes one record of the state.
func (s *Service) read(m *memory, key string, value []byte) error {
	kind, rest, _ := strings.Cut(key, "/")
	owner, name, _ := strings.Cut(rest, "/")
	switch kind + "/" {
	case keyPosition:
		return m.readPosition(events.Topic(owner), name, value)
	case keyTenant:
		return s.readTenant(m, owner, value)
	case keyUse:
		return readTally(m.tenant(owner).uses, name, value)
	case keyClient:
		return m.tenant(owner).readClient(name, value, s.cfg.HalfLife)
	case keyVersion:
		return m.tenant(owner).readHistory(name, value)
	case keyAttempts:
		return m.tenant(owner).readAttempts(name, value)
	case keyQuestion:
		return m.tenant(owner).readQuestion(name, value)
	case keyUsual:
		return json.Unmarshal(value, &m.tenant(owner).usual)
	case keyClass:
		return m.tenant(owner).readClass(name, value)
	case keyTogether:
		return readTally(m.tenant(owner).together, name, value)
	case keyAsked:
		return m.tenant(owner).readAsked(0, name, value)
	case inSlot(keyAsked, 1):
		return m.tenant(owner).readAsked(1, name, value)
	case keySpace:
		return m.tenant(owner).readSpace(0, value)
	case inSlot(keySpace, 1):
		return m.tenant(owner).readSpace(1, value)
	case keyDue:
		return m.readDue(rest, value)
	case keySearch:
		return m.searches.read(owner, key, value)
	case keySeen:
		return m.seen.read(owner, key, value)
	case keyWaiting:
		var f schema.Feedback
		if err := json.Unmarshal(value, &f); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.addWaiting(f)
	}
	return nil
}

func (m *memory) readPosition(topic events.Topic, partition string, value []byte) error {
	p, err := strconv.Atoi(partition)
	if err != nil {
		return err
	}
	offset, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return err
	}
	m.move(topic, map[int]uint64{p: offset})
	return nil
}

// readDue takes a search that is to be learned from: at once where it was stored
// without a time, as it was at first.
func (m *memory) readDue(search string, value []byte) (err error) {
	var at time.Time
	if len(value) > 0 {
		at, err = readTime(value)
	}
	m.due[search] = at
	return err
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

// tenant returns what is known of a tenant, which is nothing at first.
func (m *memory) tenant(name string) *account {
	t, known := m.tenants[name]
	if !known {
		t = newAccount(name)
		m.tenants[name] = t
	}
	return t
}

// put notes a record to be saved, or with a nil value one to be deleted. While
// loading there is nothing to note.
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

// age says when a record of the state came into being, and how many bytes it has.
type age struct {
	at   time.Time
	key  string
	size int
}

// ages is a heap of records, the oldest on top.
type ages struct {
	list  []age
	bytes int
}

func (a *ages) Len() int      { return len(a.list) }
func (a *ages) Swap(i, j int) { a.list[i], a.list[j] = a.list[j], a.list[i] }
func (a *ages) Push(x any)    { a.list = append(a.list, x.(age)) }
func (a *ages) Pop() any {
	last := a.list[len(a.list)-1]
	a.list = a.list[:len(a.list)-1]
	return last
}
func (a *ages) Less(i, j int) bool {
	if !a.list[i].at.Equal(a.list[j].at) {
		return a.list[i].at.Before(a.list[j].at)
	}
	return a.list[i].key < a.list[j].key
}

// kept are the records of one kind, each until it is older than the window, or until
// there are too many of all tenants, by number or by bytes: then the tenant that has most
// bytes loses its oldest, so that nobody pushes out what is of others.
type kept struct {
	byTenant map[string]*ages
	n, bytes int
}

func (k *kept) read(tenant, key string, value []byte) error {
	t, err := readTime(value)
	k.add(tenant, age{t, key, len(key) + len(value)})
	return err
}

func (k *kept) add(tenant string, a age) {
	of := k.byTenant[tenant]
	if of == nil {
		of = &ages{}
		k.byTenant[tenant] = of
	}
	heap.Push(of, a)
	k.n, k.bytes, of.bytes = k.n+1, k.bytes+a.size, of.bytes+a.size
}

// drop takes away a tenant's oldest record and returns its key.
func (k *kept) drop(tenant string) string {
	of := k.byTenant[tenant]
	oldest := heap.Pop(of).(age)
	k.n, k.bytes, of.bytes = k.n-1, k.bytes-oldest.size, of.bytes-oldest.size
	if of.Len() == 0 {
		delete(k.byTenant, tenant)
	}
	return oldest.key
}

// most returns the tenant that has most bytes, of several the first by name.
func (k *kept) most() (tenant string) {
	most := 0
	for name, of := range k.byTenant {
		if of.bytes > most || of.bytes == most && name < tenant {
			tenant, most = name, of.bytes
		}
	}
	return tenant
}

// remember keeps a record, and of its kind no more than limit with bytes in all.
func (m *memory) remember(k *kept, tenant, key string, at time.Time, value []byte, limit, bytes int) {
	record := append(encodeTime(at), value...)
	m.put(key, record)
	k.add(tenant, age{at, key, len(key) + len(record)})
	for k.n > limit || k.bytes > bytes {
		m.forget(k.drop(k.most()))
	}
}

// expire forgets what is older than the window: by the times of what was read,
// not by the clock, so that a trainer that was away for days still joins what
// belongs together. Times that were ahead, as of a clock that has been put right since,
// make nothing older than it is.
func (m *memory) expire(window time.Duration, now time.Time) {
	horizon := now
	if t := m.reached[events.Searches]; t.Before(horizon) {
		horizon = t
	}
	if t := m.reached[events.FeedbackTopic]; t.Before(horizon) {
		horizon = t
	}
	horizon = horizon.Add(-window)
	for _, k := range []*kept{&m.searches, &m.seen} {
		for tenant, of := range k.byTenant {
			for of.Len() > 0 && of.list[0].at.Before(horizon) {
				m.forget(k.drop(tenant))
			}
		}
	}
	m.expireWaiting(horizon)
}

// forget deletes a search or a seen id.
func (m *memory) forget(key string) {
	m.put(key, nil)
	if search, ok := strings.CutPrefix(key, keySearch); ok {
		delete(m.due, search)
		m.put(keyDue+search, nil)
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
