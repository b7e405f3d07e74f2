// Package formats recognises tool documents and splits them into single tools
// and providers.
//
// It reads one document or thousands: JSON, YAML, JSON Lines, JSON arrays,
// texts, descriptor sets and tar archives of these, gzipped or not. What is not known
// is taken as any JSON object, as prose where the caller means prose, or refused.
//
// Another format of single objects needs a line in recognise and one in
// layoutOf, which says where its parts stand; what it means is read by package
// rules. A collection of tools is told by isList, or has a line in shapes and a
// splitter of its own; a text that declares tools, a line in declares.
//
// # Ids
//
// An explicit id always wins: that of an envelope, then that of the document.
// Otherwise a tool is "provider/name", or "name" without a provider, and an OpenAPI
// operation "provider/METHOD path". Where nothing says the provider it is the
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
// followed, each with bounds; nothing is ever fetched. An operation with a reference outward in it is a
// Problem. A reference to nothing, in an example or in an extension (x-…) is
// left as it stands.
package formats
