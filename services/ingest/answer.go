package ingest

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// answer is the response for the outcome of one item, or for the error of its call.
func (h *handlers) answer(o Outcome, err error) (*changeOutput, error) {
	if err != nil {
		return nil, h.s.failed(err)
	}
	if o.State == Rejected {
		return nil, o.problem()
	}
	out := &changeOutput{Status: http.StatusAccepted, Body: changeAnswer{ID: o.ID, Callable: o.Callable, Revision: o.Revision, State: o.State, Reason: o.Reason}}
	if o.State == Unchanged && !o.Deleted {
		out.Status = http.StatusOK
	}
	return out, nil
}

// rejected is the outcome of an unreadable document.
func rejected(p formats.Problem) Outcome {
	return Outcome{Line: p.Line, ID: p.ID, State: Rejected, Reason: p.Reason, Path: p.Path, Detail: p.Detail}
}

// problem returns an RFC 9457 problem; pointer is the JSON pointer to the wrong value in
// the request, or empty.
func problem(status int, pointer, detail string) *huma.ErrorModel {
	p := &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail}
	if pointer != "" {
		p.Errors = []*huma.ErrorDetail{{Message: detail, Location: pointer}}
	}
	return p
}

// inBody returns the location in a request of a JSON pointer into its body.
func inBody(pointer string) string {
	if pointer == "" {
		return ""
	}
	return httpserver.InBody + pointer
}

func withHeader(p *huma.ErrorModel, name, value string) error {
	return huma.ErrorWithHeaders(p, http.Header{name: {value}})
}

// statusOf returns the status of a request whose only item was refused.
func statusOf(reason string) int {
	switch reason {
	case jsondoc.Empty, jsondoc.InvalidJSON, jsondoc.InvalidYAML, jsondoc.DuplicateKey, jsondoc.InvalidUTF8,
		jsondoc.TooDeep, formats.Unreadable:
		return http.StatusBadRequest
	case jsondoc.TooLarge, formats.Decompressed, ReasonTooLarge:
		return http.StatusRequestEntityTooLarge
	case ReasonNotFound:
		return http.StatusNotFound
	case ReasonConflict, ReasonOwned, ReasonChanged, ReasonLimit: // the caller can resolve it and send it again; waiting alone does not, as with 429
		return http.StatusConflict
	case ReasonTenant:
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

// problem is the answer to a request whose only item was not accepted.
func (o Outcome) problem() error {
	return problem(statusOf(o.Reason), inBody(o.Path), o.detail())
}

func (o Outcome) detail() string {
	switch {
	case o.Detail == "":
		return o.Reason
	case strings.HasPrefix(o.Detail, o.Reason):
		return o.Detail
	}
	return o.Reason + ": " + o.Detail
}

// failed answers for an error of Accept.
func (s *Service) failed(err error) error {
	status, detail := http.StatusServiceUnavailable, "the bus did not confirm: send it again"
	switch {
	case !errors.Is(err, ErrUnavailable):
		return problem(status, "", "the request ended before the bus had answered")
	case errors.Is(err, stream.ErrFull):
		status, detail = http.StatusInsufficientStorage, "there is no room left on the bus"
	case errors.Is(err, errLoading):
		detail = errLoading.Error()
	case errors.Is(err, errStopped):
		detail = errStopped.Error()
	}
	return withHeader(problem(status, "", detail), retryAfter, strconv.Itoa(int(math.Ceil(s.cfg.RetryAfter.Seconds()))))
}

const retryAfter = "Retry-After"

// describe returns a problem's text and the seconds after which to try again, 0 if
// trying again does not help.
func describe(err error) (detail string, after int) {
	var headers huma.HeadersError
	if errors.As(err, &headers) {
		after, _ = strconv.Atoi(headers.GetHeaders().Get(retryAfter)) // empty for other headers
	}
	var p *huma.ErrorModel
	if errors.As(err, &p) {
		return p.Detail, after
	}
	return err.Error(), after
}

// writeProblem answers with an error where huma does not: in a streamed answer.
func writeProblem(api huma.API, hc huma.Context, err error) {
	var headers huma.HeadersError
	if errors.As(err, &headers) {
		for name, values := range headers.GetHeaders() {
			hc.SetHeader(name, values[0])
		}
	}
	p := problem(http.StatusInternalServerError, "", err.Error())
	errors.As(err, &p)
	details := make([]error, len(p.Errors))
	for i, d := range p.Errors {
		details[i] = d
	}
	_ = huma.WriteErr(api, hc, p.Status, p.Detail, details...) // it reports its own failures
}
