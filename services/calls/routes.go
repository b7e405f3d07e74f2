package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxRequest is the largest request body that is read, in bytes.
const maxRequest = 4 << 20

type (
	callInput struct {
		ID   string `path:"id" maxLength:"1024" doc:"Id of the tool, percent-encoded, or its callable name."`
		Key  string `header:"Idempotency-Key" maxLength:"256" doc:"As idempotency_key in the body."`
		Body schema.CallRequest
	}
	callOutput struct{ Body schema.CallResult }
)

// Routes adds the call of a tool to an API.
func Routes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "call-tool", Security: identity.Needs(identity.Calling), Method: http.MethodPost, Path: "/v1/tools/{id}:call",
		Summary: "Call a tool", Tags: []string{"calls"},
		Description:  "The status is 200 if the tool answers, even if its answer is a failure. The outcome of a problem says why it did not answer.",
		MaxBodyBytes: maxRequest, Errors: []int{404, 409, 502, 504},
	}, func(ctx context.Context, in *callInput) (*callOutput, error) {
		if in.Key != "" && in.Body.IdempotencyKey != "" && in.Key != in.Body.IdempotencyKey {
			return nil, httpserver.Unprocessable(&schema.Invalid{Path: "/idempotency_key", Reason: "is another one than the header Idempotency-Key"})
		}
		in.Body.IdempotencyKey = cmp.Or(in.Body.IdempotencyKey, in.Key)
		result, err := s.Call(ctx, identity.From(ctx), Request{Tool: in.ID, CallRequest: in.Body})
		if err != nil {
			return nil, answer(err)
		}
		return &callOutput{result}, nil
	})
}

// callProblem is an RFC 9457 problem with the outcome of a call.
type callProblem struct {
	huma.ErrorModel
	Outcome schema.CallOutcome `json:"outcome"`
}

// answer returns the HTTP answer for an error.
func answer(err error) error {
	var wrong *schema.Invalid
	var e *Error
	switch {
	case errors.As(err, &wrong) && wrong.Path == "/id": // which is in the path
		return httpserver.UnprocessableIn(httpserver.InPath, wrong)
	case errors.As(err, &wrong):
		return httpserver.Unprocessable(wrong)
	case !errors.As(err, &e): // the caller has left
		return huma.NewError(http.StatusRequestTimeout, http.StatusText(http.StatusRequestTimeout))
	}
	out := &callProblem{ErrorModel: huma.ErrorModel{Status: e.Status, Title: http.StatusText(e.Status), Detail: e.Detail}, Outcome: e.Outcome}
	if e.Mistakes != nil {
		for _, m := range e.Mistakes.List {
			out.Errors = append(out.Errors, &huma.ErrorDetail{Message: m.Reason, Location: httpserver.InBody + "/arguments" + m.Path})
		}
		if e.Mistakes.More > 0 {
			out.Detail += fmt.Sprintf(" (%d more errors)", e.Mistakes.More)
		}
	}
	if e.RetryAfter > 0 {
		return huma.ErrorWithHeaders(out, http.Header{"Retry-After": {strconv.Itoa(seconds(e.RetryAfter))}})
	}
	return out
}
