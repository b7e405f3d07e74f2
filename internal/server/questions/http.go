package questions

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Searcher answers the searches of an evaluation. They are not recorded.
type Searcher interface {
	Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error)
}

// API serves the questions of a tenant to its operators.
type API struct {
	Bucket Bucket

	// Searcher returns a searcher of an index version, 0 for the live version.
	Searcher func(indexVersion int) Searcher
	// Found reports whether a caller may find the tool of an id.
	Found func(ctx context.Context, caller identity.Caller, id string) (bool, error)
	// Problem returns the HTTP error for an error of a search.
	Problem func(ctx context.Context, err error) error

	running running
}

// maxBody bounds the body of a request, in bytes.
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
		Summary: "List the questions for evaluations", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*questionsOutput, error) {
		q, err := a.load(ctx, identity.From(ctx).Tenant)
		if err != nil {
			return nil, httpserver.Unavailable("the questions cannot be read now", 1)
		}
		return &questionsOutput{q}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-questions", Security: identity.Needs(identity.Operator), Method: http.MethodPut, Path: "/v1/questions",
		Summary: "Replace the questions for evaluations", Tags: tags, MaxBodyBytes: maxBody, Errors: []int{409},
	}, func(ctx context.Context, in *questionsInput) (*questionsOutput, error) {
		q, err := a.replace(ctx, identity.From(ctx).Tenant, in.Body)
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
		Summary:     "Evaluate searches with the questions",
		Description: "Searches for every question with each of the settings, while no search of a caller waits, and judges the results. These searches are not recorded, and nothing is learned from them. The grants of the caller apply. The evaluation ends with the connection.",
		Tags:        tags, MaxBodyBytes: maxBody, Errors: []int{409},
	}, a.evaluate)
}
