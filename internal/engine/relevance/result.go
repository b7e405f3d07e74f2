// Package relevance judges rankings against relevance labels: metrics as trec_eval defines them,
// intervals by bootstrap, and comparisons of two runs query by query. It is pure.
//
// # Metrics
//
// NDCG@k has linear gains and the discount 1/log2(1 + rank). Recall@k is the share of a query's
// labels found in the first k places, complete@k is 1 if that is all of them. MRR is 1/rank of the
// first label found, MAP the mean over the labels of the precision at their ranks, 0 for labels
// not found. For a set of queries each is the mean.
//
// # Ties
//
// Equal scores are ordered by id, descending in string order, like trec_eval and the server.
//
// # Labels with alternatives
//
// An alternative counts in place of its label, once: a hit that finds a label a second time takes
// up a place and gains nothing.
package relevance

// QueryResult is the ranking of one query with its metrics.
type QueryResult struct {
	ID       string   `json:"id"`
	Relevant int      `json:"relevant"` // labels that could be found
	Hits     []int    `json:"hits"`     // their ranks, from 1; never null
	Metrics  Metrics  `json:"metrics"`
	Ranking  []Ranked `json:"ranking"` // best first, at most MaxRanking
}

// MaxRanking is the depth of judged rankings.
const MaxRanking = 1000

// Judge returns the result of one query. The ranking is in order.
func Judge(id string, j *Judgments, ranking []Ranked) QueryResult {
	q := j.Score(ranking)
	q.ID = id
	return q
}

// MeanOf returns the mean of every metric over queries, zero without queries.
func MeanOf(queries []QueryResult) Metrics {
	var mean Metrics
	for i := range queries {
		for j, x := range queries[i].Metrics {
			mean[j] += x / float64(len(queries))
		}
	}
	return mean
}
