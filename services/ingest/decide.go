package ingest

import (
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// State is what became of one item.
type State string

// The states of an item. Only accepted ones are new on the bus.
const (
	Accepted   State = "accepted"   // durable on the bus
	Unchanged  State = "unchanged"  // what is known says the same
	Stale      State = "stale"      // something newer is known
	Superseded State = "superseded" // a later item of the same batch replaced it
	Rejected   State = "rejected"   // never acceptable as it is
)

// The reasons that acceptance itself gives. Those of unreadable documents are
// in package formats.
const (
	ReasonDuplicate = "duplicate"         // the same version, or the same event, again
	ReasonStale     = "stale_ignored"     // a lower source version, or an older event
	ReasonConflict  = "version_reused"    // the same source version with different content
	ReasonInvalid   = "invalid"           // an id, an agent or a version that can not be
	ReasonTooLarge  = "too_large"         // above the limit of one document
	ReasonTenant    = "tenant_mismatch"   // the document names another tenant than the credential
	ReasonEmpty     = "empty_document"    // nothing to index
	ReasonWithheld  = "deletion_withheld" // not deleted, because the batch was not read whole
)

const conflictDetail = "version reused with different content"

// change is an item on its way through acceptance.
type change struct {
	record events.Change // without the document; Revision, Source and Accepted are set when it is decided
	raw    []byte        // the document, valid JSON
	key    string
	print  fingerprint
	event  mark
	upTo   uint64 // of a delete: only what has at most this revision; 0 for whatever is there

	outcome *Outcome // where the answer goes
}

func (c *change) deletes() bool { return c.record.Op == events.OpDelete }

// known is what the table is to hold once the change is durable.
func (c *change) known() known {
	return known{Version: c.record.Version, fingerprint: c.print, agent: c.record.Agent, deleted: c.deletes(), event: c.event}
}

// decide says what becomes of c, given what is known. The version that the
// source assigned decides first, then the time of the event, then whether
// anything differs. Where the outcome of an earlier attempt is in doubt
// nothing counts as unchanged.
func decide(old known, there, doubtful bool, c *change) (State, string) {
	source := c.record.Source
	switch {
	case !there:
		return Accepted, ""
	case c.event.same(old.event):
		return Unchanged, ReasonDuplicate
	case c.upTo != 0 && (old.deleted || old.Revision > c.upTo):
		return Unchanged, ""
	case source != 0 && old.Source != 0 && source != old.Source:
		if source > old.Source {
			return Accepted, ""
		}
		return Stale, ReasonStale
	case source != 0 && old.Source != 0:
		return decideSameVersion(old, c)
	case c.event.before(old.event):
		return Stale, ReasonStale
	case source != 0 || doubtful:
		return Accepted, ""
	case c.deletes() && old.deleted, !c.deletes() && !old.deleted && c.print == old.fingerprint:
		return Unchanged, ""
	}
	return Accepted, ""
}

// decideSameVersion judges a change with the source version that is known. A
// delete wins over the content of its version: sources often delete under the
// version that they wrote last.
func decideSameVersion(old known, c *change) (State, string) {
	switch {
	case c.deletes() && !old.deleted:
		return Accepted, ""
	case c.deletes():
		return Unchanged, ReasonDuplicate
	case old.deleted:
		return Stale, ReasonStale
	case c.print == old.fingerprint:
		return Unchanged, ReasonDuplicate
	}
	return Rejected, ReasonConflict
}

// version is what an accepted change gets. One without a source version keeps
// the source version that is known, or may be on the bus: so it comes after all
// that the source said before it, and late arrivals of that stay stale.
func version(revision uint64, old, doubt schema.Version, c *change) schema.Version {
	source := c.record.Source
	if source == 0 {
		source = max(old.Source, doubt.Source)
	}
	return schema.Version{Revision: revision, Source: source}
}
