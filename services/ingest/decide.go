package ingest

import (
	"cmp"
	"fmt"
	"unique"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// group holds the decisions on changes that are committed together.
type group struct {
	accepted []*change
	latest   map[string]*change // the newest accepted change of each key
	repeated []*change          // of events and batches, without a new document
	refused  map[string]*change // the change of each key that the bus has refused for good
	grown    map[string]tally   // additions of the accepted changes to the tallies, by tenant
}

// decide decides on changes, each as if the accepted ones before it were on the bus already. It
// writes nothing but the outcomes.
func (c *committer) decide(changes []*change) *group {
	g := &group{latest: map[string]*change{}, grown: map[string]tally{}}
	for _, ch := range changes {
		ch.begin()
		c.decideChange(g, ch)
	}
	return g
}

// sent is a change as it came, before the first decision on it.
type sent struct {
	change  events.Change
	outcome Outcome
}

// begin takes back an earlier decision on c.
func (c *change) begin() {
	if c.sent == nil {
		c.sent = &sent{c.Change, *c.outcome}
		return
	}
	c.Change, *c.outcome = c.sent.change, c.sent.outcome
	c.superseded, c.replaces, c.losers = false, nil, nil
}

func (c *committer) decideChange(g *group, ch *change) {
	old, there, uncertain := c.replica.table.get(ch.key)
	before := g.latest[ch.key]
	ch.after = before
	if before != nil {
		old, there = before.record(), true
	}
	ch.inherit(old)
	if ch.Kind == schema.KindTool && !ch.deletes() && ch.CallableName == "" { // a rewritten record has it already
		ch.CallableName = schema.CallableName(ch.ID, ch.Provider, ch.name)
	}
	state, reason := stateOf(old, there, before == nil && !uncertain.IsZero(), ch)
	ch.answer(state, reason, old)
	if state == Unchanged && (ch.Event != nil || ch.opts.start != 0 && !ch.deletes()) {
		g.repeated = append(g.repeated, ch)
	}
	if state != Accepted {
		if before != nil {
			before.losers = append(before.losers, ch)
		}
		return
	}
	grows := difference(old, there, ch.record())
	if detail := c.overLimit(g, ch.Tenant, grows); detail != "" {
		ch.outcome.reject(ReasonLimit, "", detail)
		return
	}
	g.grown[ch.Tenant] = g.grown[ch.Tenant].plus(grows)
	if before != nil && before.write == ch.write {
		ch.supersede(before)
	}
	// A change without a source version keeps the source version that is known, or may be on
	// the bus: so it comes after everything that the source said before it, and late arrivals
	// stay stale.
	source := ch.Source
	if source == 0 {
		source = max(old.Source, uncertain.Source)
	}
	ch.Version = schema.Version{Revision: c.replica.clock.Next(), Source: source}
	// An entity keeps its age through updates. It is new after a delete, and if another
	// provider takes it over.
	if ch.First = old.first; !there || old.deleted || ch.changesOwner(old) {
		ch.First = ch.Revision
	}
	ch.Accepted = c.now().UTC()
	ch.outcome.Revision = ch.Revision
	for _, loser := range ch.losers {
		if loser.outcome.Revision != 0 {
			loser.outcome.Revision = ch.Revision
		}
	}
	g.accepted = append(g.accepted, ch)
	g.latest[ch.key] = ch
}

// supersede puts c in the place of an earlier change of its write, which is not published. What
// was the same as that is superseded, too.
func (c *change) supersede(before *change) {
	before.superseded = true
	before.answer(Superseded, "", record{})
	c.replaces = cmp.Or(before.replaces, before)
	for _, loser := range before.losers {
		if loser.outcome.State == Unchanged {
			loser.answer(Superseded, "", record{})
		}
	}
	c.losers, before.losers = before.losers, nil
}

// inherit gives a tool without a provider the provider of the old record, and an entity its
// hold and its release. A hold outlives a delete. A tool that was sent has the source of the old
// record only if it has its document, too: the source's credential is for the document that
// the source listed.
func (c *change) inherit(old record) {
	if c.hasOwner(old) && c.Provider == "" && !c.opts.TakeOver {
		c.Provider = old.provider.Value()
	}
	if c.quarantine {
		return
	}
	c.Held = old.held
	if c.deletes() {
		return
	}
	c.Released = valueOf(old.released)
	from := valueOf(old.from)
	if c.From == "" && (c.Kind != schema.KindTool || fingerprintOf(c.Hash, c.Provider, c.Format, from) == old.fingerprint) {
		c.From, c.Endpoint = from.source, from.endpoint
	}
}

// leavesSource reports whether c, which was sent, replaces a tool that a source has listed.
func (c *change) leavesSource(old record) bool {
	return c.Kind == schema.KindTool && !c.deletes() && !old.deleted && c.From == "" && valueOf(old.from).source != ""
}

// changesOwner reports whether c takes a tool from a provider.
func (c *change) changesOwner(old record) bool {
	return c.hasOwner(old) && c.Provider != old.provider.Value()
}

// hasOwner reports whether c is a new document of a tool that has a provider.
func (c *change) hasOwner(old record) bool {
	return c.Kind == schema.KindTool && !c.deletes() && !old.deleted && old.provider != (unique.Handle[string]{}) && old.provider.Value() != ""
}

// stateOf decides on c, given the old record. The version that the source assigned decides
// first, then the time of the event, then whether the content differs. If an earlier commit
// ended without an answer (uncertain), nothing counts as unchanged.
func stateOf(old record, there, uncertain bool, c *change) (State, string) {
	if c.quarantine {
		return quarantineState(old, there, uncertain, c)
	}
	next := c.record()
	versioned := c.Source != 0 && old.Source != 0
	switch {
	case !there && c.deletes() && !uncertain:
		return Accepted, ReasonNotFound
	case !there:
		return Accepted, ""
	case c.opts.UpTo != 0 && (old.deleted || old.Revision > c.opts.UpTo):
		return Unchanged, ""
	case c.opts.Amends != 0 && old.Revision > c.opts.Amends && (old.deleted || next.fingerprint != old.fingerprint):
		return Stale, ReasonStale
	case versioned && c.Source < old.Source, !versioned && next.event.before(old.event):
		return Stale, ReasonStale
	case c.clashes(old, next):
		return Rejected, ReasonGiven
	case c.changesOwner(old) && !c.opts.TakeOver, c.leavesSource(old) && !c.opts.TakeOver && c.opts.Amends == 0:
		return Rejected, ReasonOwned
	case c.changesOwner(old), versioned && c.Source > old.Source:
		return Accepted, ""
	case versioned:
		return sameVersionState(old, next)
	case c.Source != 0 || uncertain:
		return Accepted, ""
	case c.deletes() && old.deleted:
		return Unchanged, ReasonNotFound
	case !c.deletes() && !old.deleted && next.fingerprint == old.fingerprint:
		return Unchanged, ""
	}
	return Accepted, ""
}

// clashes reports whether an earlier batch of the same import gave the entity other content. A
// source version says which of them is newer, and a delete is intended.
func (c *change) clashes(old, next record) bool {
	given := old.given()
	return c.opts.ImportStart != 0 && c.opts.ImportStart < given && given < c.opts.start && c.Source == 0 &&
		!c.deletes() && !old.deleted && next.fingerprint != old.fingerprint
}

// quarantineState decides on a release or a hold. If an earlier commit ended without an
// answer, the document may be another one.
func quarantineState(old record, there, uncertain bool, c *change) (State, string) {
	next := c.record()
	switch {
	case !there || old.deleted:
		return Rejected, ReasonNotFound
	case uncertain || next.fingerprint != old.fingerprint:
		return Rejected, ReasonChanged
	case next.released == old.released && next.held == old.held:
		return Unchanged, ""
	}
	return Accepted, ""
}

// sameVersionState decides on a change with the known source version. A delete wins over the
// content of its version: sources often delete under the version that they wrote last.
func sameVersionState(old, next record) (State, string) {
	switch {
	case next.deleted && !old.deleted:
		return Accepted, ""
	case old.deleted && !next.deleted:
		return Stale, ReasonStale
	case next.fingerprint == old.fingerprint:
		return Unchanged, ReasonDuplicate
	}
	return Rejected, ReasonConflict
}

// answer writes a decision into the outcome.
func (c *change) answer(state State, reason string, old record) {
	o := c.outcome
	o.State, o.Reason, o.Revision = state, reason, old.Revision
	if o.Callable = ""; state == Accepted || state == Unchanged {
		o.Callable = c.CallableName
	}
	switch {
	case reason == ReasonConflict:
		o.Detail = "version reused with different content"
	case reason == ReasonGiven:
		o.Detail = "the id was sent with other content after import_start"
	case reason == ReasonChanged:
		o.reject(changedSince())
	case reason == ReasonOwned && c.leavesSource(old) && !c.changesOwner(old):
		o.Detail = fmt.Sprintf("the tool is read from the source %s: change it there; take_over (import --take-over) replaces it by a tool without a source, which is not called there", valueOf(old.from).source)
	case reason == ReasonOwned:
		o.Detail = fmt.Sprintf("the tool belongs to provider %s; take_over (import --take-over) gives it to %s",
			schema.Quote(old.provider.Value()), schema.Quote(c.Provider))
	case state == Accepted && c.changesOwner(old):
		o.TakenFrom = old.provider.Value()
	}
}

// knownPart is how many records a tenant may have, as a multiple of its limit: a deleted id
// is known for a month.
const knownPart = 10

// overLimit says why a change that adds this to its tenant's tally is over the limit; it
// returns "" otherwise. Updates and deletes are accepted whatever the limit is.
func (c *committer) overLimit(g *group, tenant string, grows tally) string {
	limit := c.quota.Of(tenant)
	if limit == 0 {
		return ""
	}
	has := c.replica.table.tally(tenant).plus(g.grown[tenant])
	switch {
	case grows.there > 0 && has.there >= limit:
		return fmt.Sprintf("the tenant has %d tools and providers, and may have %d (limits.tools): delete some, or ask the operator for a higher limit", has.there, limit)
	case grows.known > 0 && has.known >= knownPart*limit:
		return fmt.Sprintf("the tenant has used %d ids in a month, deleted ones counted, and may use %d times as many as it may have tools and providers (limits.tools): use ids again, or ask the operator for a higher limit", has.known, knownPart)
	}
	return ""
}
