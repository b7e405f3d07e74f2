// Package nats carries requests between services over NATS while a caller waits, and stores
// weights and usage in a deployment of several processes.
//
// A Service answers request-reply as a `micro` service, so that replicas share the load through a
// queue group and can be found and asked for their state. A ScatterGather asks every process at
// once. KV is a JetStream bucket with watches.
//
// Nothing is queued while the connection is down: requests fail at once with ErrDisconnected, and
// are not sent late to a caller that stopped waiting. Subscriptions and watches resume after a
// reconnect.
package nats
