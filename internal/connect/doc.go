// Package connect is the room of connections to the world outside.
//
// The declaration of a source enters; lists of tools, found sources and results of calls
// leave. source is the port of the connectors mcp, gateway and kubernetes, and decides which
// addresses a source may reach. outbound makes the HTTP clients that hold to it.
//
// Open first: source/source.go.
package connect
