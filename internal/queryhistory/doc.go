// Package queryhistory compares a query with the queries that tools were used for before:
// of each tool a few that stand for all, as directions of their vectors.
package queryhistory
