// Package fusion turns the scores of one candidate on every field into one
// number, and learns how: the field scores and the missing-parameter penalty of
// Multi-Field Tool Retrieval (arXiv 2602.05366, sections 3.3 and 3.4), the
// built-in weights, and pairwise learning of a correction of them (RankNet:
// Burges et al. 2005, "Learning to rank using gradient descent").
//
// Everything here is a pure function of its arguments: no clock, no I/O, no
// global state. The same weights and features give the same scores in every
// deployment and in evaluation.
package fusion
