// Package fitting learns a correction of given fusion weights from labelled queries, or
// from queries whose relevant tools follow from feedback.
//
// # Training data
//
// Each relevant candidate of a query is compared with all negatives of the query (fusion.Group).
// Negatives are of two kinds: the hard ones that look most like an answer, by the mean over
// all features of how far each stands out among the query's candidates, and random ones of
// the rest. Negatives that only one retriever ranks high would punish that retriever, and
// hard negatives alone teach nothing about the many tools that are never the answer.
//
// Cross-validation chooses how far the weights may move from the given weights: small data
// sets allow hardly any change.
//
// # Usage
//
// Uses, common uses and the queries that tools are used for are counted in the queries. A
// query must not see its own labels counted: its uses are taken out again while it is
// learned from ("leave one out"), and it is not compared with itself. Common uses need
// front runners, so learning has two rounds: the first knows uses alone, and its best
// candidates are the front runners of the second.
package fitting
