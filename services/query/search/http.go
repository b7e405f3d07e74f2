package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// maxRequest is the largest request body that is read, in bytes.
const maxRequest = 256 << 10

type (
	searchInput      struct{ Body schema.SearchRequest }
	searchOutput     struct{ Body schema.SearchResponse }
	plainSearchInput struct {
		Query         string      `query:"q" required:"true" doc:"The request in words."`
		K             int         `query:"k" minimum:"0" doc:"The number of results: 10 by default, at most 1,000."`
		Rank          schema.Rank `query:"rank" enum:"tools,providers,auto" doc:"tools (default), providers, or auto."`
		Providers     []string    `query:"provider,explode" doc:"Only tools of these providers (a list)."`
		Tags          []string    `query:"tag,explode" doc:"Only tools with one of these tags (a list)."`
		MinConfidence float64     `query:"min_confidence" minimum:"0" maximum:"1" doc:"Leave out results of a lower confidence."`
		Connected     bool        `query:"connected" doc:"Leave out tools that cannot be called now."`
		Include       []string    `query:"include,explode" doc:"Parts to add to each tool (a list): schema, output_schema, examples, parameters, signature."`
		As            schema.Form `query:"as" enum:"mcp,openai,anthropic,tool_reference,tool_search_output" doc:"Add the tools in this form."`
		CallID        string      `query:"call_id" doc:"Id of the tool_search_call that a tool_search_output answers."`
		TokenBudget   int         `query:"token_budget" minimum:"0" doc:"Tokens for the tools: as many of the first as fit come with their schemas, or in the form; the others with their signatures. No budget by default."`
	}
	failedOutput   struct{ Body failedRewrites }
	failedRewrites struct {
		Failed []rewriting.Failed `json:"failed" doc:"The failures in this process's memory, newest first."`
	}
)

// Routes adds searches to an API.
func Routes(api huma.API, s *Searcher) {
	huma.Register(api, huma.Operation{
		OperationID: "search", Security: identity.Needs(identity.Reader), Method: http.MethodPost, Path: "/v1/search",
		Summary: "Find the tools or providers for a query", Tags: []string{"search"},
		MaxBodyBytes: maxRequest, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *searchInput) (*searchOutput, error) {
		return s.answer(ctx, in.Body)
	})
	huma.Register(api, huma.Operation{
		OperationID: "search-plainly", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/search",
		Summary: "Find the tools or providers for a short query", Tags: []string{"search"},
	}, func(ctx context.Context, in *plainSearchInput) (*searchOutput, error) {
		return s.answer(ctx, in.request())
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-failed-rewrites", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/rewrites/failed",
		Summary: "Show unusable rewrites of the language model", Tags: []string{"search"},
	}, func(ctx context.Context, _ *struct{}) (*failedOutput, error) {
		out := failedRewrites{Failed: []rewriting.Failed{}}
		if s.deps.Rewriter != nil {
			out.Failed = s.deps.Rewriter.Failed(identity.From(ctx).Tenant)
		}
		return &failedOutput{out}, nil
	})
}

// request returns the search that the query of an address asks for.
func (in *plainSearchInput) request() schema.SearchRequest {
	split := func(given []string) (out []string) { // a parameter may be repeated, each time with several values
		for _, values := range given {
			out = append(out, strings.Split(values, ",")...)
		}
		return out
	}
	r := schema.SearchRequest{
		Query: in.Query, K: in.K, Rank: in.Rank, Filters: schema.Filters{Providers: split(in.Providers), Tags: split(in.Tags)},
		MinConfidence: in.MinConfidence, Connected: in.Connected, Wanted: schema.Wanted{As: in.As, CallID: in.CallID},
	}
	for _, part := range split(in.Include) {
		r.Include = append(r.Include, schema.Include(part))
	}
	if in.TokenBudget > 0 {
		r.TokenBudget = &in.TokenBudget
	}
	return r
}

// answer answers a search over HTTP.
func (s *Searcher) answer(ctx context.Context, req schema.SearchRequest) (*searchOutput, error) {
	resp, err := s.Search(ctx, identity.From(ctx), req)
	if err != nil {
		return nil, s.Problem(ctx, err)
	}
	s.searching.LogChange(ctx, s.deps.Logger, nil, "", "query: searches are answered again")
	audit.Annotate(ctx, audit.Details{Search: resp.SearchID})
	return &searchOutput{resp}, nil
}

// Problem turns an error of a search into an answer (RFC 9457). An internal error is for the
// log, not for the caller.
func (s *Searcher) Problem(ctx context.Context, err error) error {
	if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
		return httpserver.Unprocessable(invalid)
	}
	status := Status(err)
	if status >= http.StatusInternalServerError && !errors.Is(err, ErrBusy) { // a refused search is counted, and would flood the log
		s.searching.LogChange(ctx, s.deps.Logger, err, "query: searches fail", "")
	}
	switch status {
	case http.StatusServiceUnavailable:
		for _, away := range []error{ErrBusy, policy.ErrUnknown} {
			if errors.Is(err, away) {
				return httpserver.Unavailable(away.Error(), 1)
			}
		}
		return httpserver.Unavailable(catalogue.ErrUnavailable.Error(), 1)
	case http.StatusForbidden:
		return huma.Error403Forbidden(err.Error())
	}
	return huma.NewError(status, http.StatusText(status))
}

// ErrTooLarge is wrapped by the error for a request that is not read at all.
var ErrTooLarge = errors.New("request is too large")

// Status returns the HTTP status of an error of Search or Handle. Request-reply answers with
// the same codes.
func Status(err error) int {
	switch {
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, new(*schema.Invalid)):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrNotOperator):
		return http.StatusForbidden
	case errors.Is(err, catalogue.ErrUnavailable):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

// Handle answers a search request in JSON, for request-reply: the same request and answer as
// POST /v1/search. Its error is an error of Search, a *schema.Invalid for bytes that are not a
// request, or an ErrTooLarge. A request whose caller has given up is not worked on.
func (s *Searcher) Handle(ctx context.Context, caller identity.Caller, body []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(body) > maxRequest {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(body), maxRequest)
	}
	if _, err := jsondoc.Decode(body, jsondoc.Limits{Bytes: maxRequest}); err != nil { // as over HTTP: no member twice, valid UTF-8, nothing after it
		return nil, &schema.Invalid{Reason: "must be one search request: " + err.Error()}
	}
	var req schema.SearchRequest
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return nil, &schema.Invalid{Reason: "must be a search request: " + err.Error()}
	}
	resp, err := s.Search(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resp)
}
