// Package kafka is the bus of a deployment of many processes: the topics of
// pkg/events on an Apache Kafka cluster.
//
// A key's partition is that of the Java clients (murmur2), so that others may
// write to the topics too. Offsets are Kafka's plus one: 0 stands for "nothing
// read", and the offset of the last record that was read is, as a number, the
// one that Kafka calls the next. What a group has committed therefore reads the
// same in Kafka's own tools.
//
// Delivery is at least once and in order per key. The library has no
// idempotent producer: a record whose acknowledgement was lost is written
// again, next to its first copy. Readers compare revisions and drop the copy.
package kafka
