package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// maxRequest is the largest request body that is read, in bytes.
const maxRequest = 256 << 10

type (
	searchInput    struct{ Body schema.SearchRequest }
	searchOutput   struct{ Body schema.SearchResponse }
	feedbackInput  struct{ Body feedbackBody }
	feedbackOutput struct{ Body feedbackAnswer }
)

// feedbackBody is what a client may say of a feedback event; tenant and time
// are not for it to say.
type feedbackBody struct {
	ID       string               `json:"id,omitempty" doc:"The same id twice counts once; search, tool and event when absent."`
	SearchID string               `json:"search_id" doc:"From the answer to the search."`
	ToolID   string               `json:"tool_id" doc:"The result that the event is about."`
	Event    schema.FeedbackEvent `json:"event" doc:"selected, called, succeeded, failed or rejected; or protocol_error, timeout, refused or invalid_arguments, which are recorded and teach nothing."`
	Client   string               `json:"client,omitempty" doc:"Who reports, among those who share a token."`
}

type feedbackAnswer struct {
	State string `json:"state" enum:"accepted" doc:"The event is durable."`
}

// Routes adds the calls of the service to an API.
func Routes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "search", Security: identity.Needs(identity.Reader), Method: http.MethodPost, Path: "/v1/search",
		Summary: "Find the tools or providers for a query", Tags: []string{"search"},
		MaxBodyBytes: maxRequest, Errors: []int{400, 403, 413, 422, 503}, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *searchInput) (*searchOutput, error) {
		return s.answer(ctx, in.Body)
	})
	huma.Register(api, huma.Operation{
		OperationID: "report-feedback", Security: identity.Needs(identity.Calling), Method: http.MethodPost, Path: "/v1/feedback",
		Summary: "Report what was done with a result", Tags: []string{"search"},
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxRequest, Errors: []int{400, 413, 422, 503}, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *feedbackInput) (*feedbackOutput, error) {
		f := schema.Feedback{ID: in.Body.ID, SearchID: in.Body.SearchID, ToolID: in.Body.ToolID, Event: in.Body.Event, Client: in.Body.Client}
		if err := s.Feedback(ctx, identity.From(ctx).Tenant, f); err != nil {
			return nil, s.problem(ctx, err, &s.reporting, "query: feedback fails")
		}
		s.reporting.Note(ctx, s.deps.Logger, nil, "", "query: feedback is taken again")
		audit.Annotate(ctx, audit.Details{Search: f.SearchID, Tools: []audit.ToolRef{{ID: f.ToolID}}})
		return &feedbackOutput{feedbackAnswer{"accepted"}}, nil
	})
	detailRoutes(api, s)
	catalogueRoutes(api, s)
	revisionRoutes(api, s)
	summaryRoutes(api, s)
	rewriteRoutes(api, s)
}

// ErrTooLarge is wrapped by the error for a request that is not read at all.
var ErrTooLarge = errors.New("request is too large")

// Status returns the HTTP status of an error of the service; request-reply
// answers with the same codes.
func Status(err error) int {
	var invalid *schema.Invalid
	switch {
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrNoTool):
		return http.StatusNotFound
	case errors.Is(err, ErrNotOperator):
		return http.StatusForbidden
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrUnreported):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

// problem turns an error into an answer (RFC 9457). What went wrong inside is
// for the log, not for the caller: the first time, with the words of fails.
func (s *Service) problem(ctx context.Context, err error, state *health.State, fails string) error {
	status := Status(err)
	var invalid *schema.Invalid
	if errors.As(err, &invalid) {
		return httpserver.Unprocessable(invalid)
	}
	if status >= http.StatusInternalServerError && !errors.Is(err, ErrBusy) { // which is counted, and would flood the log
		state.Note(ctx, s.deps.Logger, err, fails, "")
	}
	if status == http.StatusServiceUnavailable {
		away := ErrUnavailable
		switch {
		case errors.Is(err, ErrUnreported):
			away = ErrUnreported
		case errors.Is(err, ErrBusy):
			away = ErrBusy
		case errors.Is(err, policy.ErrUnknown):
			away = policy.ErrUnknown
		}
		return httpserver.Unavailable(away.Error(), 1)
	}
	if status == http.StatusForbidden {
		return huma.Error403Forbidden(err.Error())
	}
	return huma.NewError(status, http.StatusText(status))
}

// Handle answers one search request in JSON, for request-reply: the same
// request and answer as POST /v1/search. Its errors are those of Search; bytes
// that are no request are a *schema.Invalid, too many an ErrTooLarge. A request
// whose caller has given up is not worked on.
func (s *Service) Handle(ctx context.Context, caller identity.Caller, body []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req, err := decodeRequest(body)
	if err != nil {
		return nil, err
	}
	resp, err := s.Search(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resp)
}

// decodeRequest reads exactly one request of known fields.
func decodeRequest(body []byte) (schema.SearchRequest, error) {
	var req schema.SearchRequest
	if len(body) > maxRequest {
		return req, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(body), maxRequest)
	}
	if !utf8.Valid(body) { // the decoder would put a replacement character in its place
		return req, &schema.Invalid{Reason: "must be UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, &schema.Invalid{Reason: "must be a search request: " + err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return req, &schema.Invalid{Reason: "must be one search request and nothing after it"}
	}
	return req, nil
}

type failedOutput struct{ Body failedRewrites }

type failedRewrites struct {
	Failed []rewriting.Failed `json:"failed" doc:"Newest first; those that this process keeps in its memory."`
}

// rewriteRoutes adds the list of failed rewrites.
func rewriteRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "list-failed-rewrites", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/rewrites/failed",
		Summary: "Show answers of the language model that could not be used as rewrites", Tags: []string{"search"},
	}, func(ctx context.Context, _ *struct{}) (*failedOutput, error) {
		out := failedRewrites{Failed: []rewriting.Failed{}}
		if s.deps.Rewriter != nil {
			out.Failed = s.deps.Rewriter.Failed(identity.From(ctx).Tenant)
		}
		return &failedOutput{out}, nil
	})
}
