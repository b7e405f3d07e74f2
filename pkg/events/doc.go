// Package events is the contract between the stages: the topics, the records
// on them, their keys and headers, and the rules of their delivery.
//
// # Topics
//
//	tools.raw           Change     compacted  accepted by ingest
//	tools.standardized  Change     compacted  with Document filled
//	tools.embedded      Change     compacted  with Document and Vectors filled
//	tools.embedded-N    Change     compacted  the same by another model, from index version 2 on
//	searches            Impression retained   results of a search
//	feedback            Feedback   retained   use of a result by an agent
//	dlq                 DeadLetter compacted  records that a stage could not process
//	audit               lines      retained   actions of callers, in one partition, by tenant
//
// Names are prefixed ("toolstream." by default). Every entity record is keyed
// by Key(ref), so the changes of one entity stay in one partition. Readers order them by
// Version: on Kafka a repeated request may put an older change behind a newer one.
//
// # Delivery
//
// At least once. A stage polls, handles, produces, waits until its records are
// durable, and only then commits its position. So a crash repeats work and never
// loses it, and repeating a stage must do no harm: a sink applies a change only if
// its Version is Newer than the one it holds.
//
// A delete is a record with Op OpDelete and a revision, never an absence. It
// travels through the same stages, so that the upsert before it cannot overtake it.
// A record with the header HeaderErased replaces records of an erased tenant; it says
// nothing about its key.
//
// Deletes stay on the bus. With a null value after a delete, a compacted topic drops the
// key, and readers forget it. It may follow once every reader has passed the delete.
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
// kept in testdata and must always decode.
package events
