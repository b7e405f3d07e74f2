// Package calls calls tools for agents that have found them: on the MCP servers and HTTP APIs
// that the tools were read from, with the credentials of their sources. The outcome of a call is
// feedback on the search that showed the tool.
//
// Each source has slots and a circuit breaker of its own, so that a source that hangs delays
// only its own callers.
//
// Open first: call.go, which reads a call from top to bottom.
package calls
