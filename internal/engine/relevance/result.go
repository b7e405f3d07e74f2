// Package relevance judges rankings by what they should hold: metrics as trec_eval defines
// them, intervals by bootstrap, and comparisons of two runs query by query. It is pure.
//
// # Metrics
//
// NDCG@k has linear gains and the discount 1/log2(1 + rank). Recall@k is the
// share of a query's labels found in the first k places, complete@k is 1 where
// that is all of them. MRR is 1/rank of the first label found, MAP the mean
// over the labels of the precision at their ranks, 0 for those not found. Of a
// set of queries each is the mean.
//
// # Ties
//
// Equal scores are ordered by id, descending in string order, as trec_eval
// does and as the product does when it serves.
//
// # Labels with alternatives
//
// An alternative counts in place of its label, once: what finds a label a
// second time takes up a place and gains nothing.
package relevance

// QueryResult is the ranking of one query and what it is worth.
type QueryResult struct {
	ID       string   `json:"id"`
	Relevant int      `json:"relevant"` // labels that could be found
	Hits     []int    `json:"hits"`     // ranks from 1 at which they were; never null
	Metrics  Metrics  `json:"metrics"`
	Ranking  []Ranked `json:"ranking"` // best first, at most MaxRanking
}

// MaxRanking is the depth to which rankings are judged.
const MaxRanking = 1000

// Judge returns the result of one query. The ranking is in order.
func Judge(id string, j *Judgments, ranking []Ranked) QueryResult {
	q := j.Score(ranking)
	q.ID = id
	return q
}

// MeanOf returns the mean of every metric over queries, zero of none.
func MeanOf(queries []QueryResult) Metrics {
	var mean Metrics
	for i := range queries {
		for j, x := range queries[i].Metrics {
			mean[j] += x / float64(len(queries))
		}
	}
	return mean
}
