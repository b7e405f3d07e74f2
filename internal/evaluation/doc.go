// Package evaluation measures rankings: metrics as trec_eval defines them,
// intervals by bootstrap, comparisons of two runs query by query, and a plot.
// It is pure; package app makes the rankings with the code that serves.
//
// # Metrics
//
// NDCG@k has linear gains and the discount 1/log2(1 + rank). Recall@k is the
// share of a query's labels found in the first k places, complete@k is 1 where
// that is all of them. MRR is 1/rank of the first label found, MAP the mean
// over the labels of the precision at their ranks, 0 for those not found. Of a
// set of queries each is the mean.
//
// # Ties
//
// Equal scores are ordered by id, descending in string order, as trec_eval
// does and as the product does when it serves.
//
// # Labels with alternatives
//
// An alternative counts in place of its label, once: what finds a label a
// second time takes up a place and gains nothing.
package evaluation
