package flat

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// noSlot is the slot of a deleted entity.
const noSlot = ^uint32(0)

// name identifies an entity within its tenant.
type name struct {
	kind schema.Kind
	id   string
}

// entity is the in-memory state of an entity that was ever applied and is not forgotten yet. It is
// immutable, except for the place of its record.
type entity struct {
	ref         schema.Ref
	version     schema.Version
	first       uint64 // revision of its first document
	accepted    time.Time
	slot        uint32 // noSlot: deleted
	called      uint32 // of its callable name, see nameHash; 0: it has none
	body, head  int    // where in its record the codes begin, and the exact vectors
	provider    unique.Handle[string]
	origin      unique.Handle[index.Origin]
	label       string
	tags        []unique.Handle[string]
	required    []bool // one per parameter
	dimensions  int
	counts      counts
	flags       []unique.Handle[string]
	sketch      index.Sketch
	quarantined bool // searches leave it out
	pending     bool // a language model will be asked about it
	uncovered   bool // the fields had no room for much of the source
	place       atomic.Pointer[segmentlog.Place]
}

// heldBack returns the first of some flags that an entity has.
func (e *entity) heldBack(flags []string) string {
	for _, flag := range e.flags {
		if slices.Contains(flags, flag.Value()) {
			return flag.Value()
		}
	}
	return ""
}

// newEntity returns the entity of a record, which has no slot yet.
func newEntity(m *meta, body int, p segmentlog.Place) *entity {
	e := &entity{
		ref: m.Ref, version: m.Version, first: cmp.Or(m.First, m.Version.Revision), sketch: m.Sketch, accepted: m.Accepted, provider: unique.Make(m.Provider), origin: unique.Make(m.origin()), label: m.Label, called: nameHash(m.Callable), tags: handlesOf(m.Tags), required: m.Required, dimensions: m.Dimensions,
		counts: m.Counts, flags: handlesOf(m.Flags), quarantined: m.Quarantined, pending: m.Pending, uncovered: m.Uncovered, body: body,
		head: body + m.Counts.total()*(vector.Stride(m.Dimensions)+4) + m.Words,
	}
	e.ref.Tenant = unique.Make(m.Tenant).Value() // one text for all
	if m.Deleted {
		e.slot = noSlot
	}
	e.place.Store(&p)
	return e
}

func handlesOf(values []string) []unique.Handle[string] {
	var out []unique.Handle[string]
	for _, v := range values {
		out = append(out, unique.Make(v))
	}
	return out
}

// inScope reports whether a scope allows the entity.
func (e *entity) inScope(s *policy.Scope) bool {
	if s == nil {
		return true
	}
	t := e.tool()
	return s.Allows(&t)
}

// tool returns the facts of the entity that grants match.
func (e *entity) tool() policy.Tool {
	tags := make([]string, len(e.tags))
	for i, tag := range e.tags {
		tags[i] = tag.Value()
	}
	return policy.ToolOf(e.ref, e.provider.Value(), e.origin.Value().From, tags)
}

func (e *entity) deleted() bool { return e.slot == noSlot }

// read returns the whole record, verified.
func (e *entity) read() (*record, error) {
	b, err := e.place.Load().Read()
	if err != nil {
		return nil, err
	}
	return decode(b)
}

// tenants holds the index of each tenant.
type tenants struct{ byName sync.Map }

// create returns the index of a tenant, a new one if need be. It is for the writer.
func (ts *tenants) create(tenantName string) *tenant {
	t := ts.find(tenantName)
	if t == nil {
		t = &tenant{lexical: lexical.New(), entities: map[name]*entity{}, scopes: newScopes()}
		t.show(nil)
		ts.byName.Store(tenantName, t)
	}
	return t
}

// find returns the index of a tenant, or nil.
func (ts *tenants) find(name string) *tenant {
	t, ok := ts.byName.Load(name)
	if !ok {
		return nil
	}
	return t.(*tenant)
}

// all yields the tenants by name.
func (ts *tenants) all() iter.Seq2[string, *tenant] {
	return func(yield func(string, *tenant) bool) {
		ts.byName.Range(func(name, t any) bool { return yield(name.(string), t.(*tenant)) })
	}
}

// entity returns an entity, a deleted one too, or nil.
func (ts *tenants) entity(ref schema.Ref) *entity {
	t := ts.find(ref.Tenant)
	if t == nil {
		return nil
	}
	return t.entity(ref.Kind, ref.ID)
}

// tenant is one tenant's index. Readers use now, and entities under mu; the rest
// belongs to the writer.
type tenant struct {
	now      atomic.Pointer[snapshot]
	mu       sync.RWMutex
	entities map[name]*entity

	scopes  scopes   // what searches of them may choose
	free    []uint32 // slots to be used again
	slots   uint32   // how many were ever given out
	lexical *lexical.Index
	changed bool // since the maintenance looked
}

// snapshot is the state that a search reads. It is immutable, except for its cache of suppliers.
type snapshot struct {
	blocks    []*block
	lexical   *lexical.Snapshot
	suppliers sync.Map // slot to []index.Supplier, of the tools that were asked for
}

// entity returns an entity, a deleted one too, or nil.
func (t *tenant) entity(kind schema.Kind, id string) *entity {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entities[name{kind, id}]
}

func (t *tenant) forget(e *entity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entities, name{e.ref.Kind, e.ref.ID})
}

// known returns all entities, deleted ones too.
func (t *tenant) known() []*entity {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]*entity, 0, len(t.entities))
	for _, e := range t.entities {
		all = append(all, e)
	}
	return all
}

// allocateSlot gives an entity a slot, the slot of its old version if there is one, and returns
// the change of the slot. The slot of a deleted entity becomes free.
func (t *tenant) allocateSlot(e, old *entity, r *record) change {
	had := old != nil && !old.deleted()
	if e.deleted() {
		c := change{slot: noSlot, entity: e}
		if had {
			c.slot = old.slot
			t.free = append(t.free, old.slot)
		}
		return c
	}
	switch n := len(t.free); {
	case had:
		e.slot = old.slot
	case n > 0:
		e.slot = t.free[n-1]
		t.free = t.free[:n-1]
	default:
		e.slot = t.slots
		t.slots++
	}
	return change{slot: e.slot, entity: e, quantised: r.rows, words: r.words}
}

// publish makes changes visible to readers, and then announces them: a caller who learns that a
// change is indexed may search for it. It copies only the list of blocks and the blocks that
// change.
func (t *tenant) publish(changes []change, dimensions int) error {
	blocks := slices.Clone(t.now.Load().blocks)
	for int(t.slots) > len(blocks)*blockSize {
		blocks = append(blocks, &block{})
	}
	words := map[uint32]lexical.Document{}
	byBlock := map[uint32][]change{}
	for _, c := range changes {
		if c.slot != noSlot {
			words[c.slot] = c.words
			byBlock[c.slot/blockSize] = append(byBlock[c.slot/blockSize], c)
		}
	}
	for n, some := range byBlock {
		blocks[n] = blocks[n].with(some, vector.Stride(dimensions))
	}
	err := t.lexical.Apply(words)
	t.changed = true
	t.show(blocks)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range changes {
		t.entities[name{c.entity.ref.Kind, c.entity.ref.ID}] = c.entity
	}
	return err
}

// show makes blocks visible to readers, with the words as they are.
func (t *tenant) show(blocks []*block) {
	t.now.Store(&snapshot{blocks: blocks, lexical: t.lexical.Snapshot()})
}

// rebuild makes the lexical scores exact.
func (t *tenant) rebuild() {
	if !t.lexical.Exact() {
		t.lexical.Rebuild()
		t.show(t.now.Load().blocks)
	}
}

// at returns the entity in a slot, or nil.
func (s *snapshot) at(slot uint32) *entity {
	n := int(slot / blockSize)
	if n >= len(s.blocks) {
		return nil
	}
	return s.blocks[n].entities[slot%blockSize]
}

// isTool reports whether a slot holds a tool.
func (s *snapshot) isTool(slot uint32) bool {
	n := int(slot / blockSize)
	return n < len(s.blocks) && (s.blocks[n].live&^s.blocks[n].providers)>>(slot%blockSize)&1 != 0
}

// slotOf returns the slot of an entity in a snapshot. The tenant may be ahead of the snapshot, so
// it checks the slot.
func (t *tenant) slotOf(kind schema.Kind, id string, s *snapshot) (uint32, bool) {
	e := t.entity(kind, id)
	if e == nil || e.deleted() {
		return 0, false
	}
	found := s.at(e.slot)
	return e.slot, found != nil && found.ref.Kind == kind && found.ref.ID == id
}

// lexicalTexts returns the texts of a document, field by field, with its owner among
// them: a request for a card on Trello means a tool that may not mention Trello itself.
func lexicalTexts(doc *schema.Document, owner string) *[lexical.FieldCount]string {
	f := index.Texts(doc)
	return &[lexical.FieldCount]string{
		lexical.Flat:        withOwner(f.Flat, owner),
		lexical.Name:        f.Name,
		lexical.Description: f.Description,
		lexical.Parameters:  strings.Join(f.Parameters, "\n"),
		lexical.Response:    f.Response,
		lexical.Examples:    strings.Join(f.Examples, "\n"),
	}
}

// extra returns the names of a record, and the texts that the bounds of Texts cut.
func extra(r *record) lexical.Extra {
	return lexical.Extra{Names: []string{r.doc.Name, r.doc.Title, r.ID, r.Callable}, Rest: index.Rest(r.doc, r.raw)}
}

// withOwner adds to a text the words of its owner's id that the text lacks.
func withOwner(flat, owner string) string {
	said := map[string]bool{}
	for _, word := range text.Tokens(flat) {
		said[text.Stem(word)] = true
	}
	for _, word := range text.Tokens(text.Split(owner)) {
		if stem := text.Stem(word); !said[stem] {
			said[stem] = true
			flat += "\n" + word
		}
	}
	return flat
}
