package questions

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Searcher answers the searches of one evaluation, which teach nothing.
type Searcher interface {
	Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error)
}

// API serves the questions of a tenant to its operators.
type API struct {
	Bucket Bucket

	// Searcher returns what searches an index version, 0 for the one that is searched.
	Searcher func(indexVersion int) Searcher
	// Found reports whether there is a tool of an id that a caller may find.
	Found func(ctx context.Context, caller identity.Caller, id string) (bool, error)
	// Problem turns an error of a search into an answer.
	Problem func(ctx context.Context, err error) error

	atOnce places
}

// maxBody is the largest body with questions that is read, in bytes.
const maxBody = 2 << 20

type (
	questionsOutput struct{ Body Questions }
	questionsInput  struct{ Body Questions }
	evaluateInput   struct{ Body EvaluationRequest }
	evaluateOutput  struct{ Body EvaluationResult }
)

// Routes adds the calls of the API.
func (a *API) Routes(api huma.API) {
	tags := []string{"quality"}
	huma.Register(api, huma.Operation{
		OperationID: "list-questions", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/questions",
		Summary: "List the questions that searches are measured by", Tags: tags, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*questionsOutput, error) {
		q, err := a.of(ctx, identity.From(ctx).Tenant)
		if err != nil {
			return nil, httpserver.Unavailable("the questions cannot be read now", 1)
		}
		return &questionsOutput{q}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-questions", Security: identity.Needs(identity.Operator), Method: http.MethodPut, Path: "/v1/questions",
		Summary: "Replace the questions that searches are measured by", Tags: tags, MaxBodyBytes: maxBody, Errors: []int{400, 409, 413, 422, 503},
	}, func(ctx context.Context, in *questionsInput) (*questionsOutput, error) {
		q, err := a.store(ctx, identity.From(ctx).Tenant, in.Body)
		var invalid *schema.Invalid
		switch {
		case errors.As(err, &invalid):
			return nil, httpserver.Unprocessable(invalid)
		case errors.Is(err, ErrChanged):
			return nil, huma.Error409Conflict(err.Error())
		case err != nil:
			return nil, httpserver.Unavailable("the questions cannot be stored now", 1)
		}
		return &questionsOutput{q}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "evaluate-questions", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/questions:evaluate",
		Summary:     "Measure searches by the questions",
		Description: "Asks every question by each of the settings, while no search of a caller waits, and judges the results. Nothing is recorded of these searches or learned from them. The caller finds what its grants allow. It ends when the connection does.",
		Tags:        tags, MaxBodyBytes: maxBody, Errors: []int{400, 409, 413, 422, 503},
	}, a.evaluate)
}
