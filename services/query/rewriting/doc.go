// Package rewriting lets a language model say what a query is after: a few
// needs in the words of tool descriptions, and the arguments that the query
// can provide (arXiv 2602.05366, section 3.2).
//
// # What the model sees
//
// The query, the descriptions of the tools that match it best by their words,
// and the first of these as whole documents: pseudo-relevance feedback, so that
// the needs are told in the words that tools are described in. All of it is
// data in one JSON object. Only tools that the filters of the search allow are
// shown, and none that is suspected of talking to the model.
//
// What the model answers is used as search text and for nothing else: tenant,
// filters and the number of results are the request's.
//
// # What is paid for once
//
// Answers are kept under the hash of what decides them: tenant, query (its white
// space put in order), filters, instructions, model, and the whole documents
// that were shown. That is the version of the catalogue as far as it concerns
// the query: a tool that it is about changes it, a stream of others does not. The
// descriptions are left out of it, for of twenty one changes all the time; so the
// filters are in it, and nobody is answered from descriptions that were not
// for them. Documents stand in the order of their ids, as scores move a little
// with every change of the index. Failures are kept too, for a few seconds.
//
// Queries that come while the same one is being asked wait for that answer.
// Nobody who leaves ends it for the others: an answer that comes too late for
// all of them still is kept.
package rewriting
