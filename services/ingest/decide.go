package ingest

import (
	"cmp"
	"context"
	"fmt"
	"unique"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// State is what became of one item.
type State string

// The states of an item. Only accepted items are new on the bus.
const (
	Accepted   State = "accepted"   // durable on the bus
	Unchanged  State = "unchanged"  // the same is known
	Stale      State = "stale"      // something newer is known
	Superseded State = "superseded" // a later item of the same batch replaced it
	Rejected   State = "rejected"   // cannot be accepted as it is
)

// The reasons that acceptance itself gives. Those of unreadable documents are
// in package formats.
const (
	ReasonDuplicate = "duplicate"         // the same version, or the same event, again
	ReasonStale     = "stale_ignored"     // a lower source version, or an older event
	ReasonConflict  = "version_reused"    // the same source version with different content
	ReasonInvalid   = "invalid"           // an invalid id, provider or time
	ReasonTooLarge  = "too_large"         // above the limit of one document
	ReasonTenant    = "tenant_mismatch"   // the document names another tenant than the credential
	ReasonEmpty     = "empty_document"    // nothing to index
	ReasonOwned     = "other_provider"    // the tool belongs to another provider, and the call does not take tools over
	ReasonLimit     = "over_limit"        // the tenant has as many tools and providers as it may have
	ReasonNotFound  = "not_found"         // a delete, or a release, of what is not there
	ReasonChanged   = "changed_since"     // the document to release is not the newest one
	ReasonWithheld  = "deletion_withheld" // not deleted, because the batch was not read whole
)

// change is an item on its way through acceptance.
type change struct {
	events.Change // without the document; Revision, Source, First and Accepted are set when it is decided

	name    string   // of the tool at its source
	raw     []byte   // the document, valid JSON
	said    []string // the sentences of a tool's document that are counted
	key     string
	request *request
	ctx     context.Context // of the caller: for its trace, not for its end
	opts    Options
	judged  bool           // the document is the known one, let out of quarantine or put into it
	marks   uint64         // revision of the known record, of which nothing but the boilerplate changes; 0: it is another change
	message stream.Message // once it is accepted

	outcome    *Outcome // where the answer goes
	superseded bool     // by a later change of its request
	refused    bool     // by the bus, for good
}

func (c *change) deletes() bool { return c.Op == events.OpDelete }

// record is what the table is to hold once the change is durable.
func (c *change) record() record { return recordOf(&c.Change) }

// adopt gives a tool that names no provider the provider that it has, and an entity the hold,
// the release and, where it was sent, the source that it has. A hold outlives a delete.
func (c *change) adopt(old record) {
	if !c.judged {
		c.Held = old.held
	}
	if !c.deletes() && !c.judged {
		c.Released = old.releasedHash()
		c.From = cmp.Or(c.From, old.source())
	}
	if c.owns(old) && c.Provider == "" && !c.opts.TakeOver {
		c.Provider = old.provider.Value()
	}
}

// call gives a new document of a tool the name by which a language model calls it. What is
// written once more has it already.
func (c *change) call() {
	if c.Kind == schema.KindTool && !c.deletes() && c.CallableName == "" {
		c.CallableName = schema.CallableName(c.ID, c.Provider, c.name)
	}
}

// moves reports whether c takes a tool from a provider.
func (c *change) moves(old record) bool { return c.owns(old) && c.Provider != old.provider.Value() }

// owns reports whether c is a new document of a tool that has a provider.
func (c *change) owns(old record) bool {
	return c.Kind == schema.KindTool && !c.deletes() && !old.deleted && old.provider != (unique.Handle[string]{}) && old.provider.Value() != ""
}

// decide says what becomes of c, given what is known. The version that the source
// assigned decides first, then the time of the event, then whether anything differs.
// Where an earlier commit ended without an answer nothing counts as unchanged.
func decide(old record, there, uncertain bool, c *change) (State, string) {
	if c.judged {
		return decideJudged(old, there, uncertain, c)
	}
	if c.marks != 0 {
		if there && !uncertain && old.Revision == c.marks {
			return Accepted, ""
		}
		return Unchanged, ""
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
	case c.moves(old) && !c.opts.TakeOver:
		return Rejected, ReasonOwned
	case c.moves(old), versioned && c.Source > old.Source:
		return Accepted, ""
	case versioned:
		return decideSameVersion(old, next)
	case c.Source != 0 || uncertain:
		return Accepted, ""
	case c.deletes() && old.deleted:
		return Unchanged, ReasonNotFound
	case !c.deletes() && !old.deleted && next.fingerprint == old.fingerprint:
		return Unchanged, ""
	}
	return Accepted, ""
}

// decideSameVersion judges a change with the source version that is known. A
// delete wins over the content of its version: sources often delete under the
// version that they wrote last.
func decideSameVersion(old, next record) (State, string) {
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

// version is what an accepted change gets. A change without a source version keeps
// the source version that is known, or may be on the bus: so it comes after all
// that the source said before it, and late arrivals of that stay stale.
func version(revision uint64, old, uncertain schema.Version, c *change) schema.Version {
	source := c.Source
	if source == 0 {
		source = max(old.Source, uncertain.Source)
	}
	return schema.Version{Revision: revision, Source: source}
}

// since returns the revision under which the entity of an accepted change came: what is
// known already keeps its age through every update, and what a delete ended or another
// provider takes over is new.
func (c *change) since(old record, there bool) uint64 {
	if !there || old.deleted || c.moves(old) {
		return c.Revision
	}
	return old.first
}

// decided writes a decision into the outcome.
func (c *change) decided(state State, reason string, old record) {
	o := c.outcome
	o.State, o.Reason, o.Revision = state, reason, old.Revision
	if o.Callable = ""; state == Accepted || state == Unchanged {
		o.Callable = c.CallableName
	}
	switch {
	case reason == ReasonConflict:
		o.Detail = "version reused with different content"
	case reason == ReasonChanged:
		o.reject(changedSince())
	case reason == ReasonOwned:
		o.Detail = fmt.Sprintf("the tool belongs to provider %s; take_over (import --take-over) gives it to %s",
			schema.Quote(old.provider.Value()), schema.Quote(c.Provider))
	case state == Accepted && c.moves(old):
		o.TakenFrom = old.provider.Value()
	}
}
