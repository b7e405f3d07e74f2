package stream

import (
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/pkg/events"
)

// Reasons that the loop itself gives; handlers add their own.
const (
	ReasonPanic       = "panic"       // the handler panicked on the record, twice
	ReasonUndecodable = "undecodable" // a sink could not read the record
	ReasonTooLarge    = "too_large"   // the result for the record does not fit on the bus
)

// ReasonLost is the reason of the error of a bus that holds less than it has acknowledged. It
// ends a Loop and a Tail: going on would hide the loss.
const ReasonLost = "bus_lost_messages"

// ErrFull is in the error of a Publish that found no room on the bus. It is
// transient; a caller with a client of its own can tell it to come back later.
var ErrFull = errors.New("no room on the bus")

// PermanentError marks a failure that the same bytes will always meet again.
// Every other error is transient.
type PermanentError struct {
	Reason string // a stable word, e.g. "unknown_schema": operators and metrics group by it
	Err    error
}

// Error is the reason and the cause.
func (e *PermanentError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent marks err as permanent: the record goes to the dead letters
// instead of being tried again. A nil err stays nil.
func Permanent(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Reason: reason, Err: err}
}

// AsPermanent returns the permanent error within err, if there is one.
func AsPermanent(err error) (*PermanentError, bool) {
	var p *PermanentError
	return p, errors.As(err, &p)
}

// Reason returns the reason of a permanent error, and "" for any other.
func Reason(err error) string {
	if p, ok := AsPermanent(err); ok {
		return p.Reason
	}
	return ""
}

// Decode reads the record in a message. Its errors are permanent.
func Decode[T events.Record](m Message) (T, error) {
	v, err := events.Decode[T](m.Value)
	reason := ReasonUndecodable
	if unknown := (*events.UnknownSchemaError)(nil); errors.As(err, &unknown) {
		reason = events.ReasonUnknownSchema
	}
	return v, Permanent(reason, err)
}
