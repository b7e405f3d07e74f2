// Package jetstream is the bus of a single process: a nats-server with
// JetStream inside it, storing in a folder, every write on disk before it is
// acknowledged.
//
// Each topic is one stream. The subject of a record is <prefix><topic>.k<encoded key>, so a
// compacted topic is a stream that keeps one message per subject. Offsets are stream
// sequences.
//
// Committed positions are values of a bucket, not acknowledgement state in the server: after
// a crash nothing waits for an acknowledgement to time out, and nothing is delivered out of
// order.
package jetstream
