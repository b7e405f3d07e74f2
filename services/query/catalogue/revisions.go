package query

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

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/revisions"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Revisions knows what was accepted of entities.
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
		Revision uint64 `path:"revision" doc:"Which one."`
		Against  uint64 `query:"against" doc:"Revision to compare it with; that before it when absent."`
	}
	revisionOutput struct{ Body RevisionDetail }
)

type revisionList struct {
	Revisions []Revision `json:"revisions" doc:"Newest first."`
}

// Revision is one change of an entity.
type Revision struct {
	Revision      uint64    `json:"revision" doc:"Of the change: higher is newer."`
	Accepted      time.Time `json:"accepted" doc:"When that was."`
	Op            string    `json:"op" enum:"put,delete" doc:"What it did."`
	Source        string    `json:"source,omitempty" doc:"The source that it was read from; absent where it was sent."`
	SourceVersion uint64    `json:"source_version,omitempty" doc:"The source's own version."`
	Format        string    `json:"format,omitempty" doc:"Of the raw document."`
	Hash          string    `json:"hash,omitempty" doc:"Of the raw document's canonical JSON."`
	Changed       []string  `json:"changed" doc:"Fields that differ from the document before: name, title, description, parameters, response, examples or tags. Empty where none is known."`
	Current       bool      `json:"current" doc:"It is what searches see."`
}

// RevisionDetail is one change of an entity with its document.
type RevisionDetail struct {
	Revision    uint64                 `json:"revision" doc:"Of the change: higher is newer."`
	Accepted    time.Time              `json:"accepted" doc:"When that was."`
	Op          string                 `json:"op" enum:"put,delete" doc:"What it did."`
	Raw         json.RawMessage        `json:"raw,omitempty" doc:"The document as its source had it."`
	Document    *schema.Document       `json:"document,omitempty" doc:"As rules make it now, without a language model."`
	Against     uint64                 `json:"against,omitempty" doc:"The revision that it is compared with; absent where there is none."`
	Differences []revisions.Difference `json:"differences" doc:"Where the documents of the two differ."`
}

func revisionRoutes(api huma.API, s *Service) {
	for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
		path := "/v1/" + string(kind) + "s/{id}/revisions"
		huma.Register(api, huma.Operation{
			OperationID: "list-" + string(kind) + "-revisions", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: path,
			Summary: "List the last changes of a " + string(kind), Tags: []string{"catalogue"}, Errors: []int{404, 503},
			Description: fmt.Sprintf("The last %d that the caller may find, as far as they are kept. Those of a deleted %s are shown to operators.", revisions.Kept, kind),
		}, func(ctx context.Context, in *revisionsInput) (*revisionsOutput, error) {
			h, err := s.history(ctx, refOf(identity.From(ctx).Tenant, kind, in.ID))
			return &revisionsOutput{revisionList{h.list()}}, err
		})
		huma.Register(api, huma.Operation{
			OperationID: "get-" + string(kind) + "-revision", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: path + "/{revision}",
			Summary: "Show one change of a " + string(kind) + ", and what differs from another", Tags: []string{"catalogue"}, Errors: []int{404, 503},
		}, func(ctx context.Context, in *revisionInput) (*revisionOutput, error) {
			h, err := s.history(ctx, refOf(identity.From(ctx).Tenant, kind, in.ID))
			if err != nil {
				return nil, err
			}
			detail, err := h.detail(in.Revision, in.Against)
			return &revisionOutput{detail}, err
		})
	}
}

// revision is a change and the document that rules make of it, nil for a delete and for what
// no document can be made of.
type revision struct {
	events.Change
	document *schema.Document
}

// history is what a caller may know of the changes of an entity, the oldest first.
type history struct {
	ref       schema.Ref
	current   uint64 // revision
	revisions []revision
}

// longestHistories is how long a history may wait for its turn. The documents of the changes of
// a large tool are seconds of work.
const longestHistories = 10 * time.Second

// history returns the changes of an entity. Whether the caller may find the entity as it is
// decides first, and before anything is read, so that what is hidden answers as what is not
// there. A change is shown where the caller may find what it says.
// One is made at a time; tenants and callers take turns.
func (s *Service) history(ctx context.Context, ref schema.Ref) (history, error) {
	caller := identity.From(ctx)
	scope, err := s.scope(ctx, caller)
	if err != nil {
		return history{}, s.unknownGrants()
	}
	now, release := s.snapshot()
	e, raw, there, err := now.Catalogue.Get(ctx, ref, scope)
	version, deleted, _ := now.Catalogue.Version(ref)
	if !there && err == nil {
		now.denied(ctx, ref, scope)
	}
	release() // what follows may take long
	if err != nil {
		return history{}, s.catalogueProblem(ctx, err)
	}
	if !there && !(deleted && caller.Role.Includes(identity.Operator)) {
		return history{}, noEntity(ref)
	}
	turn, err := s.histories.enter(ctx, caller)
	switch {
	case errors.Is(err, ErrBusy):
		return history{}, httpserver.Unavailable("too many histories wait for their turn", 1)
	case err != nil:
		return history{}, err
	}
	defer turn.leave()
	changes, err := s.deps.Revisions.Of(ctx, ref)
	if err != nil {
		s.revising.Note(ctx, s.deps.Logger, err, "query: revisions cannot be read", "")
		return history{}, httpserver.Unavailable("the revisions cannot be read", 1)
	}
	s.revising.Note(ctx, s.deps.Logger, nil, "", "query: revisions are read again")
	h := history{ref: ref, current: version.Revision}
	if there {
		h.current = e.Revision
	}
	shown := false // what a delete has deleted
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return history{}, err // nobody waits for it
		}
		r := revision{Change: c}
		if c.Op != events.OpDelete {
			if err := s.deps.Standardize(ctx, &c); err == nil {
				r.document = c.Document
			}
			shown = r.in(scope)
		}
		if shown || scope == nil {
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

func noEntity(ref schema.Ref) error {
	return huma.Error404NotFound(fmt.Sprintf("there is no %s %s", ref.Kind, schema.Quote(ref.ID)))
}

// in reports whether a change is one of a scope.
func (r *revision) in(scope *policy.Scope) bool {
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
		Ref: e.Ref, Version: e.Version, Op: events.OpUpsert, Provider: e.Provider, From: e.From, Format: e.Format, Hash: e.Hash, Accepted: e.Updated, Raw: raw,
	}, &e.Document}
	at, _ := slices.BinarySearchFunc(h.revisions, r.Revision, func(r revision, want uint64) int { return cmp.Compare(r.Revision, want) })
	h.revisions = slices.Insert(h.revisions, at, r)
}

// before returns the newest change before one that has a document, nil where there is none.
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
			Revision: r.Revision, Accepted: r.Accepted, Op: r.does(), Source: r.From, SourceVersion: r.Source,
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

// does says what a change did, in the words of the API.
func (r *revision) does() string {
	if r.Op == events.OpDelete {
		return "delete"
	}
	return "put"
}

func (h *history) detail(wanted, against uint64) (RevisionDetail, error) {
	at := h.at(wanted)
	if at < 0 {
		return RevisionDetail{}, h.none(wanted)
	}
	r := &h.revisions[at]
	out := RevisionDetail{Revision: r.Revision, Accepted: r.Accepted, Op: r.does(), Raw: r.Raw, Document: r.document, Differences: []revisions.Difference{}}
	other := h.before(at)
	if against != 0 {
		if at = h.at(against); at < 0 {
			return RevisionDetail{}, h.none(against)
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

func (h *history) at(wanted uint64) int {
	return slices.IndexFunc(h.revisions, func(r revision) bool { return r.Revision == wanted })
}

func (h *history) none(wanted uint64) error {
	return huma.Error404NotFound(fmt.Sprintf("of the %s %s there is no revision %d any more", h.ref.Kind, schema.Quote(h.ref.ID), wanted))
}
