package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// CallRequest asks for one call of a tool.
type CallRequest struct {
	Arguments      json.RawMessage `json:"arguments,omitempty"`                       // The arguments of the tool, as an object. Without it, the tool gets none.
	SearchID       string          `json:"search_id,omitempty" maxLength:"1024"`      // The search that showed the tool: the outcome of the call is feedback on it. By default, the newest search of the caller and session that showed the tool within the last ten minutes.
	Session        string          `json:"session,omitempty" maxLength:"256"`         // Limits the searches for search_id to those with this session.
	IdempotencyKey string          `json:"idempotency_key,omitempty" maxLength:"256"` // Calls of one tool by one caller with the same key run once; later calls get the result of the first.
	InputResponses json.RawMessage `json:"input_responses,omitempty"`                 // After input_required: the answers, by the ids of input_requests.
	RequestState   string          `json:"request_state,omitempty" maxLength:"65536"` // After input_required: request_state as it came.
}

// CallOutcome is how a call ended.
type CallOutcome string

// The outcomes of calls. A CallResult has one of the first three, with which the tool has
// answered; the others are outcomes of errors.
const (
	CallOK               CallOutcome = "ok"
	CallToolError        CallOutcome = "tool_error"        // the tool reports a failure
	CallInputRequired    CallOutcome = "input_required"    // the tool asks for input first
	CallProtocolError    CallOutcome = "protocol_error"    // the tool's server is down, or violates the protocol
	CallTimeout          CallOutcome = "timeout"           // it did not answer in time
	CallRefused          CallOutcome = "refused"           // this server refused the call: by a grant, a setting or a limit
	CallInvalidArguments CallOutcome = "invalid_arguments" // the arguments do not fit the tool's schema
)

// CallResult is the answer of a tool.
type CallResult struct {
	Outcome    CallOutcome       `json:"outcome"`              // ok, tool_error if the tool reports a failure, or input_required if it asks for input first.
	Tool       string            `json:"tool"`                 // The id of the tool.
	Content    []json.RawMessage `json:"content"`              // The content blocks of MCP: text, image, audio, resource_link or resource.
	Structured json.RawMessage   `json:"structured,omitempty"` // The answer as JSON, if it is JSON.
	IsError    bool              `json:"is_error"`             // Whether the tool reports a failure.
	Status     int               `json:"status,omitempty"`     // The status code of an HTTP API.
	Truncated  bool              `json:"truncated,omitempty"`  // Whether the answer was larger than calls.max_result and has been cut.
	Repeated   bool              `json:"repeated,omitempty"`   // Whether this is the result of an earlier call with the same idempotency key, and the tool was not called again.
	SearchID   string            `json:"search_id,omitempty"`  // The search on which the outcome is feedback.
	TookMS     float64           `json:"took_ms"`              // The time of the call in milliseconds.

	Other map[string]json.RawMessage `json:"other,omitempty"` // The other members of an MCP result, such as _meta.

	InputRequests json.RawMessage `json:"input_requests,omitempty"` // With input_required: the questions of the tool by id, as in MCP.
	RequestState  string          `json:"request_state,omitempty"`  // With input_required: send it back with input_responses.
}

// WriteJSON writes the result as JSON, and the values in it as they are.
func (r CallResult) WriteJSON(w io.Writer) error {
	content, structured := r.Content, r.Structured
	r.Structured = nil
	var head bytes.Buffer
	encoder := json.NewEncoder(&head)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(struct {
		CallResult
		Content *struct{} `json:"content,omitempty"` // hides the result's
	}{CallResult: r}); err != nil {
		return err
	}
	out := bufio.NewWriter(w) // whose error is that of Flush
	_, _ = out.Write(bytes.TrimSuffix(head.Bytes(), []byte("}\n")))
	_, _ = out.WriteString(`,"content":[`)
	for i, block := range content {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(block)
	}
	_ = out.WriteByte(']')
	if structured != nil {
		_, _ = out.WriteString(`,"structured":`)
		_, _ = out.Write(structured)
	}
	_, _ = out.WriteString("}\n")
	return out.Flush()
}
