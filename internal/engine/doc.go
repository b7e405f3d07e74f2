// Package engine is the room of the search engine.
//
// Documents with vectors enter; candidates with exact scores on every field leave. index
// is the contract and detects copies of tools, flat is the index in memory and on disk, weaviate
// the index outside of the process. lexical is BM25, ranking puts candidates into order, relevance
// judges an order by labels.
//
// Open first: index/index.go, then ranking/ranking.go.
package engine
