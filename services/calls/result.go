package calls

import (
	"fmt"
	"net/http"
	"time"

	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Request asks for one call of a tool.
type Request struct {
	Tool string // id or callable name
	schema.CallRequest
}

// Error is the error of a call that the tool has not answered.
type Error struct {
	Outcome    schema.CallOutcome
	Status     int // of an HTTP answer
	Detail     string
	RetryAfter time.Duration        // after which to call again; 0: that is not known to help
	Mistakes   *toolschema.Problems // of InvalidArguments

	answered bool // the tool's server has answered
	unsent   bool // the tool was not called
	apart    bool // it says nothing of the tool's server, which was not asked
}

// Error returns the detail, with the mistakes one a line.
func (e *Error) Error() string {
	if e.Mistakes != nil {
		return e.Mistakes.Error()
	}
	return e.Detail
}

// invalid returns the error of a call whose arguments its tool does not accept.
func invalid(p *toolschema.Problems) *Error {
	return &Error{Outcome: schema.CallInvalidArguments, Status: http.StatusUnprocessableEntity, unsent: true, Detail: "the arguments do not fit the tool's input schema", Mistakes: p}
}

// refused returns the error of a call that this server does not make.
func refused(status int, format string, args ...any) *Error {
	return &Error{Outcome: schema.CallRefused, Status: status, unsent: true, Detail: fmt.Sprintf(format, args...)}
}

// busy returns the error of a call that is not made now.
func busy(status int, again time.Duration, format string, args ...any) *Error {
	return &Error{Outcome: schema.CallRefused, Status: status, unsent: true, RetryAfter: max(again, time.Second), Detail: fmt.Sprintf(format, args...)}
}

// unanswered returns the error of a call that the tool's server has not answered as it should.
func unanswered(format string, args ...any) *Error {
	return &Error{Outcome: schema.CallProtocolError, Status: http.StatusBadGateway, Detail: fmt.Sprintf(format, args...)}
}
