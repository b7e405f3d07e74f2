package catalogue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Revisions holds the accepted changes of entities.
type Revisions interface {
	// Of returns the changes of an entity that are kept, the oldest first.
	Of(ctx context.Context, ref schema.Ref) ([]events.Change, error)
}

type (
	revisionsInput struct {
		ID string `path:"id" maxLength:"1024" doc:"Id, percent-encoded."`
	}
	revisionsOutput struct{ Body revisionList }

	revisionInput struct {
		ID       string `path:"id" maxLength:"1024" doc:"Id, percent-encoded."`
		Revision uint64 `path:"revision" doc:"The revision."`
		Against  uint64 `query:"against" doc:"Revision to compare with, by default the one before."`
	}
	revisionOutput struct{ Body RevisionDetail }
)

type revisionList struct {
	Revisions []Revision `json:"revisions" doc:"Newest first."`
}

// Revision is one change of an entity.
type Revision struct {
	Revision      uint64    `json:"revision" doc:"Revision of the change: higher is newer."`
	Accepted      time.Time `json:"accepted" doc:"When that was."`
	Op            string    `json:"op" enum:"put,delete" doc:"The operation."`
	Source        string    `json:"source,omitempty" doc:"The source that it was read from; absent if it was sent by a client."`
	SourceVersion uint64    `json:"source_version,omitempty" doc:"The source's own version."`
	Format        string    `json:"format,omitempty" doc:"Format of the raw document."`
	Hash          string    `json:"hash,omitempty" doc:"Hash of the raw document's canonical JSON."`
	Changed       []string  `json:"changed" doc:"Fields that differ from the document before: name, title, description, parameters, response, examples or tags. Empty without an earlier document."`
	Current       bool      `json:"current" doc:"Searches see this change."`
}

// RevisionDetail is one change of an entity with its document.
type RevisionDetail struct {
	Revision    uint64                 `json:"revision" doc:"Revision of the change: higher is newer."`
	Accepted    time.Time              `json:"accepted" doc:"When that was."`
	Op          string                 `json:"op" enum:"put,delete" doc:"The operation."`
	Raw         json.RawMessage        `json:"raw,omitempty" doc:"The document as its source had it."`
	Document    *schema.Document       `json:"document,omitempty" doc:"Document by the present rules, without a language model."`
	Against     uint64                 `json:"against,omitempty" doc:"The revision of the comparison; absent without an earlier document."`
	Differences []revisions.Difference `json:"differences" doc:"Differences of the two documents."`
}

func revisionRoutes(api huma.API, c *Catalogue) {
	for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
		path := "/v1/" + string(kind) + "s/{id}/revisions"
		huma.Register(api, huma.Operation{
			OperationID: "list-" + string(kind) + "-revisions", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: path,
			Summary: "List the last changes of a " + string(kind), Tags: []string{"catalogue"}, Errors: []int{404},
			Description: fmt.Sprintf("The last %d changes that the caller may find, as far as they are kept. Only operators see the changes of a deleted %s.", revisions.Kept, kind),
		}, func(ctx context.Context, in *revisionsInput) (*revisionsOutput, error) {
			h, err := c.history(ctx, RefOf(identity.From(ctx).Tenant, kind, in.ID))
			return &revisionsOutput{revisionList{h.list()}}, err
		})
		huma.Register(api, huma.Operation{
			OperationID: "get-" + string(kind) + "-revision", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: path + "/{revision}",
			Summary: "Show one change of a " + string(kind) + " and the differences to another", Tags: []string{"catalogue"}, Errors: []int{404},
		}, func(ctx context.Context, in *revisionInput) (*revisionOutput, error) {
			h, err := c.history(ctx, RefOf(identity.From(ctx).Tenant, kind, in.ID))
			if err != nil {
				return nil, err
			}
			detail, err := h.detail(in.Revision, in.Against)
			return &revisionOutput{detail}, err
		})
	}
}

// revision is a change and its document by the rules, nil for a delete and for an unusable raw
// document.
type revision struct {
	events.Change
	document *schema.Document
}

// history is the changes of an entity that a caller may see, the oldest first.
type history struct {
	ref       schema.Ref
	current   uint64 // revision
	revisions []revision
}

// longestHistories is how long a history may wait for its turn. The documents of the changes of
// a large tool are seconds of work.
const longestHistories = 10 * time.Second

// history returns the changes of an entity. It first checks whether the caller may find the
// entity, before it reads anything, so that a hidden entity looks like a missing one. It then
// shows the changes whose documents the caller may find. One history is made at a time; tenants
// and callers take turns.
func (c *Catalogue) history(ctx context.Context, ref schema.Ref) (history, error) {
	caller := identity.From(ctx)
	v, release, err := c.open(ctx, caller)
	if err != nil {
		return history{}, c.problem(ctx, err)
	}
	e, raw, there, err := v.Get(ctx, ref, v.scope)
	version, deleted, _ := v.Version(ref)
	if !there && err == nil {
		v.auditDenied(ctx, ref)
	}
	release() // the rest may take long
	if err != nil {
		return history{}, c.problem(ctx, err)
	}
	if !there && !(deleted && caller.Role.Includes(identity.Operator)) {
		return history{}, noEntity(ref)
	}
	slot, err := c.histories.Acquire(ctx, fairqueue.Claim{Group: caller.Tenant, Member: caller.Subject})
	switch {
	case errors.Is(err, fairqueue.ErrFull), errors.Is(err, context.DeadlineExceeded):
		return history{}, httpserver.Unavailable("too many histories wait for their turn", 1)
	case err != nil:
		return history{}, err
	}
	defer slot.Release()
	changes, err := c.deps.Revisions.Of(ctx, ref)
	if err != nil {
		c.revising.LogChange(ctx, c.deps.Logger, err, "query: revisions cannot be read", "")
		return history{}, httpserver.Unavailable("the revisions cannot be read", 1)
	}
	c.revising.LogChange(ctx, c.deps.Logger, nil, "", "query: revisions are read again")
	h := history{ref: ref, current: version.Revision}
	if there {
		h.current = e.Revision
	}
	shown := false // whether the caller may find the document before a delete
	for _, change := range changes {
		if err := ctx.Err(); err != nil {
			return history{}, err // the caller has left
		}
		r := revision{Change: change}
		if change.Op != events.OpDelete {
			if err := c.deps.Standardize(ctx, &change); err == nil {
				r.document = change.Document
			}
			shown = r.allowedBy(v.scope)
		}
		if shown || v.scope == nil {
			h.revisions = append(h.revisions, r)
		}
	}
	if there && !slices.ContainsFunc(changes, func(c events.Change) bool { return c.Revision == e.Revision }) {
		h.add(e, raw)
	}
	h.revisions = h.revisions[max(0, len(h.revisions)-revisions.Kept):]
	if len(h.revisions) == 0 { // of a deleted one
		return history{}, noEntity(ref)
	}
	return h, nil
}

// allowedBy reports whether a scope allows the document of a change.
func (r *revision) allowedBy(scope *policy.Scope) bool {
	if scope == nil || r.document == nil {
		return scope == nil
	}
	of := policy.ToolOf(r.Ref, r.Provider, r.From, r.document.Tags)
	return scope.Allows(&of)
}

// add adds what searches see, which is not kept: it is too large, or the log of changes is
// behind, or has no room for it any more.
func (h *history) add(e schema.Entity, raw json.RawMessage) {
	r := revision{events.Change{
		Ref: e.Ref, Version: e.Version, Op: events.OpUpsert, Provider: e.Provider, From: e.From, Endpoint: e.Endpoint, Format: e.Format, Hash: e.Hash, Accepted: e.Updated, Raw: raw,
	}, &e.Document}
	at, _ := slices.BinarySearchFunc(h.revisions, r.Revision, func(r revision, want uint64) int { return cmp.Compare(r.Revision, want) })
	h.revisions = slices.Insert(h.revisions, at, r)
}

// before returns the newest earlier change with a document, or nil.
func (h *history) before(at int) *revision {
	for i := at - 1; i >= 0; i-- {
		if h.revisions[i].document != nil {
			return &h.revisions[i]
		}
	}
	return nil
}

func (h *history) list() []Revision {
	out := []Revision{}
	for i, r := range h.revisions {
		line := Revision{
			Revision: r.Revision, Accepted: r.Accepted, Op: r.operation(), Source: r.From, SourceVersion: r.Source,
			Format: r.Format, Hash: r.Hash, Changed: []string{}, Current: r.Revision == h.current,
		}
		if before := h.before(i); before != nil && r.document != nil {
			line.Changed = revisions.Changed(before.document, r.document)
		}
		out = append(out, line)
	}
	slices.Reverse(out)
	return out
}

// operation names the operation of a change as the API does.
func (r *revision) operation() string {
	if r.Op == events.OpDelete {
		return "delete"
	}
	return "put"
}

func (h *history) detail(wanted, against uint64) (RevisionDetail, error) {
	at := h.indexOf(wanted)
	if at < 0 {
		return RevisionDetail{}, h.notKept(wanted)
	}
	r := &h.revisions[at]
	out := RevisionDetail{Revision: r.Revision, Accepted: r.Accepted, Op: r.operation(), Raw: r.Raw, Document: r.document, Differences: []revisions.Difference{}}
	other := h.before(at)
	if against != 0 {
		if at = h.indexOf(against); at < 0 {
			return RevisionDetail{}, h.notKept(against)
		}
		other = &h.revisions[at]
	}
	if other == nil {
		return out, nil
	}
	out.Against = other.Revision
	if r.document == nil || other.document == nil {
		return out, nil
	}
	var err error
	if out.Differences, err = revisions.Differences(other.document, r.document); err != nil {
		return RevisionDetail{}, fmt.Errorf("the revisions of %q: %w", h.ref.ID, err)
	}
	return out, nil
}

func (h *history) indexOf(wanted uint64) int {
	return slices.IndexFunc(h.revisions, func(r revision) bool { return r.Revision == wanted })
}

func (h *history) notKept(wanted uint64) error {
	return huma.Error404NotFound(fmt.Sprintf("revision %[3]d of the %[1]s %[2]s is not kept any more", h.ref.Kind, schema.Quote(h.ref.ID), wanted))
}
