// Package grounding checks what a language model says of a document against
// the document. What it lets through names no parameter, identifier, number,
// address or URL that the source lacks. It cannot tell whether a sentence is
// true.
//
// Everything here is a pure function of its arguments.
package grounding
