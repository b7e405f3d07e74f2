// Package asked keeps what tools were asked for: of each tool a few of the
// queries that it was used for, as directions of their vectors, and compares
// new queries with them. The one rule by which a few stand for all is here, so
// that what is learned offline is what a search will know.
package asked
