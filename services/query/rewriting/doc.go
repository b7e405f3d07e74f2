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
// Answers are cached under the hash of what decides them: tenant, query (with its white
// space normalised), filters, instructions, model, and the whole documents that were
// shown. These are the version of the catalogue as far as the query goes: a change of a
// tool that the query is about ends a cached answer, other changes do not. The
// descriptions do not count, for one of twenty changes all the time. The filters count,
// so that no answer leads to descriptions that its caller may not see. Documents stand in
// the order of their ids, as scores move a little with every change of the index.
// Failures are cached for a few seconds.
//
// A query that comes while the same question is under way waits for that answer. The call
// goes on when its callers leave: an answer that is late for all of them is cached, too.
package rewriting
