// Package pkg is the room of the public vocabulary: types that travel, and code that clients
// import. It depends on the standard library and golang.org/x only.
//
// schema has the types of the API, events the envelopes and topics of the bus, fusion the
// scores of a ranking, rerank the order by owners, client the HTTP client.
//
// Open first: schema/entity.go, then events/doc.go.
package pkg
