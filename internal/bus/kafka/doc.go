// Package kafka is the bus of a deployment of many processes: the topics of pkg/events on an
// Apache Kafka cluster.
//
// Keys are assigned to partitions as in the Java clients (murmur2), so that other programs may
// write to the topics too. Offsets are Kafka's plus one: 0 means "nothing read", and the offset of
// the last record read equals the number that Kafka calls the next offset. A group's committed
// offset therefore reads the same in Kafka's own tools.
//
// Delivery is at least once and in order per key. The library has no idempotent producer: a record
// whose acknowledgement was lost is written again, next to its first copy. Readers compare
// revisions and drop the copy.
package kafka
