// Package bus carries and stores changes.
//
// Records enter as pkg/events envelopes; they leave to handlers in order, at least once, each
// acknowledged after its results. stream is the port, the one consume loop, and the lease that
// elects one process of several. jetstream (inside the process) and kafka are the buses behind it;
// nats is request-reply and key-value. segmentlog and localkv keep state on disk.
//
// Open first: stream/stream.go, then stream/loop.go.
package bus
