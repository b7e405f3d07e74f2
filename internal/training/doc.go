// Package training makes fusion weights: a correction of given weights, learned
// from queries whose right tools are known or from what was shown and used, and
// the built-in weights themselves, searched for on several data sets together.
//
// # What is learned from
//
// Everything is learned from examples of which one was the better answer: pairs
// from what was shown and used (trainer.Pairs), and from a labelled query groups,
// every relevant candidate against all of the query's negatives (fusion.Group; a
// group of two is a pair). Negatives are of two kinds: the Hard ones that look
// most like an answer, by the mean over all features of how far each stands out
// among the query's candidates, and Random ones of the rest. Negatives that only
// one retriever ranks high would punish that retriever, and hard ones alone teach
// nothing about the many tools that are never the answer.
//
// How far the weights may move from the given ones is chosen by leaving queries
// out of the training ones: small sets hardly bear more than the given weights.
//
// # Usage
//
// Uses, common uses and the queries that tools are used for are counted in the
// training queries. A query must not see its own labels counted: its uses are
// taken out again while it is learned from ("leave one out"), and it is not
// compared with itself. Common uses need front runners, so learning has two
// rounds: the first knows uses alone, and its best candidates are the front
// runners of the second.
package training
