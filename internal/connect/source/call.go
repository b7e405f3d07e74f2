package source

import (
	"context"
	"encoding/json"
)

// Call is one call of a tool of an MCP server.
type Call struct {
	Tool      string
	Arguments json.RawMessage // an object

	// Of a call that continues after input requests: the responses by id, and the state of the
	// server.
	InputResponses json.RawMessage
	RequestState   string
}

// Answer is the answer of a tool.
type Answer struct {
	Content    []json.RawMessage          // content blocks, as the protocol has them
	Structured json.RawMessage            // may be nil
	IsError    bool                       // the tool reports that it has failed
	Other      map[string]json.RawMessage // the other members of the result, such as _meta

	// If the server needs input to go on: its requests by id, and the state to send back with
	// the responses.
	NeedsInput    bool
	InputRequests json.RawMessage
	RequestState  string
}

// Conn is a connection to call tools. It may be used concurrently.
type Conn interface {
	// Call calls a tool. Its error is a *CallError, or the context's.
	Call(ctx context.Context, c Call) (Answer, error)
	// Lost reports whether the connection serves no further calls.
	Lost() bool
	Close()
}

// CallError is the error of a call without an answer of the tool.
type CallError struct {
	Unsent  bool // the call did not reach the server
	Refused bool // the server answered with an error of the protocol
	Err     error
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
