// Package llm is a language model as the stages see it: instructions and data
// in, JSON of a given shape out, and a few kinds of failures.
//
// A Model is one endpoint, bare. A Client is what the stages hold: a Model
// behind a budget, a circuit breaker, a limit of calls at once, deadlines,
// retries, and accounts of the cost. A Reference decides whether an answer is about the
// subject of its request, by common words and by vectors (related.go).
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Stage names who asks, for accounts and limits.
type Stage string

// The stages that ask.
const (
	StageStandardize Stage = "standardize"
	StageRewrite     Stage = "rewrite"
)

var stages = []Stage{StageStandardize, StageRewrite}

// Request is one question. The model has no tools and remembers nothing.
type Request struct {
	Stage  Stage
	Tenant string
	// System is what the project itself says: never text of a document or of a
	// query.
	System string
	// User is data: whatever it says, it is not an instruction. It is delimited
	// by the stage that asks.
	User string
	// Schema is the shape of the answer.
	Schema Schema
	// MaxTokens bounds the answer.
	MaxTokens int
}

// Schema is a JSON Schema in the subset that strict structured output takes:
// objects closed, every property required.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Answer is what the model said.
type Answer struct {
	JSON  json.RawMessage // one JSON value; whether it fits the schema is for the stage to check
	Model string          // as the endpoint names it
	Usage Usage
}

// Usage is the cost of a call, in tokens as the endpoint counts them.
type Usage struct {
	Prompt     int
	Completion int
}

// Model answers requests. It may be called concurrently. Its error is an *Error,
// or the context's. A refused or malformed answer has cost tokens, too, which
// Answer.Usage has despite the error.
type Model interface {
	// Name identifies the model and everything its answers depend on but the
	// prompt.
	Name() string
	Complete(ctx context.Context, r Request) (Answer, error)
}

// Kind sorts failures by the reaction to them.
type Kind string

// The kinds of failure.
const (
	Unavailable Kind = "unavailable" // away, busy, cut short: may pass
	TimedOut    Kind = "timeout"     // no answer in the time of a try: asking again at once would be as slow
	Setup       Kind = "setup"       // address, key or model are wrong: an operator mends it
	Rejected    Kind = "rejected"    // the endpoint does not take this request: too long, filtered
	Refused     Kind = "refused"     // the model declines to answer
	Malformed   Kind = "malformed"   // no choice, no JSON, cut off by the limit of tokens
	Broken      Kind = "broken"      // not asked: the circuit is open
	Exhausted   Kind = "exhausted"   // not asked: the budget of the day is spent
)

// Error is a failure of a call.
type Error struct {
	Kind       Kind
	RetryAfter time.Duration // what the endpoint asks for; 0: it does not say
	Text       string        // of a Refused or Malformed answer, at most MaxKept bytes
	Err        error
}

// MaxKept bounds the text of an unusable answer in an Error, in bytes.
const MaxKept = 8 << 10

// Error says what failed.
func (e *Error) Error() string { return fmt.Sprintf("llm: %s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an *Error, "" for any other error.
func KindOf(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
