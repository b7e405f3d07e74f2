// Package static embeds texts by a table of word vectors: the vector of a text
// is the normalised sum of the rows of its words, each word once, weighted by
// 1 + ln of its count. The direction and the length of a row, its meaning and its
// weight, are learned from a sentence transformer (package distill). A word that
// was not learned adds nothing.
//
// A model is one file, read in place: rows are 8-bit with a scale each. How a
// text is cut into words is part of the format's version, because a row means
// only what the same words meant in training.
package static
