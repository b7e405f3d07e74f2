package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// kind sorts problems by the reaction to them.
type kind int

const (
	transient     kind = iota // try again
	serverError               // try again twice, then probe whether the request is at fault
	misconfigured             // an operator has to mend the setup
	refused                   // this request always fails
)

// problem is why a request has no usable answer.
type problem struct {
	kind   kind
	reason string        // of a refusal
	after  time.Duration // what the endpoint asks to wait
	slow   bool          // it did not answer in time
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// Temporary reports whether the same request may be answered later without a
// change to the settings.
func (p *problem) Temporary() bool { return p.kind == transient || p.kind == serverError }

func asProblem(err error) (*problem, bool) {
	var p *problem
	return p, errors.As(err, &p)
}

func isKind(err error, k kind) bool {
	p, ok := asProblem(err)
	return ok && p.kind == k
}

func isSlow(err error) bool {
	p, ok := asProblem(err)
	return ok && p.slow
}

// badVectorf is the refusal of texts whose answer holds no usable vectors.
func badVectorf(format string, args ...any) error {
	return &problem{kind: refused, reason: reasonVector, err: fmt.Errorf(format, args...)}
}

func misconfiguredf(format string, args ...any) error {
	return &problem{kind: misconfigured, err: fmt.Errorf(format, args...)}
}

func transientf(format string, args ...any) error {
	return &problem{kind: transient, err: fmt.Errorf(format, args...)}
}

// The bounds of an error's body.
const (
	maxError       = 16 << 10 // bytes that are read
	maxErrorValues = 1000     // JSON values
)

// ofStatus returns the problem of an answer whose status is not 200. It repeats the
// endpoint's words only if they cannot hold a text of the request: in answers to a
// probe, and if the status is about the key, the model or the load. Otherwise it
// repeats the error's code.
func ofStatus(resp *http.Response, key string, probe bool) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // a part is enough
	p := &problem{}
	words := probe
	switch code := resp.StatusCode; {
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity,
		code == http.StatusNotImplemented:
		p.kind, p.reason = refused, reasonRefused
	case code == http.StatusInternalServerError:
		p.kind, p.reason = serverError, reasonRefused
	case code == http.StatusRequestTimeout, code == http.StatusFailedDependency, code == http.StatusTooEarly,
		code == http.StatusTooManyRequests, code > 500:
		p.after = retryAfter(resp.Header.Get("Retry-After"))
		words = words || code == http.StatusTooManyRequests
	case code >= 300 && code < 400:
		p.kind, p.err = misconfigured, fmt.Errorf("%s: it has moved; name its new address", resp.Status)
		return p
	default:
		p.kind, words = misconfigured, true
	}
	said := codeOf(body)
	if words {
		said = wordsOf(body, key)
	}
	if said != "" {
		said = ": " + said
	}
	p.err = errors.New(resp.Status + said)
	return p
}

// retryAfter reads the header's seconds or date, an hour at most; 0 without either.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, time.Until(at)), time.Hour)
	}
	return 0
}

// maxWords bounds the words of an error that are repeated, in bytes.
const maxWords = 200

// wordsOf returns the words of an error's body without the key, or "".
func wordsOf(body []byte, key string) string {
	var decoded any
	_ = jsondoc.Unmarshal(body, jsondoc.Limits{Nodes: maxErrorValues}, &decoded) // a body of another form says nothing
	said := words(decoded)
	if key != "" { // before the cut, which may leave a part of it
		said = strings.ReplaceAll(said, key, "(key)")
	}
	return text.Truncate(strings.Join(strings.Fields(said), " "), maxWords)
}

// words reads an error in the forms that servers use: a string, an object that has it as a
// member, a list of one.
func words(said any) string {
	switch said := said.(type) {
	case string:
		return said
	case []any:
		if len(said) > 0 {
			return words(said[0])
		}
	case map[string]any:
		for _, member := range []string{"message", "msg", "error", "detail"} {
			if s := words(said[member]); s != "" {
				return s
			}
		}
	}
	return ""
}

var isCode = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// codeOf returns the code or the type of an error if it looks like an identifier,
// else "".
func codeOf(body []byte) string {
	var e struct {
		Error struct {
			Code any `json:"code"`
			Type any `json:"type"`
		} `json:"error"`
	}
	_ = jsondoc.Unmarshal(body, jsondoc.Limits{Bytes: len(body), Nodes: maxErrorValues}, &e)
	for _, v := range []any{e.Error.Code, e.Error.Type} {
		if s, ok := v.(string); ok && len(s) <= 64 && isCode.MatchString(s) {
			return s
		}
	}
	return ""
}
