// Package weaviate is the index of the distributed deployment: Weaviate keeps
// every entity with its vectors and proposes candidates; a replica's own store
// scores them.
//
// # Storing
//
// One class per embedding model and schema version, each tenant a shard of it,
// behind an alias. An entity is one object whose id is computed from tenant,
// kind and id; its properties and vectors are enough to rebuild the change that
// it came from, the raw document left out. A deleted entity stays as a tombstone
// that has its version and no vectors, so no search returns it. The first object
// of a shard is an anchor, which edges that a crash left hanging come to.
//
// # Writing
//
// Weaviate acknowledges a batch before the log of its vectors has left the
// process: a crash then loses them, and writing the same vectors again repairs
// nothing. So a batch counts only once a fence, a second and tiny batch to the
// same shard, has flushed what the first one left; and what may have been
// written without one is written again. Every session of a writer nudges vectors
// by units in the last place in a way of its own, which the reader takes back.
// docs/decisions has the reasons.
//
// # Searching
//
// Every dense question of a lookup is asked at once over gRPC, field by field.
// The answers are ids and nothing more: the replica adds the best by words,
// scores all of them exactly, and orders.
package weaviate
