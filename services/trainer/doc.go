// Package trainer closes the loop: it joins the results of searches with the feedback of
// agents, learns from them for each tenant, and publishes usage and fusion weights for the
// ranking of later searches.
//
// Searches with similar queries (by the cosine of their vectors) form a query cluster, which
// keeps the newest sessions: the results of a search and their uses, one session for each
// client. Everything is learned from the sessions:
//
//   - Relevance. A click model (a user looks at rank r with probability 1/r and errs in one
//     of ten looks) turns the sessions of a cluster into the log odds that a tool is relevant
//     to it, given that anything is reported of a session. They are bounded, so that a few
//     new sessions outweigh many old ones (the clamped updates of occupancy grids, Yguel et
//     al. 2008). The reliability of clients, the relevance of tools, and the share of
//     relevant tools at each rank are estimated in turn (Dawid and Skene 1979).
//   - Usage. A relevant tool counts as used as often as its clusters showed it, alone, with
//     other relevant tools, and for the query of the cluster. Counts fade by half in a
//     half-life. Searches rank by usage at once.
//   - Outcomes. The log likelihood ratios of a cluster reorder the answers to its query.
//   - Weights. Now and then weights are fitted to all clusters as labelled queries (package
//     fitting). They go live only if they improve the ranking of queries that were left out
//     of the fit.
//
// The state and the positions read from the bus are saved in one transaction, so
// that a crash or a redelivery neither loses nor doubles. Everything that is published is
// written against the revision that was read: a trainer that was paused overwrites nothing.
//
// Open first: service.go, then fit.go for weights and uses.go for usage.
package trainer
