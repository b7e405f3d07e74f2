package httpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/pkg/schema"
)

// WriteProblem writes an RFC 9457 answer.
func WriteProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", problemType)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	// The status line is sent: a write fails here only if the client has left.
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail})
}

// Unavailable is the answer while a part does not answer: the client may send again after so
// many seconds.
func Unavailable(detail string, again int) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(detail), http.Header{"Retry-After": {strconv.Itoa(again)}})
}

// Full is the answer to a request whose content found no memory, and nil to other errors.
func Full(err error) error {
	full := (*inflight.FullError)(nil)
	switch {
	case !errors.As(err, &full):
		return nil
	case full.After == 0:
		return huma.NewError(http.StatusRequestEntityTooLarge, full.Error())
	}
	return Unavailable(full.Error(), int(full.After.Seconds()))
}

// Parts of a request, as locations of errors name them.
const (
	InBody  = "/body"
	InPath  = "/path"
	InQuery = "/query"
)

// Unprocessable is the answer to a body with invalid content.
func Unprocessable(err *schema.Invalid) error { return UnprocessableIn(InBody, err) }

// UnprocessableIn is that to a part of a request.
func UnprocessableIn(part string, err *schema.Invalid) error {
	return huma.Error422UnprocessableEntity(err.Error(), &huma.ErrorDetail{Message: err.Reason, Location: part + err.Path, Value: err.Value})
}

// pointLocations writes the places of errors as JSON pointers into the request. Huma's are
// as in body.items[3].name, without dots and brackets in names (plainNames).
func pointLocations(_ huma.Context, _ string, answer any) (any, error) {
	problem, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	for _, detail := range problem.Errors {
		if at := detail.Location; at != "" && at[0] != '/' {
			detail.Location = "/" + humaSeparators.Replace(at)
		}
	}
	return answer, nil
}

// humaSeparators turns huma's separators into the separators of a pointer, and restores the ones
// in names.
var humaSeparators = strings.NewReplacer("~", "~0", "/", "~1", ".", "/", "[", "/", "]", "", "․", ".", "［", "[", "］", "]")

// Bounds of a problem document.
const (
	maxErrors = 20  // errors that it lists
	maxEchoed = 200 // bytes of a refused text that it repeats
)

// boundProblem bounds the size of an error answer: validation makes one error for each unknown
// member of an object, and each error quotes the whole object.
func boundProblem(ctx huma.Context, _ string, answer any) (any, error) {
	problem, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	if b, ok := ctx.(*bodyContext); ok && b.err != nil && problem.Status == http.StatusInternalServerError {
		problem.Status = b.status()
		problem.Title = http.StatusText(problem.Status)
		problem.Detail = "the request body is malformed or cut off"
		if full := (*inflight.FullError)(nil); errors.As(b.err, &full) {
			problem.Detail = full.Error()
		}
	}
	if more := len(problem.Errors) - maxErrors; more > 0 {
		problem.Errors = problem.Errors[:maxErrors]
		problem.Detail += fmt.Sprintf(" (%d more errors)", more)
	}
	quoted := map[uintptr]bool{}
	for _, detail := range problem.Errors {
		switch v := detail.Value.(type) {
		case string:
			if len(v) > maxEchoed {
				detail.Value = schema.Quote(v)
			}
		case map[string]any, []any:
			detail.Value = nil
			if same := reflect.ValueOf(v).Pointer(); !quoted[same] {
				quoted[same] = true
				detail.Value = schema.Quote(v)
			}
		}
	}
	return answer, nil
}
