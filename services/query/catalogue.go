package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The states of a change.
const (
	stateIndexed = "indexed"       // it, or a newer one, can be searched
	stateDead    = "dead_lettered" // it lies in the dead letters
	statePending = "pending"       // it is on its way
)

type (
	getInput struct {
		ID         string `path:"id" maxLength:"1024" doc:"Id, percent-encoded; of a tool also its callable name, where that is no tool's id."`
		Provenance bool   `query:"provenance" doc:"Also say where each sentence comes from, and what of the raw document stands in no field."`
	}
	getOutput struct{ Body entityAnswer }

	listTools struct {
		Provider    string `query:"provider" doc:"Only tools of this provider."`
		Quarantined bool   `query:"quarantined" doc:"Only what is in quarantine."`
		Cursor      string `query:"cursor" doc:"From the call before."`
		Limit       int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Entries on a page, at most: 1 to 1000, 100 by default."`
	}
	listProviders struct {
		Quarantined bool   `query:"quarantined" doc:"Only what is in quarantine."`
		Cursor      string `query:"cursor" doc:"From the call before."`
		Limit       int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Entries on a page, at most: 1 to 1000, 100 by default."`
	}
	toolsOutput     struct{ Body toolsPage }
	providersOutput struct{ Body providersPage }

	statesInput  struct{ Body statesRequest }
	statesOutput struct{ Body statesAnswer }
)

// entityAnswer is everything that is known of an entity.
type entityAnswer struct {
	Entry
	Format   string          `json:"format,omitempty" doc:"What the raw document is: mcp, openapi, function and so on."`
	Hash     string          `json:"hash,omitempty" doc:"SHA-256 of the raw document's canonical JSON."`
	Document schema.Document `json:"document" doc:"The four fields."`
	Raw      json.RawMessage `json:"raw,omitempty" doc:"The document as its source had it."`

	Provenance *provenance.Trace `json:"provenance,omitempty" doc:"With provenance=true."`
}

// Entry is an entity as lists show it.
type Entry struct {
	ID            string      `json:"id"`
	Kind          schema.Kind `json:"kind"`
	Provider      string      `json:"provider,omitempty"`
	CallableName  string      `json:"callable_name,omitempty" doc:"Of a tool: how a language model calls it."`
	Source        string      `json:"source,omitempty" doc:"The source that it was read from; absent where it was sent."`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	Revision      uint64      `json:"revision" doc:"Of the change: higher is newer."`
	SourceVersion uint64      `json:"source_version,omitempty" doc:"The source's own version."`
	State         string      `json:"state" enum:"indexed" doc:"It can be searched."`
	Flags         []string    `json:"flags,omitempty" doc:"What is suspicious about the source's text."`
	Quarantined   bool        `json:"quarantined,omitempty" doc:"Kept out of answers because of its flags, until it is released."`
	Updated       time.Time   `json:"updated" doc:"When the change was accepted."`
}

type toolsPage struct {
	Tools  []Entry `json:"tools" doc:"By id."`
	Cursor string  `json:"cursor,omitempty" doc:"Of the next page; absent on the last."`
}

type providersPage struct {
	Providers []Entry `json:"providers" doc:"By id."`
	Cursor    string  `json:"cursor,omitempty" doc:"Of the next page; absent on the last."`
}

type statesRequest struct {
	Changes []change `json:"changes" maxItems:"1000" doc:"At most 1000."`
}

type change struct {
	Kind     schema.Kind `json:"kind,omitempty" enum:"tool,provider"`
	ID       string      `json:"id" minLength:"1" maxLength:"1024"`
	Revision uint64      `json:"revision" doc:"Of the change: higher is newer."`
}

type statesAnswer struct {
	States []changeState `json:"states" doc:"In the order asked."`
}

type changeState struct {
	Kind     schema.Kind `json:"kind"`
	ID       string      `json:"id"`
	Revision uint64      `json:"revision" doc:"Of the change: higher is newer."`
	State    string      `json:"state" doc:"indexed, dead_lettered or pending." enum:"indexed,dead_lettered,pending"`
}

func catalogueRoutes(api huma.API, s *Service) {
	for _, c := range []struct {
		name string
		kind schema.Kind
	}{{"tool", schema.KindTool}, {"provider", schema.KindProvider}} {
		huma.Register(api, huma.Operation{
			OperationID: "get-" + c.name, Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/" + c.name + "s/{id}",
			Summary: "Show one " + c.name, Tags: []string{"catalogue"}, Errors: []int{404, 503},
		}, func(ctx context.Context, in *getInput) (*getOutput, error) {
			answer, err := s.get(ctx, refOf(identity.From(ctx).Tenant, c.kind, in.ID))
			if err == nil && in.Provenance && len(answer.Raw) > 0 {
				trace, why := provenance.OfRaw(answer.Raw, &answer.Document)
				if why != nil {
					return nil, fmt.Errorf("the raw document of %q: %w", in.ID, why)
				}
				answer.Provenance = &trace
			}
			return &getOutput{answer}, err
		})
	}
	huma.Register(api, huma.Operation{
		OperationID: "list-tools", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/tools",
		Summary: "List tools by id", Tags: []string{"catalogue"}, Errors: []int{422, 503},
	}, func(ctx context.Context, in *listTools) (*toolsOutput, error) {
		lines, next, err := s.list(ctx, index.Listing{
			Kind: schema.KindTool, Provider: norm.NFC.String(in.Provider), Quarantined: in.Quarantined, Cursor: in.Cursor, Limit: in.Limit,
		})
		return &toolsOutput{toolsPage{lines, next}}, err
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-providers", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/providers",
		Summary: "List providers by id", Tags: []string{"catalogue"}, Errors: []int{422, 503},
	}, func(ctx context.Context, in *listProviders) (*providersOutput, error) {
		lines, next, err := s.list(ctx, index.Listing{Kind: schema.KindProvider, Quarantined: in.Quarantined, Cursor: in.Cursor, Limit: in.Limit})
		return &providersOutput{providersPage{lines, next}}, err
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-states", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:states",
		Summary: "Tell what became of accepted changes", Tags: []string{"catalogue"}, MaxBodyBytes: 4 << 20, Errors: []int{400, 413, 422}, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *statesInput) (*statesOutput, error) {
		return &statesOutput{s.states(identity.From(ctx).Tenant, in.Body.Changes)}, nil
	})
}

// refOf names an entity as it is kept: ids are in NFC, however a caller writes
// them.
func refOf(tenant string, kind schema.Kind, id string) schema.Ref {
	return schema.Ref{Tenant: tenant, Kind: kind, ID: norm.NFC.String(id)}
}

func (s *Service) get(ctx context.Context, ref schema.Ref) (entityAnswer, error) {
	scope, err := s.scope(ctx, identity.From(ctx))
	if err != nil {
		return entityAnswer{}, s.unknownGrants()
	}
	now, release := s.snapshot()
	defer release()
	e, raw, ok, err := now.Catalogue.Get(ctx, ref, scope)
	if err == nil && !ok && ref.Kind == schema.KindTool {
		e, raw, ok, err = now.named(ctx, ref.Tenant, ref.ID, scope)
	}
	var several *schema.Invalid
	switch {
	case errors.As(err, &several):
		return entityAnswer{}, httpserver.UnprocessableIn(httpserver.InPath, several)
	case err != nil:
		return entityAnswer{}, s.catalogueProblem(ctx, err)
	case !ok:
		now.denied(ctx, ref, scope)
		return entityAnswer{}, noEntity(ref)
	}
	return entityAnswer{Entry: line(e), Format: e.Format, Hash: e.Hash, Document: e.Document, Raw: raw}, nil
}

// Provider returns the provider of a source as lists show it, and whether the caller may find
// it. One that says nothing of itself, or nothing that the caller may find, has an empty entry.
// The error is one for an answer over HTTP.
func (s *Service) Provider(ctx context.Context, id, source string) (about Entry, visible bool, err error) {
	scope, err := s.scope(ctx, identity.From(ctx))
	if err != nil {
		return Entry{}, false, s.unknownGrants()
	}
	now, release := s.snapshot()
	defer release()
	ref := refOf(identity.From(ctx).Tenant, schema.KindProvider, id)
	e, _, there, err := now.Catalogue.Get(ctx, ref, nil) // grants may name the tags of its document
	if err != nil {
		return Entry{}, false, s.catalogueProblem(ctx, err)
	}
	followed := policy.ToolOf(ref, "", source, e.Document.Tags)
	own := policy.ToolOf(ref, "", e.From, e.Document.Tags)
	if visible = scope.Allows(&followed); visible && there && scope.Allows(&own) {
		about = line(e)
	}
	return about, visible, nil
}

// Tools yields what grants know of every tool and provider of a tenant.
func (s *Service) Tools(tenant string) iter.Seq[policy.Tool] {
	return func(yield func(policy.Tool) bool) {
		now, release := s.snapshot()
		defer release()
		now.Catalogue.Tools(tenant)(yield)
	}
}

// unknownGrants is the answer while nobody knows what the caller may see.
func (s *Service) unknownGrants() error {
	return httpserver.Unavailable(policy.ErrUnknown.Error(), 1)
}

func (s *Service) list(ctx context.Context, l index.Listing) ([]Entry, string, error) {
	caller := identity.From(ctx)
	var err error
	if l.Scope, err = s.scope(ctx, caller); err != nil {
		return nil, "", s.unknownGrants()
	}
	now, release := s.snapshot()
	defer release()
	found, next, err := now.Catalogue.List(ctx, caller.Tenant, l)
	if err != nil {
		return nil, "", s.catalogueProblem(ctx, err)
	}
	s.reading.Note(ctx, s.deps.Logger, nil, "", "query: the catalogue is read again")
	lines := make([]Entry, len(found))
	for i, e := range found {
		lines[i] = line(e)
	}
	return lines, next, nil
}

func (s *Service) catalogueProblem(ctx context.Context, err error) error {
	s.reading.Note(ctx, s.deps.Logger, err, "query: the catalogue cannot be read", "")
	return httpserver.Unavailable("the catalogue cannot be read", 1)
}

func line(e schema.Entity) Entry {
	return Entry{
		ID: e.ID, Kind: e.Kind, Provider: e.Provider, CallableName: e.CallableName, Source: e.From,
		Name: e.Document.Name, Description: e.Document.Description,
		Revision: e.Revision, SourceVersion: e.Source,
		State: stateIndexed, Updated: e.Updated,
		Flags: e.Document.Flags, Quarantined: e.Document.Quarantined,
	}
}

// states tells of each change how far it got.
func (s *Service) states(tenant string, changes []change) statesAnswer {
	out := make([]changeState, len(changes))
	for i, c := range changes {
		if c.Kind == "" {
			c.Kind = schema.KindTool
		}
		ref := refOf(tenant, c.Kind, c.ID)
		out[i] = changeState{Kind: c.Kind, ID: c.ID, Revision: c.Revision, State: s.state(ref, c.Revision)}
	}
	return statesAnswer{out}
}

func (s *Service) state(ref schema.Ref, revision uint64) string {
	now, release := s.snapshot()
	defer release()
	v, _, known := now.Catalogue.Version(ref)
	switch {
	case known && v.Revision >= revision:
		return stateIndexed
	case s.deps.DeadLetters != nil && s.deps.DeadLetters.Dead(events.Key(ref), revision):
		return stateDead
	}
	return statePending
}
