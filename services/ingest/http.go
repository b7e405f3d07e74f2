package ingest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Routes registers the calls that write: tools, agents, batches and events.
func Routes(api huma.API, s *Service) {
	h := &handlers{api: api, s: s}
	huma.Register(api, huma.Operation{
		OperationID: "put-tool", Method: http.MethodPut, Path: "/v1/tools/{id}", Tags: []string{"tools"},
		Summary: "Add or replace a tool",
		Description: "The body is the raw document in any format: an MCP tool, one OpenAPI operation, a function schema, " +
			"a model card, a Python signature, any JSON object, YAML or prose. The same document again costs nothing and is answered with 200. " +
			"A document that holds several tools goes to /v1/tools:batch.",
		DefaultStatus: http.StatusAccepted, RequestBody: rawBody(), Errors: writeErrors(),
	}, h.putTool)
	huma.Register(api, huma.Operation{
		OperationID: "delete-tool", Method: http.MethodDelete, Path: "/v1/tools/{id}", Tags: []string{"tools"},
		Summary:       "Delete a tool",
		Description:   "The delete is a change with a revision: later arrivals of older versions do not revive the tool. An unknown tool may be deleted too.",
		DefaultStatus: http.StatusAccepted, Errors: writeErrors(),
	}, h.deleteTool)
	huma.Register(api, huma.Operation{
		OperationID: "put-agent", Method: http.MethodPut, Path: "/v1/agents/{id}", Tags: []string{"agents"},
		Summary:       "Add or replace an agent, which owns tools",
		Description:   `The body is a document such as {"name", "description"}; other members are kept.`,
		DefaultStatus: http.StatusAccepted, RequestBody: rawBody(), Errors: writeErrors(),
	}, h.putAgent)
	huma.Register(api, huma.Operation{
		OperationID: "delete-agent", Method: http.MethodDelete, Path: "/v1/agents/{id}", Tags: []string{"agents"},
		Summary:       "Delete an agent",
		Description:   "Its tools stay; an empty document list with sync, or their own deletes, remove them.",
		DefaultStatus: http.StatusAccepted, Errors: writeErrors(),
	}, h.deleteAgent)
	h.batchRoute()
	h.syncRoute()
	h.eventRoutes()
}

// handlers answers HTTP calls for a service.
type handlers struct {
	api huma.API
	s   *Service
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

// Huma reads parameters from exported fields only, so the inputs do not embed
// what they have in common.
type putInput struct {
	body
	ID      string `path:"id" doc:"Id: 1 to 256 bytes of UTF-8, percent-encoded."`
	Agent   string `query:"agent" doc:"Id of the agent that owns the tool."`
	Format  string `query:"format" doc:"Format of the document; recognised when absent."`
	Version string `query:"version" doc:"The source's own version, a whole number: lower ones than known are stale."`
}

type deleteInput struct {
	ID      string `path:"id" doc:"Id, percent-encoded."`
	Version string `query:"version" doc:"The source's own version, a whole number: lower ones than known are stale."`
}

type changeOutput struct {
	Status int
	Body   changeAnswer
}

type changeAnswer struct {
	ID       string `json:"id"`
	Revision uint64 `json:"revision,omitempty" doc:"Of the change; of what is known, if nothing changed."`
	State    State  `json:"state" enum:"accepted,unchanged,stale"`
	Reason   string `json:"reason,omitempty"`
}

func (h *handlers) putTool(ctx context.Context, in *putInput) (*changeOutput, error) {
	return h.put(ctx, in, schema.KindTool)
}

func (h *handlers) putAgent(ctx context.Context, in *putInput) (*changeOutput, error) {
	return h.put(ctx, in, schema.KindAgent)
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
	return h.answer(ctx, item)
}

// one reads the one tool or agent that a body is to hold.
func (h *handlers) one(in *putInput, data []byte, kind schema.Kind) (formats.Item, error) {
	options := formats.Options{
		Source: sourceOf(in.hc.Header("Content-Type")), ID: in.ID, Agent: in.Agent, Format: in.Format, Kind: kind,
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

func (h *handlers) deleteTool(ctx context.Context, in *deleteInput) (*changeOutput, error) {
	return h.delete(ctx, in, schema.KindTool)
}

func (h *handlers) deleteAgent(ctx context.Context, in *deleteInput) (*changeOutput, error) {
	return h.delete(ctx, in, schema.KindAgent)
}

func (h *handlers) delete(ctx context.Context, in *deleteInput, kind schema.Kind) (*changeOutput, error) {
	version, err := parseVersion(in.Version)
	if err != nil {
		return nil, err
	}
	return h.answer(ctx, formats.Item{ID: in.ID, Kind: kind, Delete: true, SourceVersion: version})
}

// answer accepts one item. What is stale is answered like what is accepted:
// the sender did all that it could.
func (h *handlers) answer(ctx context.Context, item formats.Item) (*changeOutput, error) {
	outcomes, err := h.s.Accept(ctx, tenant.From(ctx), []formats.Item{item})
	if err != nil {
		return nil, h.s.failed(err)
	}
	o := outcomes[0]
	if o.State == Rejected {
		return nil, o.problem()
	}
	out := &changeOutput{Status: http.StatusAccepted, Body: changeAnswer{ID: o.ID, Revision: o.Revision, State: o.State, Reason: o.Reason}}
	if o.State == Unchanged && !o.Deleted {
		out.Status = http.StatusOK
	}
	return out, nil
}

// parseVersion reads a source version; 0 is none.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v == 0 {
		return 0, problem(http.StatusUnprocessableEntity, "/version", "a version is a whole number above 0")
	}
	return v, nil
}

// rejected is the outcome of what could not be read.
func rejected(p formats.Problem) Outcome {
	return Outcome{Line: p.Line, ID: p.ID, State: Rejected, Reason: p.Reason, Path: p.Path, Detail: p.Detail}
}
