// Package grounding checks the answer of a language model about a document against the
// document. An answer that passes names no parameter, identifier, name, number, address, path
// or URL that the source lacks, makes no promise, claims no effect that the source does not
// mention, and is about the same subject. Whether a sentence is true cannot be checked.
//
// Everything that depends on a language is in tables by language; in a language without a
// table, these checks find nothing. Capitals do not make names in German, Latin letters do in
// Chinese and Japanese.
//
// check.go goes through an answer field by field. claims.go checks the claims of a text about
// the tool, literals.go its values, kinds.go the kinds of value of a parameter and meaning.go
// its subject, all against the source (source.go).
//
// Everything here is a pure function of its arguments.
package grounding
