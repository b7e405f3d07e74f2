// Package weaviate is the vector index of the distributed deployment: Weaviate holds
// the vectors of every entity and proposes candidates; a replica's own store scores
// them.
//
// # Storing
//
// A class belongs to an embedding model and a schema version, and has an
// alias. Each tenant is a shard of it. An entity is one object; its id is computed
// from tenant, kind and id. The first object of a shard is an anchor for
// edges that a crash left dangling.
//
// # Writing
//
// Changes are written in the order of the bus, so the last change of an entity stays.
// Weaviate acknowledges a batch before the log of its vectors has left the process: a
// crash then loses them, and writing equal vectors again repairs nothing. So a batch
// counts only once a fence, a second and tiny batch to the same shard, has flushed
// what the first one left. A batch that is written again has other vectors in the
// last bit, and searches have to find its entities. docs/decisions has the reasons.
//
// # Searching
//
// Every dense question of a lookup is asked at once over gRPC, field by field. The
// answers are ids and nothing more: the replica adds the best by words and filters.
// Then Weaviate gives the vectors of all these, and the replica scores them exactly and
// orders. An object that the replica does not know does no harm.
package weaviate
