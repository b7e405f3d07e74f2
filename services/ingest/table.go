package ingest

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"sync"
	"unique"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fingerprint is a hash of the content and the provider of an entity: two changes with the
// same fingerprint differ in their versions only. Half a SHA-256 is
// enough to tell the contents of one entity apart.
type fingerprint [16]byte

func fingerprintOf(hash, provider, format string, from origin) fingerprint {
	sum := sha256.Sum256([]byte(hash + "\x00" + provider + "\x00" + format + "\x00" + from.source + "\x00" + from.endpoint))
	return fingerprint(sum[:16])
}

// origin is the source that a document was read from, and the hash of its address then; both are
// empty if it was sent.
type origin struct{ source, endpoint string }

// record is the entry of an entity in the table.
type record struct {
	schema.Version
	fingerprint fingerprint
	provider    unique.Handle[string]
	released    unique.Handle[string] // hash of the document that was let out of quarantine; zero: none was
	from        unique.Handle[origin] // zero: it was sent
	first       uint64                // revision under which the entity came
	sent        uint64                // revision of its return in a batch, unchanged; known until the process ends
	offset      uint64                // its offset on the bus; 0: not read yet
	partition   int
	event       *eventTime // of the newest event that reached the entity; nil: no event with a time did
	deleted     bool
	held        bool // an operator keeps it out of answers
}

func valueOf[T comparable](h unique.Handle[T]) (value T) {
	if h == (unique.Handle[T]{}) {
		return value
	}
	return h.Value()
}

// eventTime is when the source of an event says that it happened.
type eventTime struct {
	source unique.Handle[string]
	time   int64 // µs
}

// A table knows the newest version of every entity on tools.raw, deleted ones included,
// and its content. It holds about 230 bytes an entity. Its methods may be called
// concurrently.
type table struct {
	mu        sync.RWMutex // guards all below
	records   map[string]record
	tallies   map[string]tally          // by tenant
	erased    map[string]uint64         // by tenant: revisions up to this are forgotten
	uncertain map[string]schema.Version // the newest version of a key that a commit without an answer may have put on the bus
}

// tally counts the entities of a tenant, and their records, which include deleted entities for
// as long as they are known.
type tally struct{ there, known int }

func (t tally) plus(u tally) tally { return tally{t.there + u.there, t.known + u.known} }

// difference returns the change of a tenant's tally by a record.
func difference(old record, known bool, r record) (d tally) {
	if !known {
		d.known = 1
	}
	if known && !old.deleted {
		d.there--
	}
	if !r.deleted {
		d.there++
	}
	return d
}

// newTable returns an empty table.
func newTable() *table {
	return &table{records: map[string]record{}, tallies: map[string]tally{}, erased: map[string]uint64{}, uncertain: map[string]schema.Version{}}
}

// Len returns how many entities are known, deleted ones included.
func (t *table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.records)
}

// get returns the record of key, and a newer version that may be on the bus, or the zero
// version.
func (t *table) get(key string) (r record, there bool, uncertain schema.Version) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	r, there = t.records[key]
	return r, there, t.uncertain[key]
}

// put remembers r if it is newer than the known record.
func (t *table) put(key string, r record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isErased(key, r.Version) {
		return
	}
	if !t.uncertain[key].Newer(r.Version) {
		delete(t.uncertain, key)
	}
	old, there := t.records[key]
	if there && !r.Version.Newer(old.Version) {
		return
	}
	if r.event == nil {
		r.event = old.event
	}
	t.records[key] = r
	t.addTally(key, difference(old, there, r))
}

// addTally changes the tally of a key's tenant. It is called with mu held.
func (t *table) addTally(key string, d tally) {
	tenant := events.TenantOf(key)
	if sum := t.tallies[tenant].plus(d); sum != (tally{}) {
		t.tallies[tenant] = sum
	} else {
		delete(t.tallies, tenant)
	}
}

// tally returns how many entities and records a tenant has.
func (t *table) tally(tenant string) tally {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.tallies[tenant]
}

// setPosition sets the position of the newest record of key on the bus, if that record has
// this revision.
func (t *table) setPosition(key string, revision uint64, partition int, offset uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, there := t.records[key]; there && r.Revision == revision {
		r.partition, r.offset = partition, offset
		t.records[key] = r
	}
}

// drop forgets key: its grace time after a delete is over.
func (t *table) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(key)
	delete(t.uncertain, key)
}

// remove forgets the record of key. It is called with mu held.
func (t *table) remove(key string) {
	old, there := t.records[key]
	if !there {
		return
	}
	d := tally{known: -1}
	if !old.deleted {
		d.there = -1
	}
	t.addTally(key, d)
	delete(t.records, key)
}

// erase forgets the entities of a tenant up to a revision, and from then on knows none up
// to that one.
func (t *table) erase(tenant string, through uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erased[tenant] = through
	for key, r := range t.records {
		if t.isErased(key, r.Version) {
			t.remove(key)
		}
	}
	for key, v := range t.uncertain {
		if t.isErased(key, v) {
			delete(t.uncertain, key)
		}
	}
}

// isErased reports whether a version of a key is of a tenant that was erased since.
func (t *table) isErased(key string, v schema.Version) bool {
	return len(t.erased) > 0 && v.Revision <= t.erased[events.TenantOf(key)]
}

// count returns how many entities there are, by tenant, deleted ones left out.
func (t *table) count() map[string]int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := map[string]int{}
	for tenant, sum := range t.tallies {
		if sum.there > 0 {
			out[tenant] = sum.there
		}
	}
	return out
}

// putEvent remembers that an event brought nothing new. The event is not on the bus,
// so it is known until the process ends.
func (t *table) putEvent(key string, e *eventTime) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, there := t.records[key]
	if there && !e.before(r.event) {
		r.event = e
		t.records[key] = r
	}
}

// putSent remembers that a batch had the known content of key, unless an earlier batch of the
// import that began at importStart had it.
func (t *table) putSent(key string, importStart, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, there := t.records[key]; there && (importStart == 0 || r.given() <= importStart) {
		r.sent = revision
		t.records[key] = r
	}
}

// given returns the revision of the last time that the content of r was sent, as far as it is known.
func (r record) given() uint64 { return max(r.Revision, r.sent) }

// putUncertain remembers that a version of key may or may not be on the bus.
func (t *table) putUncertain(key string, v schema.Version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.Newer(t.uncertain[key]) && !t.isErased(key, v) {
		t.uncertain[key] = v
	}
}

// owned returns the ids of the tools that belong to wanted providers, deleted ones left
// out, with a revision of at most upTo, in no order. It reads the whole table.
func (t *table) owned(tenant string, upTo uint64, wanted func(provider unique.Handle[string]) bool) []string {
	tools := events.Key(schema.Ref{Tenant: tenant, Kind: schema.KindTool})
	others := events.Key(schema.Ref{Tenant: tenant, Kind: schema.KindProvider})
	t.mu.RLock()
	defer t.mu.RUnlock()
	var ids []string
	for key, r := range t.records {
		if r.deleted || r.Revision > upTo || strings.HasPrefix(key, others) {
			continue
		}
		if id, found := strings.CutPrefix(key, tools); found && wanted(r.provider) {
			ids = append(ids, id)
		}
	}
	return ids
}

// eventTimeOf returns when an event happened, nil if it has no time.
func eventTimeOf(e *events.Event) *eventTime {
	if e == nil || e.Time.IsZero() {
		return nil
	}
	return &eventTime{source: unique.Make(e.Source), time: e.Time.UnixMicro()}
}

// before reports whether e comes from the same source as newest and is older.
func (e *eventTime) before(newest *eventTime) bool {
	return e != nil && newest != nil && e.source == newest.source && e.time < newest.time
}

// recordOf returns the table entry of a change.
func recordOf(c *events.Change) record {
	r := record{
		Version:     c.Version,
		fingerprint: fingerprintOf(c.Hash, c.Provider, c.Format, origin{c.From, c.Endpoint}),
		provider:    unique.Make(c.Provider),
		first:       cmp.Or(c.First, c.Revision),
		event:       eventTimeOf(c.Event),
		deleted:     c.Op == events.OpDelete,
		held:        c.Held,
	}
	if c.From != "" {
		r.from = unique.Make(origin{c.From, c.Endpoint})
	}
	if c.Released != "" {
		r.released = unique.Make(c.Released)
	}
	return r
}
