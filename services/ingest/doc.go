// Package ingest accepts tools and providers, gives every change its revision and
// puts it on the bus. An accepted change is durable. Changes of one entity that one
// process accepts are on the bus in the order of their revisions; where several
// processes accept changes, readers compare revisions.
//
// The service reads tools.raw into a table of the known entities. So a repeated document costs
// nothing, and an older version of a source does not come back.
//
// Open first: http.go for a PUT (body.go, accept.go, commit.go, decide.go, publish.go
// follow), sources/service.go for live sources, formats/doc.go for formats.
package ingest
