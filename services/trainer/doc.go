// Package trainer closes the loop: it joins what searches showed with what
// agents did with it, learns from that, tenant by tenant, and publishes the
// fusion weights and the usage of tools that searches then rank by.
//
// # What is learned from
//
// A result that was selected, called or succeeded is used. Once a search has
// settled, each used result is paired as the better one with the results that
// stood above it and were not used, with the next one below it, and with those
// that were rejected outright. What stands elsewhere says nothing: the agent
// may never have looked there ("skip above" and "no click next", Joachims et
// al. 2005, which correct for position bias). Each used result of a search
// makes its pairs once. A failed call says more of a tool's state than of its
// fit and teaches nothing.
//
// The pairs move a regularised correction of the built-in weights, by Adam
// steps of a fixed number of pairs. Until a tenant has MinPairs of them, the
// built-in weights serve.
//
// A call or a success counts once per search as a use of the tool, and as one
// together with every other tool used for the same search. Counts fade by
// half in a half-life. What the tool was used for is kept as the direction of
// the query's vector, at most eight that stand for all (package asked), for as
// long as their counts do not fade; the words of a query are not kept.
//
// Features and vectors of two embedding models do not compare: weights are
// learned and exemplars kept for each by itself, exemplars of the two that were
// searched by last. Counts of uses are of no model.
//
// # What can not go wrong twice
//
// Everything the trainer knows is stored together with the positions up to
// which it has read the bus, in one transaction: a crash or a redelivery
// neither loses nor doubles. Events with the same id count once. Feedback may
// come before the impression it is about, for as long as the window.
package trainer
