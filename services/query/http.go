package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
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
	Event    schema.FeedbackEvent `json:"event" doc:"selected, called, succeeded, failed or rejected."`
}

type feedbackAnswer struct {
	State string `json:"state" doc:"accepted"`
}

// Routes adds the calls of the service to an API.
func Routes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "search", Method: http.MethodPost, Path: "/v1/search",
		Summary: "Find the tools or agents for a query", Tags: []string{"search"},
		MaxBodyBytes: maxRequest, Errors: []int{400, 413, 422, 503},
	}, func(ctx context.Context, in *searchInput) (*searchOutput, error) {
		resp, err := s.Search(ctx, tenant.From(ctx), in.Body)
		if err != nil {
			return nil, problem(err)
		}
		return &searchOutput{resp}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "feedback", Method: http.MethodPost, Path: "/v1/feedback",
		Summary: "Report what was done with a result", Tags: []string{"search"},
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxRequest, Errors: []int{400, 413, 422, 503},
	}, func(ctx context.Context, in *feedbackInput) (*feedbackOutput, error) {
		f := schema.Feedback{ID: in.Body.ID, SearchID: in.Body.SearchID, ToolID: in.Body.ToolID, Event: in.Body.Event}
		if err := s.Feedback(ctx, tenant.From(ctx), f); err != nil {
			return nil, problem(err)
		}
		return &feedbackOutput{feedbackAnswer{"accepted"}}, nil
	})
	catalogueRoutes(api, s)
}

// problem turns an error of the service into an answer (RFC 9457).
func problem(err error) error {
	var invalid *schema.Invalid
	switch {
	case errors.As(err, &invalid):
		return huma.NewError(http.StatusUnprocessableEntity, invalid.Reason, &huma.ErrorDetail{
			Message: invalid.Reason, Location: "body" + invalid.Path, Value: invalid.Value,
		})
	case errors.Is(err, context.DeadlineExceeded):
		return huma.Error503ServiceUnavailable("the search took too long")
	case errors.Is(err, ErrUnavailable):
		return huma.Error503ServiceUnavailable(ErrUnavailable.Error())
	}
	return err
}

// Handle answers one search request in JSON, for request-reply: the same
// request and answer as POST /v1/search. Its errors are those of Search; bytes
// that are no request are a *schema.Invalid.
func (s *Service) Handle(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	req, err := decodeRequest(body)
	if err != nil {
		return nil, err
	}
	resp, err := s.Search(ctx, tenant, req)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resp)
}

// decodeRequest reads exactly one request of known fields.
func decodeRequest(body []byte) (schema.SearchRequest, error) {
	var req schema.SearchRequest
	if len(body) > maxRequest {
		return req, &schema.Invalid{Reason: fmt.Sprintf("must be at most %d bytes", maxRequest)}
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
