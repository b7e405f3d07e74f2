// Package embedder turns the four fields of a document into vectors, field by field, writes
// the result into an index, and embeds the texts of queries.
//
// A document passes through stage.go (decode, find its texts), slots.go (texts and the
// places of their vectors), encoder.go (caches), model.go (calls of the model), stage.go
// (publish) and, in the processes with an index, writer.go.
//
// No text is embedded twice: the encoder looks in memory, then in the index's version of
// the same entity. So a changed document costs as much as its change, and an unchanged
// document costs nothing, even after a restart.
//
// Open first: stage.go, then encoder.go and writer.go.
package embedder
