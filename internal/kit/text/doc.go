// Package text turns people's and generators' texts about tools into words: it cleans documents,
// splits identifiers, cuts texts into tokens, sentences and clauses.
//
// Every function is pure, safe for concurrent use, total (no input is an error, invalid UTF-8
// included) and deterministic. The intended order is Clean, Split, then Sentences, Clauses or
// Tokens.
package text
