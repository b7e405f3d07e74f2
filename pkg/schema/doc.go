// Package schema is the vocabulary of toolstream: the tools and agents that
// are indexed, the four fields they are standardized into, the queries that
// find them and the weights that rank them.
//
// The types here are what travels between the stages and what the public API
// speaks. They import the standard library and golang.org/x only, so that a
// client in another repository can use them without pulling in a server.
package schema
