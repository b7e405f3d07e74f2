// Package grounding checks what a language model says of a document against
// the document. What it lets through names no parameter, identifier, name,
// number, address, path or URL that the source lacks, promises nothing, speaks of
// no effect that the source does not, and is about the same. It cannot tell
// whether a sentence is true.
//
// What depends on a language is in tables by language: nothing is found by them
// in one that they do not list. Capitals make no names in German, Latin letters do
// in Chinese and Japanese.
//
// Everything here is a pure function of its arguments.
package grounding
