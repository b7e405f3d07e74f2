// Package text turns what people and generators write about tools into words:
// it cleans documents, splits identifiers, cuts texts into tokens, sentences
// and clauses.
//
// Everything here is a pure function, safe for concurrent use, total (no input
// is an error, invalid UTF-8 included) and deterministic. The order in which
// the functions are meant to be used is Clean, Split, then Sentences, Clauses
// or Tokens.
package text
