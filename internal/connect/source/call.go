package source

import (
	"context"
	"encoding/json"
)

// Call is one call of a tool of an MCP server.
type Call struct {
	Tool      string
	Arguments json.RawMessage // an object

	// Of a call that goes on where the server has asked for input: what it asked for, by its
	// ids, and the state that it gave.
	InputResponses json.RawMessage
	RequestState   string
}

// Answer is what a tool has answered.
type Answer struct {
	Content    []json.RawMessage // content blocks, as the protocol has them
	Structured json.RawMessage   // nil: there is none
	IsError    bool              // the tool says that it has failed

	// Where the server wants input before it goes on: what, by its ids, and the state to send
	// back with it.
	NeedsInput    bool
	InputRequests json.RawMessage
	RequestState  string
}

// Conn is a connection on which tools are called, any number at once.
type Conn interface {
	// Call calls a tool. Its error is a *CallError, or the context's.
	Call(ctx context.Context, c Call) (Answer, error)
	// Lost reports whether the connection serves no further calls.
	Lost() bool
	Close()
}

// CallError is the error of a call without an answer of the tool.
type CallError struct {
	Unsent  bool // the server has not got the call
	Refused bool // it has, and answers with an error of the protocol
	Err     error
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
