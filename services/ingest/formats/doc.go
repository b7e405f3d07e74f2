// Package formats recognises tool documents and splits them into single tools
// and providers.
//
// It reads one document or thousands: JSON, YAML, JSON Lines, JSON arrays,
// texts, descriptor sets and tar archives of these, gzipped or not. An unknown
// document is taken as any JSON object, as prose if the caller means prose, or refused.
//
// A new format needs a row in the table of package tooldoc, which the reading of schemas and the
// rules consult, too. For single objects add a line in recognise; for a collection a line in
// shapes and a splitter, unless isList recognises it; for a text that declares tools a case in
// splitSchemaText, and its endings in fileKind and documentEndings. foreignText lists formats
// that are refused by name. Then add its rule to package rules (ruleOf).
//
// # Ids
//
// An explicit id always wins: the envelope's, then the document's.
// Otherwise a tool is "provider/name", or "name" without a provider, and an OpenAPI
// operation "provider/METHOD path". If nothing names the provider, it is the
// document's own collection (a slug of info.title, an MCP server's name, a
// collection's tool_name), then for files with several tools the file's name
// without its extensions, and otherwise none. Ids are in NFC; a made one that
// is too long keeps its head and ends in a hash of the whole.
//
// # Several of one id
//
// In a document or a JSON array the order means nothing: an exact duplicate is
// folded into the first, and different content under one id is a Problem,
// whichever is right. JSON Lines are a stream of changes: every line is an
// item, order decides, and nothing is remembered from line to line.
//
// # References
//
// Only references within the document and to other files of its archive are
// followed, each with bounds; nothing is ever fetched. An operation with an
// outward reference is a Problem. A reference to nothing, in an example or in an
// extension (x-…) stays unchanged.
package formats
