package query

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

type (
	plainSearchInput struct {
		Query         string      `query:"q" required:"true" doc:"The request in words."`
		K             int         `query:"k" minimum:"0" doc:"The number of results: 10 by default, at most 1,000."`
		Rank          schema.Rank `query:"rank" enum:"tools,providers,auto" doc:"What to rank: tools (default), providers, or auto."`
		Providers     []string    `query:"provider,explode" doc:"Only tools of these providers: several by commas, or by the parameter again."`
		Tags          []string    `query:"tag,explode" doc:"Only tools with one of these tags: several by commas, or by the parameter again."`
		MinConfidence float64     `query:"min_confidence" minimum:"0" maximum:"1" doc:"Results that are less likely than this to be what the query wants are left out."`
		Connected     bool        `query:"connected" doc:"Tools that cannot be called now are left out."`
		Include       []string    `query:"include,explode" doc:"Parts that each tool comes with (schema, output_schema, examples, parameters, signature): several by commas, or by the parameter again."`
		As            schema.Form `query:"as" enum:"mcp,openai,anthropic,tool_reference,tool_search_output" doc:"The answer also has the tools in this form."`
		CallID        string      `query:"call_id" doc:"Of the tool_search_call that a tool_search_output answers."`
		TokenBudget   int         `query:"token_budget" minimum:"0" doc:"Each tool comes with its signature, and as many of the first as fit into so many tokens with their schemas, or in the form; no budget by default."`
	}
	describeInput  struct{ Body schema.DescribeRequest }
	describeOutput struct{ Body schema.DescribeResponse }
)

// request returns the search that a query of an address asks for.
func (in *plainSearchInput) request() schema.SearchRequest {
	r := schema.SearchRequest{
		Query: in.Query, K: in.K, Rank: in.Rank, Filters: schema.Filters{Providers: valuesOf(in.Providers), Tags: valuesOf(in.Tags)},
		MinConfidence: in.MinConfidence, Connected: in.Connected, Wanted: schema.Wanted{As: in.As, CallID: in.CallID},
	}
	for _, part := range valuesOf(in.Include) {
		r.Include = append(r.Include, schema.Include(part))
	}
	if in.TokenBudget > 0 {
		r.TokenBudget = &in.TokenBudget
	}
	return r
}

// valuesOf returns the values of a parameter that may stand several times, each time with
// several of them.
func valuesOf(given []string) (out []string) {
	for _, values := range given {
		out = append(out, strings.Split(values, ",")...)
	}
	return out
}

func detailRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "search-plainly", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/search",
		Summary: "Find the tools or providers for a query in the address", Tags: []string{"search"}, Errors: []int{422, 503},
	}, func(ctx context.Context, in *plainSearchInput) (*searchOutput, error) {
		return s.answer(ctx, in.request())
	})
	huma.Register(api, huma.Operation{
		OperationID: "describe-tools", Security: identity.Needs(identity.Reader), Method: http.MethodPost, Path: "/v1/tools:describe",
		Summary: "Show several tools, as language models take them", Tags: []string{"search"},
		MaxBodyBytes: maxRequest, Errors: []int{400, 413, 422, 503}, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *describeInput) (*describeOutput, error) {
		resp, err := s.Describe(ctx, identity.From(ctx), in.Body)
		if err != nil {
			return nil, s.problem(ctx, err, &s.reading, "query: the catalogue cannot be read")
		}
		s.reading.Note(ctx, s.deps.Logger, nil, "", "query: the catalogue is read again")
		return &describeOutput{resp}, nil
	})
}

// answer answers a search over HTTP.
func (s *Service) answer(ctx context.Context, req schema.SearchRequest) (*searchOutput, error) {
	resp, err := s.Search(ctx, identity.From(ctx), req)
	if err != nil {
		return nil, s.problem(ctx, err, &s.searching, "query: searches fail")
	}
	s.searching.Note(ctx, s.deps.Logger, nil, "", "query: searches are answered again")
	audit.Annotate(ctx, audit.Details{Search: resp.SearchID})
	return &searchOutput{resp}, nil
}

// Describe returns tools by their ids or callable names, each once. What is in quarantine is
// unknown here as in searches: models read the answer. The error is a *schema.Invalid, wraps
// ErrUnavailable, or is the context's.
func (s *Service) Describe(ctx context.Context, caller identity.Caller, req schema.DescribeRequest) (schema.DescribeResponse, error) {
	out := schema.DescribeResponse{Results: []schema.Described{}, Unknown: []string{}}
	if err := req.Validate(); err != nil {
		return out, err
	}
	scope, err := s.scope(ctx, caller)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	now, release := s.snapshot()
	defer release()
	var found []known
	seen := map[string]bool{}
	for _, key := range req.IDs {
		ref := refOf(caller.Tenant, schema.KindTool, key)
		e, raw, there, err := now.tool(ctx, ref, scope)
		var several *schema.Invalid
		switch {
		case err != nil && !errors.As(err, &several):
			return out, err
		case err != nil || !there || e.Document.Quarantined:
			out.Unknown = append(out.Unknown, key)
			if err == nil && !there {
				now.denied(ctx, ref, scope)
			}
		case !seen[e.ID]:
			seen[e.ID] = true
			found = append(found, known{e, raw})
		}
	}
	out.Results = make([]schema.Described, len(found))
	tools := make([]detailed, len(found))
	connection := s.connectionsOf(caller)
	for i, e := range found {
		doc := &e.Document
		out.Results[i] = schema.Described{
			ID: e.ID, Provider: e.Provider, CallableName: e.CallableName, Name: doc.Name, Title: doc.Title, Description: doc.Description, Flags: doc.Flags,
		}
		connect(&out.Results[i].Details, connection(&e))
		tools[i] = detailed{known: e, Details: &out.Results[i].Details}
	}
	out.InForm = s.detail(ctx, &req.Wanted, tools)
	return out, nil
}
