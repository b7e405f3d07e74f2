// Package rewriting asks a language model for the intent of a query: a few needs in the words of
// tool descriptions, and the arguments that the query can provide (arXiv 2602.05366, section 3.2).
//
// # What the model sees
//
// The query, the descriptions of the tools that match it best by their words,
// and the first of these as whole documents: pseudo-relevance feedback, so that
// the model can use the words of tool descriptions. Query, descriptions and
// documents are data in one JSON object. Only tools that the filters of the search allow are
// shown, except tools suspected of talking to the model.
//
// The answer is used as search text and for nothing else: tenant, filters and the number
// of results are the request's.
//
// # Each question is paid for once
//
// Answers are kept for a day, for all replicas, under a hash of
// tenant, query (with its white space normalised), filters, instructions and model. The
// filters count so that no answer leads to descriptions that its caller may not see. The
// tools that were shown do not count: the catalogue changes all the time, and an answer
// tells what the query is after, in words that age slowly. Two replicas that are asked at
// the same time may both ask. An answer that adds nothing is
// kept, too; failures are for a few seconds, in memory.
//
// A query that comes while the same question is under way waits for that answer. The call
// continues when its callers leave: an answer that is late for all of them is kept, too. If
// most recent calls took longer than a search waits, searches do not wait, and the model
// is asked for the next ones. Queries beyond the bound of concurrent calls are not asked.
package rewriting
