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
// The answer is used as search text and for nothing else: tenant, filters and the number
// of results are the request's.
//
// # Each question is paid for once
//
// Answers are kept for a day, for all replicas, under the hash of what decides them:
// tenant, query (with its white space normalised), filters, instructions and model. The
// filters count so that no answer leads to descriptions that its caller may not see. The
// tools that were shown do not count: the catalogue changes all the time, and an answer
// tells what the query is after, in words that age slowly. Two replicas that are asked at
// the same time may both ask. An answer that adds nothing is
// kept, too; failures are for a few seconds, in memory.
//
// A query that comes while the same question is under way waits for that answer. The call
// goes on when its callers leave: an answer that is late for all of them is kept, too. Where
// most of the last calls took longer than a search waits, searches do not wait; the model
// is asked for the next ones. What is beyond the bound of calls under way is not asked.
package rewriting
