// Package trainer closes the loop: it joins what searches showed with what
// agents did with it, learns from that, tenant by tenant, and publishes the
// fusion weights and the usage of tools that searches then rank by.
//
// # What is learned from
//
// A result that was selected, called or succeeded is used. Once a search has
// settled, each used result is paired as the better one with those that were
// shown and not used, or failed, or were rejected. A result at rank r is looked at
// about once in r searches, so its pairs count r times, within bounds (inverse
// propensities, Joachims et al. 2017). Each used result of a search makes its
// pairs once.
//
// The pairs move a regularised correction of the built-in weights, by small
// Adam steps of a fixed number of pairs. They say nothing of use: what was known of it
// is in part what came of the same question before. A tenant that begins when others have learned
// begins with the mean of their weights instead, and is pulled towards that.
//
// Beside that, learning begins anew from time to time. Searches for the same are a
// question, of which the newest observations are kept: what each search showed and
// what came of it, one for each client. Taken together they say what is right for
// a question (beliefs): a click tells more the fewer look there, one who clicks is
// believed as far as others find the same, and a mistake is outvoted. What is right
// are labels, from which weights are learned as offline (package training), with
// the uses of a question taken out while it is learned from; where they do not rank
// questions better that were left out, what learning began with stays. One question in
// ten is held out. It takes seconds where much is remembered, in which nobody waits but
// the searches of that tenant that are learned from next.
//
// What is right for a question may change, so that what was found right tells less by
// every search that is reported on. What was passed over is taken up again hardly at
// all before it is forgotten.
//
// What came of a question is published too, so that those who rank can put the
// answers to the same question in the order of how likely they are to be right. There
// searches of which nothing was reported take part: whoever looked passed over what
// stood first. They count as far as people report at all, all together no more than
// two who surely looked.
//
// # What goes live
//
// Until a tenant has MinPairs, the built-in weights serve. Every search is
// predicted by the live weights and by the learned ones before anything is learned
// from it. The learned weights go live when they
// surely lost less in these predictions and lose no more on what was held out:
// first in the shadow, where those who rank score them beside the live ones, until
// what was used of real searches says that they would not have ranked it lower.
// Live weights that clearly lose more than those before them are rolled back, and
// so are those by which clearly fewer searches lead to a use: where nothing good
// is shown there is no feedback to predict. Whoever forces weights in puts them on
// the same trial; pinned weights stay.
//
// No client counts for much more than the others do, nor at all where it picks
// other ranks than everybody else.
//
// # What is counted
//
// A call or a success counts once per search as a use of the tool, and as one
// together with every other tool used for the same search. Counts fade by
// half in a half-life. They are corrected by what the questions say: what is right
// for a question counts as often as it was shown for it, however few looked that
// far down, and what is not right for it counts nothing. What the tool was used for is kept as the direction of
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
// come before the impression it is about, for as long as the window. Searches are
// learned from in the order in which their feedback was given: what is learned
// does not depend on when it is read.
package trainer
