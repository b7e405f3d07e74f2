// Package flat is the embedded index: exact vectors and words of every tenant,
// in one process, on files of its own.
//
// # Memory
//
// Each tenant has an index of its own. An entity lives in a slot, a number
// that the vectors and the lexical index share and that stays with the entity
// for as long as it lives. Sixty-four slots are a block: the quantised vectors
// of their entities, row kind by row kind, so that a search streams through
// what its model weighs and skips the rest. Blocks are immutable. A change
// rebuilds the blocks it touches and publishes them with one atomic store,
// so readers see one moment and never wait for a change to become durable.
//
// # Searching
//
// A search is two passes. The first reads every allowed slot: lexical scores
// by accumulation, dense ones over int8 rows. The best
// of them, some more than are asked for, are then scored exactly, by package
// index on the float32 vectors, which are read from the mapped files; only those
// scores decide. Which hits are left out is a good guess, not a bound.
//
// # Disk
//
// The files are a log of segments (package segmentlog). A record holds an entity
// whole: its quantised vectors and analysed words, which a start only copies,
// its exact vectors, document and raw bytes; or the tombstone of a deleted
// entity. Every batch ends with a record of the bus positions that the log
// has reached. A start verifies every byte. A batch that a crash left
// unfinished is cut off. A log that is damaged is set aside, and the index
// starts empty, at no positions: the bus builds it again.
package flat
