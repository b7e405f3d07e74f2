// Package events is the contract between the stages: the topics, the records
// on them, their keys and headers, and the rules by which they are delivered.
//
// # Topics
//
//	tools.raw           Change     compacted  what ingest accepted
//	tools.standardized  Change     compacted  with Document filled
//	tools.embedded      Change     compacted  with Document and Vectors filled
//	tools.embedded-N    Change     compacted  the same by another model, from generation 2 on
//	searches            Impression retained   what a search showed
//	feedback            Feedback   retained   what an agent did with it
//	dlq                 DeadLetter compacted  what a stage could not process
//
// Names are prefixed ("toolstream." by default). Every entity record is keyed
// by Key(ref), so one entity's changes stay in one partition and in order.
//
// # Delivery
//
// At least once. A stage polls, handles, produces what follows, waits until
// that is durable, and only then commits the position it has read up to. So a
// crash repeats work and never loses it, and every stage has to be harmless to
// repeat: a sink applies a change only if its Version is Newer than what it
// holds.
//
// A delete is a record with Op OpDelete and a revision, never an absence. It
// travels through the same stages, so that it can not be overtaken by the
// upsert before it. Deletes stay on the bus. Whoever wants a compacted topic to
// drop a key puts a null value behind its delete, once no reader can be before
// that: readers forget the key.
//
// # Failure
//
// A permanent error (the same bytes will always fail) sends the original bytes
// to the dlq topic, with stage and reason, and the stage goes on. Every other
// error is transient: retried with backoff, in place, holding back the
// partition, because passing it would break the order of that key.
//
// # Compatibility
//
// Each value carries its schema version. A reader accepts every version up to
// its own, ignores fields it does not know, and treats a higher version as a
// permanent error (unknown_schema). One encoded example of every version is
// kept in testdata and must decode for ever.
package events
