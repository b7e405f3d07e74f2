// Package trainer closes the loop: it joins what searches showed with what agents did with
// it, learns from that, tenant by tenant, and publishes the usage of tools and the fusion
// weights that searches then rank by.
//
// Searches for the same (by the cosine of their vectors) form a query cluster, which keeps
// the newest sessions: what a search showed and what was used, one session for each client.
// From these follows everything that is learned:
//
//   - Relevance. A click model (a user looks at rank r with probability 1/r and errs in one
//     of ten looks) turns the sessions of a cluster into the log odds that a tool is relevant
//     to it, given that anything is reported of a session. They are bounded, so that a few
//     new sessions outweigh many old ones (the clamped updates of occupancy grids, Yguel et
//     al. 2008). How reliable a client is, what is relevant, and how much is at each rank,
//     are estimated in turn (Dawid and Skene 1979).
//   - Usage. A relevant tool counts as used as often as its clusters showed it, alone, with
//     other relevant tools, and for the query of the cluster. Counts fade by half in a
//     half-life. Searches rank by usage at once.
//   - Outcomes. The log likelihood ratios of a cluster reorder the answers to its query.
//   - Weights. Now and then weights are fitted to all clusters as labelled queries (package
//     training). They are kept only if they rank queries better that were left out of the
//     fit, and go live only after a shadow trial: searches rank by them beside the live
//     weights until feedback shows that they lose nothing.
//
// The state and the positions up to which the bus was read are saved in one transaction, so
// that a crash or a redelivery neither loses nor doubles. Everything that is published is
// written against the revision that was read: a trainer that was paused overwrites nothing.
package trainer
