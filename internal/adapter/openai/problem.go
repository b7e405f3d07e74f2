package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// kind says what a problem asks for.
type kind int

const (
	busy     kind = iota // try again while there is patience
	broken               // try again twice, then see whether the texts are at fault
	unusable             // somebody has to mend the set-up
	refused              // these texts will always fail
)

// problem is why a request was not answered with vectors.
type problem struct {
	kind   kind
	reason string        // of a refusal
	after  time.Duration // what the endpoint asks to wait
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func asProblem(err error) (*problem, bool) {
	var p *problem
	return p, errors.As(err, &p)
}

func isRefusal(err error) bool {
	p, ok := asProblem(err)
	return ok && p.kind == refused
}

// poor is the refusal of texts whose answer holds no usable vectors.
func poor(format string, args ...any) error {
	return &problem{kind: refused, reason: reasonVector, err: fmt.Errorf(format, args...)}
}

func unfit(format string, args ...any) error {
	return &problem{kind: unusable, err: fmt.Errorf(format, args...)}
}

func failed(format string, args ...any) error {
	return &problem{kind: busy, err: fmt.Errorf(format, args...)}
}

// ofStatus is the problem of an answer that is not 200.
func ofStatus(resp *http.Response, message string) error {
	p := &problem{err: errors.New(join(resp.Status, message))}
	switch code := resp.StatusCode; {
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		p.kind, p.reason = refused, reasonRefused
	case code == http.StatusInternalServerError:
		p.kind, p.reason = broken, reasonRefused
	case code == http.StatusRequestTimeout, code == http.StatusFailedDependency, code == http.StatusTooEarly,
		code == http.StatusTooManyRequests, code > 500 && code != http.StatusNotImplemented:
		p.kind, p.after = busy, retryAfter(resp.Header.Get("Retry-After"))
	case code >= 300 && code < 400:
		p.kind, p.err = unusable, fmt.Errorf("%s: it has moved; name its new address", resp.Status)
	default:
		p.kind = unusable
	}
	return p
}

func join(status, message string) string {
	if message == "" {
		return status
	}
	return status + ": " + message
}

// retryAfter reads the header's seconds or date; 0 where it says nothing.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
