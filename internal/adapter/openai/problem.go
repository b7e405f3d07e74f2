package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/text"
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
	crowd  bool          // it is asked too much
	slow   bool          // it did not answer in time
	said   string        // what a refusal says, all of it: to look for names of members in, never to repeat
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// Temporary reports whether the same request may be answered later, without anybody
// mending anything here.
func (p *problem) Temporary() bool { return p.kind == busy || p.kind == broken }

func asProblem(err error) (*problem, bool) {
	var p *problem
	return p, errors.As(err, &p)
}

func isRefusal(err error) bool {
	p, ok := asProblem(err)
	return ok && p.kind == refused
}

func isSlow(err error) bool {
	p, ok := asProblem(err)
	return ok && p.slow
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

// maxError bounds what is read of the body of an error.
const maxError = 16 << 10

// ofStatus is the problem of an answer that is not 200. Neither the key nor the
// texts of the request are repeated.
func ofStatus(resp *http.Response, key string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // what can be read of it is enough
	p := &problem{said: string(body), err: errors.New(join(resp.Status, unechoed(explanation(body, key), resp.Request)))}
	switch code := resp.StatusCode; {
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		p.kind, p.reason = refused, reasonRefused
	case code == http.StatusInternalServerError:
		p.kind, p.reason = broken, reasonRefused
	case code == http.StatusRequestTimeout, code == http.StatusFailedDependency, code == http.StatusTooEarly,
		code == http.StatusTooManyRequests, code > 500 && code != http.StatusNotImplemented:
		p.kind, p.after = busy, retryAfter(resp.Header.Get("Retry-After"))
		p.crowd = code == http.StatusTooManyRequests || p.after > 0
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

// isJSON refuses what says of itself that it is something else: a login page,
// mostly.
func isJSON(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" || err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) {
		return nil
	}
	return unfit("the answer is %q and not JSON: is the address right?", text.Truncate(contentType, 80))
}

// maxExplanation bounds what is repeated of an error's words.
const maxExplanation = 200

// explanation returns the words of an error's body in the forms that servers
// use, "" where there are none. Nothing else of it is repeated: some servers
// answer with the whole request.
func explanation(body []byte, key string) string {
	var a struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(alone(body), &a) != nil {
		return ""
	}
	words := a.Message
	for _, raw := range []json.RawMessage{a.Error, a.Detail} {
		if words == "" {
			words = wordsOf(raw)
		}
	}
	if key != "" {
		words = strings.ReplaceAll(words, key, "(key)")
	}
	return text.Truncate(strings.Join(strings.Fields(words), " "), maxExplanation)
}

// alone returns the element of an array that has only one, as some servers wrap an
// error.
func alone(body []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return body
}

// wordsOf reads "…", {"message": "…"} and [{"msg": "…"}].
func wordsOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var one struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &one) == nil {
		return one.Message
	}
	var list []struct {
		Message string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0].Message
	}
	return ""
}
