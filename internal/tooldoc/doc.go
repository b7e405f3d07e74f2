// Package tooldoc is the room of tool documents: their formats, schemas, calls and origins.
//
// A raw document enters as it was accepted. toolschema derives the JSON Schemas of the
// tool's input and output, operation makes the HTTP request of an OpenAPI operation, and
// provenance finds where in the source each sentence of the standardized document comes
// from.
//
// Open first: formats.go, then toolschema/toolschema.go.
package tooldoc
