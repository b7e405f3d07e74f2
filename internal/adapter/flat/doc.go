// Package flat is the embedded index: exact, in one process, on one file.
//
// # Memory
//
// Each tenant has an index of its own. An entity lives in a slot, a number
// that the vectors and the lexical index share and that stays with the entity
// for as long as it lives. Sixty-four slots are a block: the quantised vectors
// of their entities, row kind by row kind, so that a search streams through
// what its model weighs and skips the rest. Blocks are immutable. A change
// builds the blocks it touches anew and publishes them with one atomic store,
// so readers see one moment and never wait for a change to become durable.
//
// # Searching
//
// A search is two passes. The first reads every allowed slot: lexical scores
// by accumulation, dense ones over int8 rows, the penalty from a table. The
// best few hundred are then scored exactly, by package index on the float32
// vectors, which are read from the mapped file; only those scores decide.
//
// # Disk
//
// One bbolt file holds every entity whole (document, raw bytes, vectors,
// version), the tombstones of deleted ones, and the bus positions that all of
// it stands for, written in one transaction. Every record carries a checksum,
// and the state record one over all of them; the file's pages are verified
// before anything reads them through bbolt. A file that fails is set aside and
// the index starts empty, at no positions: the bus builds it again. Beside it
// lies a cache of the memory, mapped and used where it lies: quantised vectors,
// what there is to know of tools, the lexical index. It spares a start making
// them anew, may be missing or old, and is believed slot by slot where the
// record has not changed.
package flat
