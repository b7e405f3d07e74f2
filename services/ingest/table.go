package ingest

import (
	"crypto/sha256"
	"hash/maphash"
	"maps"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fingerprint stands for what an entity says and whose it is: two changes with
// the same one differ in their versions only. Half a SHA-256 is enough to tell
// the contents of one entity apart.
type fingerprint [16]byte

func fingerprintOf(hash, agent, format string) fingerprint {
	sum := sha256.Sum256([]byte(hash + "\x00" + agent + "\x00" + format))
	return fingerprint(sum[:16])
}

// known is what the table holds of one entity.
type known struct {
	schema.Version
	fingerprint fingerprint
	agent       string
	deleted     bool
	event       mark
}

// mark is the newest event that reached an entity; the zero mark is none.
type mark struct {
	source uint64 // hash of the event's source
	id     uint64 // hash of source and id
	time   int64  // µs; 0 where the event had no time
}

// row is known as it is stored: the owner as a number, the event apart,
// because most entities have none, and a place in the owner's list.
type row struct {
	key         string
	fingerprint fingerprint
	version     schema.Version
	owner       uint32
	prev, next  uint32 // rows of the same owner; noRow ends the list
	deleted     bool
	at          place // of the version on the bus
}

// place is where a record was read; the zero place is nowhere yet.
type place struct {
	offset    uint64
	partition int32
}

// before reports whether a record at p is followed by one at o.
func (p place) before(o place) bool {
	return p.offset != 0 && p.partition == o.partition && p.offset < o.offset
}

const noRow = ^uint32(0)

// Table knows, of every entity on tools.raw, the newest version and what it
// said. It holds 170 to 220 bytes an entity. Its methods may be called
// concurrently.
type Table struct {
	seed maphash.Seed

	mu     sync.RWMutex // guards all below
	slots  map[string]uint32
	rows   []row
	owners map[string]uint32 // by tenant and agent, to a position in heads
	names  []string          // of the agents, by owner
	heads  []uint32          // first row of each owner
	free   []uint32          // slots of dropped rows
	marks  map[string]mark
	doubts map[string]schema.Version // what may or may not be on the bus, the newest of each key
	buried map[string]place          // where the newest version of a key lies before an older one
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{
		seed:   maphash.MakeSeed(),
		slots:  map[string]uint32{},
		owners: map[string]uint32{},
		marks:  map[string]mark{},
		doubts: map[string]schema.Version{},
		buried: map[string]place{},
	}
}

// Len returns how many entities are known, deleted ones included.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.slots)
}

// get returns what is known of key, and the newest version that an attempt
// without an answer may have given it since, zero if there was none.
func (t *Table) get(key string) (k known, there bool, doubt schema.Version) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	doubt = t.doubts[key]
	slot, there := t.slots[key]
	if !there {
		return known{}, false, doubt
	}
	r := &t.rows[slot]
	return known{r.version, r.fingerprint, t.names[r.owner], r.deleted, t.marks[key]}, true, doubt
}

// put remembers k, if it is newer than what is known, and where it was read, which
// is nowhere if it was not read but published. The key is that of ref.
func (t *Table) put(ref schema.Ref, key string, k known, at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.doubts[key].Newer(k.Version) {
		delete(t.doubts, key)
	}
	slot, there := t.slots[key]
	if there && !k.Version.Newer(t.rows[slot].version) {
		t.read(key, &t.rows[slot], k.Version, at)
		return
	}
	delete(t.buried, key)
	owner := t.owner(ref.Tenant, k.agent)
	if !there {
		slot = t.add(key, owner)
	} else if t.rows[slot].owner != owner {
		t.unlink(slot)
		t.rows[slot].owner = owner
		t.link(slot)
	}
	r := &t.rows[slot]
	r.version, r.fingerprint, r.deleted, r.at = k.Version, k.fingerprint, k.deleted, at
	if k.event != (mark{}) {
		t.marks[key] = k.event
	}
}

// read takes note of where a record of a known version lies, or of an older one.
// The caller holds mu.
func (t *Table) read(key string, r *row, v schema.Version, at place) {
	switch {
	case at.offset == 0:
	case !r.version.Newer(v):
		r.at = at
		delete(t.buried, key)
	case r.at.before(at):
		t.buried[key] = r.at
	}
}

// seen takes note of where a record of a version lies that was known when it was
// read.
func (t *Table) seen(key string, v schema.Version, at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, there := t.slots[key]; there {
		t.read(key, &t.rows[slot], v, at)
	}
}

// covered returns where the newest records lie that have an older one of their key
// behind them, by key.
func (t *Table) covered() map[string]place {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.buried)
}

// lies reports whether key is covered still, and its newest record at a place.
func (t *Table) lies(key string, at place) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.buried[key] == at
}

// abandon lets key be accepted again, whatever it says, if its newest record lay at
// a place where it is no more, and reports whether it did.
func (t *Table) abandon(key string, at place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buried[key] != at {
		return false
	}
	delete(t.buried, key)
	r := &t.rows[t.slots[key]]
	t.doubts[key] = r.version
	r.version.Source, r.deleted = 0, false
	return true
}

// add gives key a row. The caller holds mu.
func (t *Table) add(key string, owner uint32) uint32 {
	slot := uint32(len(t.rows))
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.rows = append(t.rows, row{})
	}
	t.slots[key] = slot
	t.rows[slot] = row{key: key, owner: owner}
	t.link(slot)
	return slot
}

// drop forgets key: its grace time after a delete is over.
func (t *Table) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[key]
	if !ok {
		return
	}
	t.unlink(slot)
	t.rows[slot] = row{}
	t.free = append(t.free, slot)
	delete(t.slots, key)
	delete(t.marks, key)
	delete(t.doubts, key)
	delete(t.buried, key)
}

// touch remembers that an event brought nothing new. It is not on the bus, so
// it is known until the process ends.
func (t *Table) touch(key string, m mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.marks[key]; old.source != m.source || old.time <= m.time {
		t.marks[key] = m
	}
}

// doubt remembers that a version of key may or may not have reached the bus.
func (t *Table) doubt(key string, v schema.Version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.Newer(t.doubts[key]) {
		t.doubts[key] = v
	}
}

// owned returns the ids of agent's tools, deleted ones left out, with a
// revision of at most upTo, in no order.
func (t *Table) owned(tenant, agent string, upTo uint64) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	owner, ok := t.owners[ownerKey(tenant, agent)]
	if !ok {
		return nil
	}
	prefix := events.Key(schema.Ref{Tenant: tenant, Kind: schema.KindTool})
	agents := events.Key(schema.Ref{Tenant: tenant, Kind: schema.KindAgent})
	var ids []string
	for slot := t.heads[owner]; slot != noRow; slot = t.rows[slot].next {
		r := &t.rows[slot]
		if r.deleted || r.version.Revision > upTo || strings.HasPrefix(r.key, agents) {
			continue
		}
		ids = append(ids, r.key[len(prefix):])
	}
	return ids
}

func ownerKey(tenant, agent string) string { return tenant + "/" + agent }

// owner returns the number of an agent. The caller holds mu.
func (t *Table) owner(tenant, agent string) uint32 {
	key := ownerKey(tenant, agent)
	n, ok := t.owners[key]
	if !ok {
		n = uint32(len(t.heads))
		t.owners[key] = n
		t.names = append(t.names, agent)
		t.heads = append(t.heads, noRow)
	}
	return n
}

// link puts a row at the head of its owner's list. The caller holds mu.
func (t *Table) link(slot uint32) {
	r := &t.rows[slot]
	r.prev, r.next = noRow, t.heads[r.owner]
	if r.next != noRow {
		t.rows[r.next].prev = slot
	}
	t.heads[r.owner] = slot
}

// unlink takes a row out of its owner's list. The caller holds mu.
func (t *Table) unlink(slot uint32) {
	r := &t.rows[slot]
	if r.prev == noRow {
		t.heads[r.owner] = r.next
	} else {
		t.rows[r.prev].next = r.next
	}
	if r.next != noRow {
		t.rows[r.next].prev = r.prev
	}
}

// markOf returns the mark of an event; nil has the zero mark.
func (t *Table) markOf(e *events.Event) mark {
	if e == nil {
		return mark{}
	}
	m := mark{
		source: maphash.String(t.seed, e.Source),
		id:     maphash.String(t.seed, e.Source+"\x00"+e.ID),
	}
	if !e.Time.IsZero() {
		m.time = e.Time.UnixMicro()
	}
	return m
}

// before reports whether m comes from the same source as newest and is older.
func (m mark) before(newest mark) bool {
	return m.time != 0 && m.source == newest.source && m.time < newest.time
}

// same reports whether both marks are of one event.
func (m mark) same(o mark) bool { return m != (mark{}) && m.source == o.source && m.id == o.id }

// knownOf returns what the table keeps of a change.
func (t *Table) knownOf(c *events.Change) known {
	return known{
		Version:     c.Version,
		fingerprint: fingerprintOf(c.Hash, c.Agent, c.Format),
		agent:       c.Agent,
		deleted:     c.Op == events.OpDelete,
		event:       t.markOf(c.Event),
	}
}
