// Package nats is what the services say to each other over NATS while a caller
// waits, and where weights and usage lie in a deployment of several processes.
//
// A Service answers request-reply as a `micro` service, so that replicas share
// the load through a queue group and can be found and asked for their state. A
// ScatterGather asks every process at once. KV is a JetStream bucket with watches.
//
// Nothing is kept back while the connection is down: what is asked then fails
// at once with ErrDisconnected, and is not sent late to a caller that stopped
// waiting. Subscriptions and watches go on after a reconnect.
package nats
