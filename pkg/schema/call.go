package schema

import "encoding/json"

// CallRequest asks for one call of a tool.
type CallRequest struct {
	Arguments      json.RawMessage `json:"arguments,omitempty"`                       // the tool's arguments, an object; absent: none
	SearchID       string          `json:"search_id,omitempty" maxLength:"1024"`      // of the search that showed the tool: the outcome is feedback on it. Absent: that of the newest search of the caller and session that showed it, within ten minutes
	Session        string          `json:"session,omitempty" maxLength:"256"`         // of the searches among which that one is, as they named it; with one, those that named none are left out
	IdempotencyKey string          `json:"idempotency_key,omitempty" maxLength:"256"` // calls of one tool by one caller with the same key run once; the later ones get the result of the first
	InputResponses json.RawMessage `json:"input_responses,omitempty"`                 // after input_required: the answers, by the ids of input_requests
	RequestState   string          `json:"request_state,omitempty" maxLength:"65536"` // after input_required: as it came
}

// CallOutcome is how a call ended.
type CallOutcome string

// The outcomes of calls. The tool has answered with the first three, which are those of a
// CallResult; the others are of errors.
const (
	CallOK               CallOutcome = "ok"
	CallToolError        CallOutcome = "tool_error"        // the tool says that it failed
	CallInputRequired    CallOutcome = "input_required"    // the tool wants to know something first
	CallProtocolError    CallOutcome = "protocol_error"    // the tool's server is not there, or does not speak as it should
	CallTimeout          CallOutcome = "timeout"           // it did not answer in time
	CallRefused          CallOutcome = "refused"           // by this server: a grant, a setting or a limit
	CallInvalidArguments CallOutcome = "invalid_arguments" // the arguments do not fit the tool's schema
)

// CallResult is what a tool has answered.
type CallResult struct {
	Outcome    CallOutcome       `json:"outcome"`              // tool_error where the tool says that it failed, input_required where it wants to know something first, else ok
	Tool       string            `json:"tool"`                 // id of the tool
	Content    []json.RawMessage `json:"content"`              // content blocks of MCP: text, image, audio, resource_link or resource
	Structured json.RawMessage   `json:"structured,omitempty"` // the answer as JSON, where it is
	IsError    bool              `json:"is_error"`             // the tool says that it failed
	Status     int               `json:"status,omitempty"`     // of the answer of an HTTP API
	Truncated  bool              `json:"truncated,omitempty"`  // the answer was larger than calls.max_result
	Repeated   bool              `json:"repeated,omitempty"`   // the tool was not called again: this is the result of an earlier call with the same idempotency key
	SearchID   string            `json:"search_id,omitempty"`  // the search that the outcome is feedback on
	TookMS     float64           `json:"took_ms"`              // how long the call took, in milliseconds

	InputRequests json.RawMessage `json:"input_requests,omitempty"` // with input_required: what the tool asks for, by ids, as MCP has it
	RequestState  string          `json:"request_state,omitempty"`  // with input_required: to be sent back with input_responses
}
