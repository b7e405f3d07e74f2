package ingest

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// problem returns an RFC 9457 problem; pointer, if not empty, is the JSON
// pointer to what is wrong.
func problem(status int, pointer, detail string) *huma.ErrorModel {
	p := &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail}
	if pointer != "" {
		p.Errors = []*huma.ErrorDetail{{Message: detail, Location: pointer}}
	}
	return p
}

func withHeader(p *huma.ErrorModel, name, value string) error {
	return huma.ErrorWithHeaders(p, http.Header{name: {value}})
}

// statusOf returns the status that a refused item has when it was sent alone.
func statusOf(reason string) int {
	switch reason {
	case jsondoc.Empty, jsondoc.InvalidJSON, jsondoc.InvalidYAML, jsondoc.DuplicateKey, jsondoc.InvalidUTF8,
		jsondoc.TooDeep, formats.Unreadable:
		return http.StatusBadRequest
	case jsondoc.TooLarge, formats.Decompressed, ReasonTooLarge:
		return http.StatusRequestEntityTooLarge
	case ReasonConflict:
		return http.StatusConflict
	case ReasonTenant:
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

// problem answers for one item that was not accepted.
func (o Outcome) problem() error {
	return problem(statusOf(o.Reason), o.Path, o.detail())
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
	var u *UnavailableError
	if !errors.As(err, &u) {
		return problem(http.StatusServiceUnavailable, "", "the request ended before the bus had answered")
	}
	status, detail := http.StatusServiceUnavailable, "the bus did not confirm: send it again"
	switch {
	case u.Full:
		status, detail = http.StatusInsufficientStorage, "there is no room left on the bus"
	case errors.Is(err, errLoading), errors.Is(err, errStopped):
		detail = u.Err.Error()
	}
	return withHeader(problem(status, "", detail), retryAfter, s.retryAfter())
}

const retryAfter = "Retry-After"

// retryAfter is Config.RetryAfter as a header.
func (s *Service) retryAfter() string {
	return strconv.Itoa(int(math.Ceil(s.cfg.RetryAfter.Seconds())))
}

// describe returns a problem's text and after how many seconds to come back, 0
// if that makes no difference.
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

// writeProblem answers with an error of this package where huma does not do it.
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
	_ = huma.WriteErr(api, hc, p.Status, p.Detail, details...) // it reports by itself what it can not write
}
