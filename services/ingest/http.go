package ingest

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
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
		Summary: "Release a " + name + " from quarantine",
		Description: "Holds as long as its document has the hash; another document is judged again. The same release again is answered with 200. " +
			"An entry outside quarantine can be released, too: it then stays out, and a change of it is flagged changed-after-release.",
		DefaultStatus: http.StatusAccepted, Responses: answersOK[changeAnswer](h.api, "It is released already"), Errors: append(writeErrors(), http.StatusNotFound),
	}, func(ctx context.Context, in *releaseInput) (*changeOutput, error) {
		return h.answer(h.s.Release(ctx, schema.Ref{Tenant: identity.From(ctx).Tenant, Kind: kind, ID: in.Body.ID}, in.Body.Hash))
	})
	huma.Register(h.api, huma.Operation{
		OperationID: "quarantine-" + name, Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/" + name + "s:quarantine", Tags: []string{name + "s"},
		Summary: "Put a " + name + " into quarantine",
		Description: "Until its release it is flagged quarantined-by-operator and kept out of answers, through all changes. " +
			"If it is deleted and returns within a month, it is in quarantine again. The same request again is answered with 200.",
		DefaultStatus: http.StatusAccepted, Responses: answersOK[changeAnswer](h.api, "It is in quarantine already"), Errors: append(writeErrors(), http.StatusNotFound),
	}, func(ctx context.Context, in *quarantineInput) (*changeOutput, error) {
		audit.Annotate(ctx, audit.Details{Reason: in.Body.Reason})
		return h.answer(h.s.Hold(ctx, schema.Ref{Tenant: identity.From(ctx).Tenant, Kind: kind, ID: in.Body.ID}))
	})
	huma.Register(h.api, operation("delete", http.MethodDelete, "Delete a "+name, del),
		func(ctx context.Context, in *deleteInput) (*changeOutput, error) {
			version, err := parseVersion(in.Version)
			if err != nil {
				return nil, err
			}
			return h.accept(ctx, formats.Item{ID: in.ID, Kind: kind, Delete: true, SourceVersion: version}, Options{})
		})
}

// handlers answers HTTP calls for a service.
type handlers struct {
	api huma.API
	s   *Service
}

// answersOK declares the answer 200, in addition to the default 202.
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

// writeErrors are the statuses of every write that not every operation has.
func writeErrors() []int { return []int{http.StatusConflict, http.StatusInsufficientStorage} }

// Huma reads parameters from exported fields only, so the inputs embed no common
// parameters.
type putInput struct {
	body
	ID       string `path:"id" doc:"Id: 1 to 256 bytes of UTF-8, percent-encoded."`
	Provider string `query:"provider" doc:"Id of the owner, whatever the documents say."`
	TakeOver bool   `query:"take_over" doc:"Accept tools of another provider or of a source, and change their owner."`
	Format   string `query:"format" doc:"Format of the document; recognised by default."`
	Version  string `query:"version" doc:"The source's own version, a whole number; lower than the known version is stale."`
}

type deleteInput struct {
	ID      string `path:"id" doc:"Id, percent-encoded."`
	Version string `query:"version" doc:"The source's own version, a whole number; lower than the known version is stale."`
}

type releaseInput struct{ Body releaseRequest }

type releaseRequest struct {
	ID   string `json:"id" minLength:"1" maxLength:"1024"`
	Hash string `json:"hash" minLength:"1" maxLength:"128" doc:"Hash of the inspected document, from the catalogue."`
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
	Callable string `json:"callable_name,omitempty" doc:"Name of an existing tool for language models."`
	Revision uint64 `json:"revision,omitempty" doc:"Revision of the change, or the known revision if nothing changed."`
	State    State  `json:"state" enum:"accepted,unchanged,stale"`
	Reason   string `json:"reason,omitempty" doc:"not_found for a delete of an unknown id."`
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
	items, problems := formats.Parse(data, formats.Options{
		Source: sourceOf(in.hc.Header("Content-Type")), ID: in.ID, Provider: in.Provider, Format: in.Format, Kind: kind,
		Limits: h.s.limits(int64(h.s.cfg.MaxDocument)),
	})
	switch {
	case len(problems) > 0:
		p := problems[0]
		if p.Reason == formats.SeveralTools {
			p.Detail = "the document holds several tools: POST it to /v1/tools:batch"
		}
		return nil, rejected(p).problem()
	case len(items) != 1:
		return nil, problem(http.StatusUnprocessableEntity, "", "the document holds no tool")
	case items[0].Kind != kind:
		return nil, problem(http.StatusUnprocessableEntity, "", fmt.Sprintf("this is an %s: PUT it to /v1/%ss", items[0].Kind, items[0].Kind))
	}
	if version != 0 {
		items[0].SourceVersion = version
	}
	return h.accept(ctx, items[0], Options{TakeOver: in.TakeOver})
}

// accept accepts one item. A stale item is answered like an accepted one: the sender cannot
// do more.
func (h *handlers) accept(ctx context.Context, item formats.Item, opts Options) (*changeOutput, error) {
	outcomes, err := h.s.Accept(ctx, identity.From(ctx).Tenant, []formats.Item{item}, opts)
	if err != nil {
		return h.answer(Outcome{}, err)
	}
	return h.answer(outcomes[0], nil)
}

// parseVersion reads a source version, 0 if s is empty.
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
