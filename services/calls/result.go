package calls

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/toolstream/toolstream/internal/toolschema"
)

// Request asks for one call of a tool.
type Request struct {
	Tool      string          // id or callable name
	Arguments json.RawMessage // an object; empty: none
	SearchID  string          // of the search that showed the tool; empty: see Session
	Session   string          // of the caller, to find the search by; may be empty

	// IdempotencyKey lets repeated calls run once: of the same caller and tool.
	IdempotencyKey string

	// InputResponses and RequestState go on with a call that needed input: what the tool asked
	// for, by the ids of its questions, and the state that came with them.
	InputResponses json.RawMessage
	RequestState   string
}

// Outcome is how a call ended.
type Outcome string

// The outcomes. The first two say something of whether the tool was the right one.
const (
	OK               Outcome = "ok"
	ToolError        Outcome = "tool_error"        // the tool says that it failed
	InputRequired    Outcome = "input_required"    // the tool wants to know something first
	ProtocolError    Outcome = "protocol_error"    // the tool's server is not there, or does not speak as it should
	Timeout          Outcome = "timeout"           // it did not answer in time
	Refused          Outcome = "refused"           // by this server: a grant, a setting or a limit
	InvalidArguments Outcome = "invalid_arguments" // the arguments do not fit the tool's schema
)

// Result is what a tool has answered.
type Result struct {
	Outcome    Outcome           `json:"outcome" enum:"ok,tool_error,input_required" doc:"ok, tool_error where the tool says that it failed, or input_required where it wants to know something first."`
	Tool       string            `json:"tool" doc:"Id of the tool."`
	Content    []json.RawMessage `json:"content" nullable:"false" doc:"Content blocks of MCP: text, image, audio, resource_link or resource."`
	Structured json.RawMessage   `json:"structured,omitempty" doc:"The answer as JSON, where it is."`
	IsError    bool              `json:"is_error" doc:"The tool says that it failed."`
	Status     int               `json:"status,omitempty" doc:"Of the answer of an HTTP API."`
	Truncated  bool              `json:"truncated,omitempty" doc:"The answer was larger than calls.max_result."`
	Repeated   bool              `json:"repeated,omitempty" doc:"The tool was not called again: this is the result of an earlier call with the same idempotency key."`
	SearchID   string            `json:"search_id,omitempty" doc:"The search that the outcome is feedback on."`
	TookMS     float64           `json:"took_ms" doc:"How long the call took, in milliseconds."`

	InputRequests json.RawMessage `json:"input_requests,omitempty" doc:"With input_required: what the tool asks for, by ids, as MCP has it."`
	RequestState  string          `json:"request_state,omitempty" doc:"With input_required: to be sent back with input_responses."`
}

// Error is the error of a call that the tool has not answered.
type Error struct {
	Outcome    Outcome
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

// invalid returns the error of a call whose arguments are not what its tool takes.
func invalid(p *toolschema.Problems) *Error {
	return &Error{Outcome: InvalidArguments, Status: http.StatusUnprocessableEntity, unsent: true, Detail: "the arguments do not fit the tool's input schema", Mistakes: p}
}

// refused returns the error of a call that this server does not make.
func refused(status int, format string, args ...any) *Error {
	return &Error{Outcome: Refused, Status: status, unsent: true, Detail: fmt.Sprintf(format, args...)}
}

// busy returns the error of a call that is not made now.
func busy(status int, again time.Duration, format string, args ...any) *Error {
	return &Error{Outcome: Refused, Status: status, unsent: true, RetryAfter: max(again, time.Second), Detail: fmt.Sprintf(format, args...)}
}

// unanswered returns the error of a call that the tool's server has not answered as it should.
func unanswered(format string, args ...any) *Error {
	return &Error{Outcome: ProtocolError, Status: http.StatusBadGateway, Detail: fmt.Sprintf(format, args...)}
}
