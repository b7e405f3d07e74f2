// Package training learns a correction of given fusion weights from labelled queries, or
// from queries whose relevant tools follow from feedback.
//
// # What is learned from
//
// Every relevant candidate of a query against all of the query's negatives (fusion.Group).
// Negatives are of two kinds: the hard ones that look most like an answer, by the mean over
// all features of how far each stands out among the query's candidates, and random ones of
// the rest. Negatives that only one retriever ranks high would punish that retriever, and
// hard ones alone teach nothing about the many tools that are never the answer.
//
// How far the weights may move from the given ones is chosen by cross-validation: small
// sets hardly bear more than the given weights.
//
// # Usage
//
// Uses, common uses and the queries that tools are used for are counted in the queries. A
// query must not see its own labels counted: its uses are taken out again while it is
// learned from ("leave one out"), and it is not compared with itself. Common uses need
// front runners, so learning has two rounds: the first knows uses alone, and its best
// candidates are the front runners of the second.
package training
