package ingest

import "github.com/toolstream/toolstream/pkg/schema"

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

// The reasons that acceptance itself gives. Package formats has the reasons for
// unreadable documents.
const (
	ReasonDuplicate = "duplicate"       // the same version, or the same event, again
	ReasonStale     = "stale_ignored"   // a lower source version, or an older event
	ReasonConflict  = "version_reused"  // the same source version with different content
	ReasonInvalid   = "invalid"         // an invalid id, provider or time
	ReasonTooLarge  = "too_large"       // above the limit of one document
	ReasonTenant    = "tenant_mismatch" // the document names another tenant than the credential
	ReasonEmpty     = "empty_document"  // nothing to index
	ReasonOwned     = "other_provider"  // the tool belongs to another provider or to a source, and the call does not take tools over
	ReasonGiven     = "given_before"    // an earlier batch of the import gave the id other content
	ReasonLimit     = "over_limit"      // the tenant has as many tools and providers as it may have
	ReasonNotFound  = "not_found"       // a delete or a release of a missing entity
	ReasonChanged   = "changed_since"   // the document to release is not the newest one
)

// Outcome says what became of one item.
type Outcome struct {
	Line      int         `json:"line,omitempty" doc:"Line or position of the item in the body, from 1."`
	Kind      schema.Kind `json:"kind,omitempty"` // absent for a tool
	ID        string      `json:"id,omitempty"`   // empty if no id could be read
	Provider  string      `json:"provider,omitempty"`
	Callable  string      `json:"callable_name,omitempty" doc:"Name of an existing tool for language models."`
	TakenFrom string      `json:"taken_from,omitempty" doc:"The provider that the tool belonged to before."`
	Revision  uint64      `json:"revision,omitempty" doc:"Revision of the change, or the known revision if nothing changed."`
	State     State       `json:"state" enum:"accepted,unchanged,stale,superseded,rejected" doc:"Outcome."`
	Deleted   bool        `json:"deleted,omitempty" doc:"The item was a delete."`
	Reason    string      `json:"reason,omitempty"` // a stable word
	Path      string      `json:"path,omitempty" doc:"JSON pointer to the mistake in the item."`
	Detail    string      `json:"detail,omitempty" doc:"The mistake in words."`
}

func (o *Outcome) reject(reason, path, detail string) {
	o.State, o.Reason, o.Path, o.Detail, o.Revision, o.Callable = Rejected, reason, path, detail, 0, ""
}

func shownKind(k schema.Kind) schema.Kind {
	if k == schema.KindTool {
		return ""
	}
	return k
}
