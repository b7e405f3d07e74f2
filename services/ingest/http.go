package ingest

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Routes registers the calls that write: tools, providers, batches and events.
func Routes(api huma.API, s *Service) {
	h := &handlers{api: api, s: s}
	h.entityRoutes(schema.KindTool, "The body is the raw document in any format: an MCP tool, one OpenAPI operation, a function schema, "+
		"a model card, a Python signature, any JSON object, YAML or prose. The same document again costs nothing and is answered with 200. "+
		"A document that holds several tools goes to /v1/tools:batch.",
		"The delete is a change with a revision: later arrivals of older versions do not revive the tool. A tool that is not there may be deleted, too; the answer then has the reason not_found.")
	h.entityRoutes(schema.KindProvider, `The body is a document such as {"name", "description"}; other members are kept.`,
		"Its tools stay; an empty document list with sync, or their own deletes, remove them.")
	h.batchRoute()
	h.syncRoute()
	h.eventRoutes()
}

// entityRoutes registers the calls that write one tool, or one provider.
func (h *handlers) entityRoutes(kind schema.Kind, put, del string) {
	name := string(kind)
	operation := func(id, method, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: id + "-" + name, Security: identity.Needs(identity.Writer), Method: method, Path: "/v1/" + name + "s/{id}", Tags: []string{name + "s"},
			Summary: summary, Description: description, DefaultStatus: http.StatusAccepted, Errors: writeErrors(),
		}
	}
	add := operation("put", http.MethodPut, "Add or replace a "+name, put)
	add.RequestBody = rawBody()
	add.Responses = answersOK[changeAnswer](h.api, "The same document is known")
	huma.Register(h.api, add, func(ctx context.Context, in *putInput) (*changeOutput, error) { return h.put(ctx, in, kind) })
	huma.Register(h.api, huma.Operation{
		OperationID: "release-" + name, Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/" + name + "s:release", Tags: []string{name + "s"},
		Summary: "Let a " + name + " out of quarantine",
		Description: "As long as its document has the hash: another document is judged anew. The same release again is answered with 200. " +
			"One that is not in quarantine may be released, too: it then stays out, and a change of it is flagged changed-after-release.",
		DefaultStatus: http.StatusAccepted, Responses: answersOK[changeAnswer](h.api, "It is released already"), Errors: append(writeErrors(), http.StatusNotFound),
	}, func(ctx context.Context, in *releaseInput) (*changeOutput, error) { return h.release(ctx, in, kind) })
	huma.Register(h.api, huma.Operation{
		OperationID: "quarantine-" + name, Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/" + name + "s:quarantine", Tags: []string{name + "s"},
		Summary: "Put a " + name + " into quarantine",
		Description: "Whatever it says now and later, until it is released: it is flagged quarantined-by-operator and kept out of answers. " +
			"A delete does not end that: the " + name + " is in quarantine when it comes back within a month. The same again is answered with 200.",
		DefaultStatus: http.StatusAccepted, Responses: answersOK[changeAnswer](h.api, "It is in quarantine already"), Errors: append(writeErrors(), http.StatusNotFound),
	}, func(ctx context.Context, in *quarantineInput) (*changeOutput, error) {
		return h.quarantine(ctx, in, kind)
	})
	huma.Register(h.api, operation("delete", http.MethodDelete, "Delete a "+name, del),
		func(ctx context.Context, in *deleteInput) (*changeOutput, error) { return h.delete(ctx, in, kind) })
}

// handlers answers HTTP calls for a service.
type handlers struct {
	api huma.API
	s   *Service
}

// answersOK declares the answer 200 beside the default 202.
func answersOK[T any](api huma.API, description string) map[string]*huma.Response {
	body := &huma.MediaType{Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")}
	return map[string]*huma.Response{"200": {Description: description, Content: map[string]*huma.MediaType{"application/json": body}}}
}

func rawBody() *huma.RequestBody {
	any := &huma.MediaType{}
	return &huma.RequestBody{
		Description: "The raw document; Content-Encoding gzip is accepted.",
		Required:    true,
		Content:     map[string]*huma.MediaType{"application/json": any, "application/yaml": any, "text/plain": any},
	}
}

func writeErrors() []int {
	return []int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable,
		http.StatusInsufficientStorage,
	}
}

// Huma reads parameters from exported fields only, so the inputs embed no common
// parameters.
type putInput struct {
	body
	ID       string `path:"id" doc:"Id: 1 to 256 bytes of UTF-8, percent-encoded."`
	Provider string `query:"provider" doc:"Id of the provider that owns the tools, whatever the documents say."`
	TakeOver bool   `query:"take_over" doc:"Tools of another provider may change hands. Without it they are refused."`
	Format   string `query:"format" doc:"Format of the document; recognised when absent."`
	Version  string `query:"version" doc:"The source's own version, a whole number: a lower one than the known one is stale."`
}

type deleteInput struct {
	ID      string `path:"id" doc:"Id, percent-encoded."`
	Version string `query:"version" doc:"The source's own version, a whole number: a lower one than the known one is stale."`
}

type releaseInput struct{ Body releaseRequest }

type releaseRequest struct {
	ID   string `json:"id" minLength:"1" maxLength:"1024"`
	Hash string `json:"hash" minLength:"1" maxLength:"128" doc:"Of the document that was looked at, as the catalogue says it."`
}

type quarantineInput struct{ Body quarantineRequest }

type quarantineRequest struct {
	ID     string `json:"id" minLength:"1" maxLength:"1024"`
	Reason string `json:"reason,omitempty" maxLength:"256" doc:"Why, for the audit log."`
}

type changeOutput struct {
	Status int
	Body   changeAnswer
}

type changeAnswer struct {
	ID       string `json:"id"`
	Callable string `json:"callable_name,omitempty" doc:"Of a tool that is there: how a language model calls it."`
	Revision uint64 `json:"revision,omitempty" doc:"Of the change; of what is known, if nothing changed."`
	State    State  `json:"state" enum:"accepted,unchanged,stale"`
	Reason   string `json:"reason,omitempty" doc:"not_found for a delete of what was not there."`
}

func (h *handlers) put(ctx context.Context, in *putInput, kind schema.Kind) (*changeOutput, error) {
	version, err := parseVersion(in.Version)
	if err != nil {
		return nil, err
	}
	data, err := in.read(int64(h.s.cfg.MaxDocument))
	if err != nil {
		return nil, err
	}
	item, err := h.one(in, data, kind)
	if err != nil {
		return nil, err
	}
	if version != 0 {
		item.SourceVersion = version
	}
	return h.answer(ctx, item, Options{TakeOver: in.TakeOver})
}

// one reads the one tool or provider that a body is to hold.
func (h *handlers) one(in *putInput, data []byte, kind schema.Kind) (formats.Item, error) {
	options := formats.Options{
		Source: sourceOf(in.hc.Header("Content-Type")), ID: in.ID, Provider: in.Provider, Format: in.Format, Kind: kind,
		Limits: h.s.limits(int64(h.s.cfg.MaxDocument)),
	}
	items, problems := formats.Parse(data, options)
	if len(problems) > 0 {
		p := problems[0]
		if p.Reason == formats.SeveralTools {
			p.Detail = "the document holds several tools: POST it to /v1/tools:batch"
		}
		return formats.Item{}, rejected(p).problem()
	}
	if len(items) != 1 {
		return formats.Item{}, problem(http.StatusUnprocessableEntity, "", "the document holds no tool")
	}
	if items[0].Kind != kind {
		return formats.Item{}, problem(http.StatusUnprocessableEntity, "", fmt.Sprintf("this is an %s: PUT it to /v1/%ss", items[0].Kind, items[0].Kind))
	}
	return items[0], nil
}

func (h *handlers) delete(ctx context.Context, in *deleteInput, kind schema.Kind) (*changeOutput, error) {
	version, err := parseVersion(in.Version)
	if err != nil {
		return nil, err
	}
	return h.answer(ctx, formats.Item{ID: in.ID, Kind: kind, Delete: true, SourceVersion: version}, Options{})
}

// answer accepts one item. A stale item is answered like an accepted one: the
// sender has done all that it can.
func (h *handlers) answer(ctx context.Context, item formats.Item, opts Options) (*changeOutput, error) {
	outcomes, err := h.s.Accept(ctx, identity.From(ctx).Tenant, []formats.Item{item}, opts)
	if err != nil {
		return nil, h.s.failed(err)
	}
	return h.changed(outcomes[0])
}

func (h *handlers) release(ctx context.Context, in *releaseInput, kind schema.Kind) (*changeOutput, error) {
	o, err := h.s.Release(ctx, schema.Ref{Tenant: identity.From(ctx).Tenant, Kind: kind, ID: in.Body.ID}, in.Body.Hash)
	if err != nil {
		return nil, h.s.failed(err)
	}
	return h.changed(o)
}

func (h *handlers) quarantine(ctx context.Context, in *quarantineInput, kind schema.Kind) (*changeOutput, error) {
	audit.Annotate(ctx, audit.Details{Reason: in.Body.Reason})
	o, err := h.s.Hold(ctx, schema.Ref{Tenant: identity.From(ctx).Tenant, Kind: kind, ID: in.Body.ID})
	if err != nil {
		return nil, h.s.failed(err)
	}
	return h.changed(o)
}

// changed answers with what became of one item.
func (h *handlers) changed(o Outcome) (*changeOutput, error) {
	if o.State == Rejected {
		return nil, o.problem()
	}
	out := &changeOutput{Status: http.StatusAccepted, Body: changeAnswer{ID: o.ID, Callable: o.Callable, Revision: o.Revision, State: o.State, Reason: o.Reason}}
	if o.State == Unchanged && !o.Deleted {
		out.Status = http.StatusOK
	}
	return out, nil
}

// parseVersion reads a source version; 0 stands for no version.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v == 0 {
		return 0, problem(http.StatusUnprocessableEntity, "/query/version", "a version is a whole number above 0")
	}
	return v, nil
}

// rejected is the outcome of an unreadable document.
func rejected(p formats.Problem) Outcome {
	return Outcome{Line: p.Line, ID: p.ID, State: Rejected, Reason: p.Reason, Path: p.Path, Detail: p.Detail}
}

// maxSync is the largest list of tools to keep, in bytes.
const maxSync = 256 << 20

type (
	syncInput   struct{ Body syncRequest }
	syncRequest struct {
		Providers []string `json:"providers" minItems:"1" doc:"Whose tools."`
		Keep      []string `json:"keep" doc:"Ids of all the tools that the providers have."`
		UpTo      uint64   `json:"upto,omitempty" doc:"Revision above which nothing is deleted: the start in the summary of the first batch. Required, except with dry_run."`
		DryRun    bool     `json:"dry_run,omitempty" doc:"Delete nothing; answer what would be deleted."`
	}
	syncOutput struct{ Body syncAnswer }
	syncAnswer struct {
		Deleted []Outcome `json:"deleted" doc:"The deletes that were accepted, by id."`
		Missing []string  `json:"missing,omitempty" doc:"With dry_run: ids of the tools that would be deleted."`
	}
)

func (h *handlers) syncRoute() {
	huma.Register(h.api, huma.Operation{
		OperationID: "sync-tools", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/tools:sync", Tags: []string{"tools"},
		Summary: "Delete what providers no longer have",
		Description: "For providers whose tools came in several batches; one batch that holds them all can say sync itself. " +
			"Deletes the providers' tools that are not in the list and were there before the first batch.",
		MaxBodyBytes: maxSync, Errors: writeErrors(),
		SkipValidateBody: true, // the list is long
	}, h.syncTools)
}

func (h *handlers) syncTools(ctx context.Context, in *syncInput) (*syncOutput, error) {
	if in.Body.DryRun {
		audit.Annotate(ctx, audit.Details{DryRun: true, ReadOnly: true})
	}
	switch {
	case len(in.Body.Providers) == 0:
		return nil, problem(http.StatusUnprocessableEntity, "/body/providers", "the providers are missing")
	case in.Body.UpTo == 0 && !in.Body.DryRun:
		return nil, problem(http.StatusUnprocessableEntity, "/body/upto", "the revision is missing")
	case in.Body.UpTo == 0:
		in.Body.UpTo = events.MaxRevision
	}
	providers := make([]string, len(in.Body.Providers))
	for i, p := range in.Body.Providers {
		providers[i] = norm.NFC.String(p)
	}
	keep := make(map[string]bool, len(in.Body.Keep))
	for _, id := range in.Body.Keep {
		keep[norm.NFC.String(id)] = true
	}
	t := identity.From(ctx).Tenant
	missing, err := h.s.missing(ctx, t, providers, keep, in.Body.UpTo)
	if err != nil {
		return nil, h.s.failed(err)
	}
	answer := syncAnswer{Deleted: []Outcome{}}
	if in.Body.DryRun {
		answer.Missing = missing
		return &syncOutput{answer}, nil
	}
	deleted, err := h.s.Remove(ctx, t, missing, Options{UpTo: in.Body.UpTo})
	if err != nil {
		return nil, h.s.failed(err)
	}
	answer.Deleted = append(answer.Deleted, deleted...)
	return &syncOutput{answer}, nil
}
