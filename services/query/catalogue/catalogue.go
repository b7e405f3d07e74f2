// Package catalogue shows tools and providers: lists, details in the formats that language
// models read, and revisions. A caller sees only the entities that its grants allow it to find.
package catalogue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index holds the entities that can be searched.
type Index interface {
	// Get returns the entity, its raw document, and whether it is there for a scope.
	Get(ctx context.Context, ref schema.Ref, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error)
	// List returns up to limit entities above cursor in the order of their
	// ids, and the cursor of the next page, empty at the end. An empty provider
	// lists every owner's.
	List(ctx context.Context, tenant string, l index.Listing) ([]schema.Entity, string, error)
	// Named returns the ids of the tools of a scope that have a callable name, in their order.
	Named(ctx context.Context, tenant, name string, scope *policy.Scope) ([]string, error)
	// Version returns the newest version applied, deletes included.
	Version(ref schema.Ref) (v schema.Version, deleted, known bool)
	// Tools yields the facts that grants use of every tool and provider of a tenant.
	Tools(tenant string) iter.Seq[policy.Tool]
}

// DeadLetters tells whether a change ended in the dead letters. The key is
// events.Key of the entity.
type DeadLetters interface {
	Dead(key string, revision uint64) bool
}

// Deps are the dependencies of a Catalogue.
type Deps struct {
	Open        func() (now Index, release func())          // the index that is searched, until release is called
	Policy      *policy.Store                               // nil: every caller may do what its role may
	DeadLetters DeadLetters                                 // optional: without it no change counts as dead
	Revisions   Revisions                                   // accepted changes
	Standardize func(context.Context, *events.Change) error // makes the document of a change
	Timeout     time.Duration                               // of describing tools; 5 s
	Logger      *slog.Logger
}

// Catalogue shows tools and providers. Its methods may be called concurrently.
type Catalogue struct {
	deps        Deps
	histories   *fairqueue.Queue // of the revisions of one entity
	connections Connections      // nil: this process calls no tools

	reading, revising lifecycle.Health // for the log
}

// New returns a catalogue.
func New(deps Deps) *Catalogue {
	return &Catalogue{deps: deps, histories: fairqueue.New(fairqueue.Config{Slots: 1, MaxWait: longestHistories})}
}

// Connect lets answers say whether tools can be called. It is called before the catalogue is used.
func (c *Catalogue) Connect(connections Connections) { c.connections = connections }

// ErrUnavailable is wrapped by errors that say that the index cannot be asked, or that the
// grants of the caller are unknown.
var ErrUnavailable = errors.New("search is unavailable")

// The states of a change.
const (
	stateIndexed = "indexed"       // it, or a newer one, can be searched
	stateDead    = "dead_lettered" // it is in the dead letters
	statePending = "pending"       // it is on its way
)

type (
	getInput struct {
		ID         string `path:"id" maxLength:"1024" doc:"Percent-encoded id. A tool may also be named by its callable name, unless that is another tool's id."`
		Provenance bool   `query:"provenance" doc:"Also show the source of each sentence, and the parts of the raw document that are in no field."`
	}
	getOutput struct{ Body entityAnswer }

	listTools struct {
		Provider    string `query:"provider" doc:"Only tools of this provider."`
		Quarantined bool   `query:"quarantined" doc:"Only entries in quarantine."`
		Cursor      string `query:"cursor" doc:"Cursor of the previous answer."`
		Limit       int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Entries on a page: 1 to 1000, 100 by default."`
	}
	listProviders struct {
		Quarantined bool   `query:"quarantined" doc:"Only entries in quarantine."`
		Cursor      string `query:"cursor" doc:"Cursor of the previous answer."`
		Limit       int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Entries on a page: 1 to 1000, 100 by default."`
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
	CallableName  string      `json:"callable_name,omitempty" doc:"Name of the tool for language models."`
	Source        string      `json:"source,omitempty" doc:"The source that it was read from; absent if it was sent by a client."`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	Revision      uint64      `json:"revision" doc:"Revision of the change: higher is newer."`
	SourceVersion uint64      `json:"source_version,omitempty" doc:"The source's own version."`
	State         string      `json:"state" enum:"indexed" doc:"indexed: searches find it."`
	Flags         []string    `json:"flags,omitempty" doc:"Suspicious properties of the source's text."`
	Quarantined   bool        `json:"quarantined,omitempty" doc:"Kept out of answers because of its flags, until it is released."`
	Updated       time.Time   `json:"updated" doc:"When the change was accepted."`
}

type toolsPage struct {
	Tools  []Entry `json:"tools" doc:"By id."`
	Cursor string  `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

type providersPage struct {
	Providers []Entry `json:"providers" doc:"By id."`
	Cursor    string  `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

type statesRequest struct {
	Changes []change `json:"changes" maxItems:"1000" doc:"At most 1000."`
}

type change struct {
	Kind     schema.Kind `json:"kind,omitempty" enum:"tool,provider"`
	ID       string      `json:"id" minLength:"1" maxLength:"1024"`
	Revision uint64      `json:"revision" doc:"Revision of the change: higher is newer."`
}

type statesAnswer struct {
	States []changeState `json:"states" doc:"States in the order of the request."`
}

type changeState struct {
	Kind     schema.Kind `json:"kind"`
	ID       string      `json:"id"`
	Revision uint64      `json:"revision" doc:"Revision of the change: higher is newer."`
	State    string      `json:"state" doc:"indexed, dead_lettered or pending." enum:"indexed,dead_lettered,pending"`
}

type (
	summaryInput struct {
		Limit int `query:"limit" default:"50" minimum:"1" maximum:"10000" doc:"Named providers: 1 to 10000, 50 by default."`
	}
	summaryOutput struct{ Body CatalogueSummary }
)

// CatalogueSummary is how much a caller may find.
type CatalogueSummary struct {
	Tools     int            `json:"tools" doc:"How many tools there are."`
	Providers []ProviderSize `json:"providers" doc:"The providers with the most tools, in descending order."`
}

// ProviderSize is how many tools a provider has.
type ProviderSize struct {
	ID     string `json:"id"`
	Tools  int    `json:"tools"`
	Source string `json:"source,omitempty" doc:"The source of its tools by the name that an operator gave it: for a source found by another one, the name of that one. Absent if tools of the provider were sent."`
}

// Routes adds the calls of the catalogue to an API.
func Routes(api huma.API, c *Catalogue) {
	for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
		huma.Register(api, huma.Operation{
			OperationID: "get-" + string(kind), Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/" + string(kind) + "s/{id}",
			Summary: "Show one " + string(kind), Tags: []string{"catalogue"}, Errors: []int{404},
		}, func(ctx context.Context, in *getInput) (*getOutput, error) {
			answer, err := c.get(ctx, RefOf(identity.From(ctx).Tenant, kind, in.ID))
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
		Summary: "List tools by id", Tags: []string{"catalogue"},
	}, func(ctx context.Context, in *listTools) (*toolsOutput, error) {
		lines, next, err := c.list(ctx, index.Listing{
			Kind: schema.KindTool, Provider: norm.NFC.String(in.Provider), Quarantined: in.Quarantined, Cursor: in.Cursor, Limit: in.Limit,
		})
		return &toolsOutput{toolsPage{lines, next}}, err
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-providers", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/providers",
		Summary: "List providers by id", Tags: []string{"catalogue"},
	}, func(ctx context.Context, in *listProviders) (*providersOutput, error) {
		lines, next, err := c.list(ctx, index.Listing{Kind: schema.KindProvider, Quarantined: in.Quarantined, Cursor: in.Cursor, Limit: in.Limit})
		return &providersOutput{providersPage{lines, next}}, err
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-states", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:states",
		Summary: "Show the states of accepted changes", Tags: []string{"catalogue"}, MaxBodyBytes: 4 << 20, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *statesInput) (*statesOutput, error) {
		return &statesOutput{c.states(identity.From(ctx).Tenant, in.Body.Changes)}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "summarize-catalogue", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/catalogue",
		Summary: "Count the tools the caller may find, by provider", Tags: []string{"catalogue"},
	}, func(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
		summary, err := c.summarize(ctx, in.Limit)
		return &summaryOutput{summary}, err
	})
	describeRoute(api, c)
	revisionRoutes(api, c)
}

// RefOf names an entity as it is kept: ids are in NFC, whatever a caller sends.
func RefOf(tenant string, kind schema.Kind, id string) schema.Ref {
	return schema.Ref{Tenant: tenant, Kind: kind, ID: norm.NFC.String(id)}
}

// Scope returns the entities that a caller may find, nil for all, and notes the version of the
// grants in the audit log. The error wraps ErrUnavailable.
func Scope(ctx context.Context, grants *policy.Store, caller identity.Caller) (*policy.Scope, error) {
	scope, err := grants.Scope(caller, policy.Find)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if scope != nil {
		audit.Annotate(ctx, audit.Details{Policy: scope.Version})
	}
	return scope, nil
}

// view is the part of the current index that a caller may find.
type view struct {
	Index
	tenant string
	scope  *policy.Scope
}

// open returns the view of a caller, which stays open until release is called.
func (c *Catalogue) open(ctx context.Context, caller identity.Caller) (v view, release func(), err error) {
	scope, err := Scope(ctx, c.deps.Policy, caller)
	if err != nil {
		return view{}, nil, err
	}
	now, release := c.deps.Open()
	return view{now, caller.Tenant, scope}, release, nil
}

// problem turns an error of the index, or of open, into an answer.
func (c *Catalogue) problem(ctx context.Context, err error) error {
	if errors.Is(err, policy.ErrUnknown) {
		return httpserver.Unavailable(policy.ErrUnknown.Error(), 1)
	}
	c.reading.LogChange(ctx, c.deps.Logger, err, "query: the catalogue cannot be read", "")
	return httpserver.Unavailable("the catalogue cannot be read", 1)
}

func noEntity(ref schema.Ref) error {
	return huma.Error404NotFound(fmt.Sprintf("there is no %s %s", ref.Kind, schema.Quote(ref.ID)))
}

func (c *Catalogue) get(ctx context.Context, ref schema.Ref) (entityAnswer, error) {
	v, release, err := c.open(ctx, identity.From(ctx))
	if err != nil {
		return entityAnswer{}, c.problem(ctx, err)
	}
	defer release()
	e, raw, ok, err := v.Get(ctx, ref, v.scope)
	if err == nil && !ok && ref.Kind == schema.KindTool {
		e, raw, ok, err = v.toolNamed(ctx, ref.ID)
	}
	var ambiguous *schema.Invalid
	switch {
	case errors.As(err, &ambiguous):
		return entityAnswer{}, httpserver.UnprocessableIn(httpserver.InPath, ambiguous)
	case err != nil:
		return entityAnswer{}, c.problem(ctx, err)
	case !ok:
		v.auditDenied(ctx, ref)
		return entityAnswer{}, noEntity(ref)
	}
	return entityAnswer{Entry: entryOf(e), Format: e.Format, Hash: e.Hash, Document: e.Document, Raw: raw}, nil
}

// Provider returns the provider of a source as lists show it, and whether the caller may find
// it. The entry is empty if the provider has no document that the caller may find. The error is
// an answer over HTTP.
func (c *Catalogue) Provider(ctx context.Context, id, source string) (about Entry, visible bool, err error) {
	v, release, err := c.open(ctx, identity.From(ctx))
	if err != nil {
		return Entry{}, false, c.problem(ctx, err)
	}
	defer release()
	ref := RefOf(v.tenant, schema.KindProvider, id)
	e, _, there, err := v.Get(ctx, ref, nil) // grants may name the tags of its document
	if err != nil {
		return Entry{}, false, c.problem(ctx, err)
	}
	followed := policy.ToolOf(ref, "", source, e.Document.Tags)
	own := policy.ToolOf(ref, "", e.From, e.Document.Tags)
	if visible = v.scope.Allows(&followed); visible && there && v.scope.Allows(&own) {
		about = entryOf(e)
	}
	return about, visible, nil
}

// Tools yields the facts that grants use of every tool and provider of a tenant.
func (c *Catalogue) Tools(tenant string) iter.Seq[policy.Tool] {
	return func(yield func(policy.Tool) bool) {
		now, release := c.deps.Open()
		defer release()
		now.Tools(tenant)(yield)
	}
}

func (c *Catalogue) list(ctx context.Context, l index.Listing) ([]Entry, string, error) {
	v, release, err := c.open(ctx, identity.From(ctx))
	if err != nil {
		return nil, "", c.problem(ctx, err)
	}
	defer release()
	l.Scope = v.scope
	found, next, err := v.List(ctx, v.tenant, l)
	if err != nil {
		return nil, "", c.problem(ctx, err)
	}
	c.reading.LogChange(ctx, c.deps.Logger, nil, "", "query: the catalogue is read again")
	entries := make([]Entry, len(found))
	for i, e := range found {
		entries[i] = entryOf(e)
	}
	return entries, next, nil
}

func entryOf(e schema.Entity) Entry {
	return Entry{
		ID: e.ID, Kind: e.Kind, Provider: e.Provider, CallableName: e.CallableName, Source: e.From,
		Name: e.Document.Name, Description: e.Document.Description,
		Revision: e.Revision, SourceVersion: e.Source,
		State: stateIndexed, Updated: e.Updated,
		Flags: e.Document.Flags, Quarantined: e.Document.Quarantined,
	}
}

// Deleted reports whether a tool or provider with this id was deleted and neither kind has it now.
func (c *Catalogue) Deleted(tenant, id string) bool {
	now, release := c.deps.Open()
	defer release()
	_, tool, _ := now.Version(schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id})
	_, provider, known := now.Version(schema.Ref{Tenant: tenant, Kind: schema.KindProvider, ID: id})
	return tool && (!known || provider)
}

// states tells of each change how far it got.
func (c *Catalogue) states(tenant string, changes []change) statesAnswer {
	now, release := c.deps.Open()
	defer release()
	out := make([]changeState, len(changes))
	for i, change := range changes {
		change.Kind = cmp.Or(change.Kind, schema.KindTool)
		ref, state := RefOf(tenant, change.Kind, change.ID), statePending
		if v, _, known := now.Version(ref); known && v.Revision >= change.Revision {
			state = stateIndexed
		} else if c.deps.DeadLetters != nil && c.deps.DeadLetters.Dead(events.Key(ref), change.Revision) {
			state = stateDead
		}
		out[i] = changeState{Kind: change.Kind, ID: change.ID, Revision: change.Revision, State: state}
	}
	return statesAnswer{out}
}

// summarize counts the tools that a caller may find, and names the providers with the most
// tools.
func (c *Catalogue) summarize(ctx context.Context, providers int) (CatalogueSummary, error) {
	v, release, err := c.open(ctx, identity.From(ctx))
	if err != nil {
		return CatalogueSummary{}, c.problem(ctx, err)
	}
	defer release()
	out := CatalogueSummary{}
	sizes, sources := map[string]int{}, map[string]string{}
	for t := range v.Tools(v.tenant) {
		if t.Kind != schema.KindTool || !v.scope.Allows(&t) {
			continue
		}
		out.Tools++
		if t.Provider == "" {
			continue
		}
		named, _, _ := strings.Cut(t.Source, ".")
		if sizes[t.Provider]++; sizes[t.Provider] == 1 || sources[t.Provider] == named {
			sources[t.Provider] = named
		} else {
			sources[t.Provider] = ""
		}
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	names = names[:min(len(names), providers)]
	out.Providers = make([]ProviderSize, len(names))
	for i, name := range names {
		out.Providers[i] = ProviderSize{name, sizes[name], sources[name]}
	}
	return out, nil
}
