package relevance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// cutoffs are the values of k.
var cutoffs = [4]int{1, 3, 5, 10}

// Metrics holds one value for each of MetricNames, in that order, fractions of
// 1. Its JSON form is an object by name, in the same order.
type Metrics [3*len(cutoffs) + 2]float64

// The positions of the metrics without a cutoff; the others come before them,
// family by family.
const (
	mrr = 3*len(cutoffs) + iota
	meanPrecision
)

// MetricNames returns the names of all metrics: ndcg, recall and comp at 1, 3,
// 5 and 10, mrr, map.
func MetricNames() []string {
	names := make([]string, 0, len(Metrics{}))
	for _, family := range []string{"ndcg", "recall", "comp"} {
		for _, k := range cutoffs {
			names = append(names, family+"@"+strconv.Itoa(k))
		}
	}
	return append(names, "mrr", "map")
}

// Of returns the metric of that name, NaN if it is unknown.
func (m Metrics) Of(name string) float64 {
	if i := slices.Index(MetricNames(), name); i >= 0 {
		return m[i]
	}
	return math.NaN()
}

// MarshalJSON writes an object in the order of MetricNames.
func (m Metrics) MarshalJSON() ([]byte, error) { return byName(m[:]) }

// byName returns an object of values in the order of MetricNames.
func byName[T any](values []T) ([]byte, error) {
	var b bytes.Buffer
	for i, name := range MetricNames() {
		value, err := json.Marshal(values[i])
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		fmt.Fprintf(&b, ",%q:%s", name, value)
	}
	return append(append([]byte{'{'}, b.Bytes()[1:]...), '}'), nil
}

// UnmarshalJSON reads the output of MarshalJSON; a missing metric is an error.
func (m *Metrics) UnmarshalJSON(raw []byte) error {
	var values map[string]float64
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	for i, name := range MetricNames() {
		value, ok := values[name]
		if !ok {
			return fmt.Errorf("metric %s is missing", name)
		}
		m[i] = value
	}
	return nil
}

// Ranked is one place of a ranking.
type Ranked struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
}

// Sort orders a ranking: by score, then by id, both descending.
func Sort(ranking []Ranked) {
	slices.SortFunc(ranking, func(a, b Ranked) int { return fusion.Order(a.Score, a.ID, b.Score, b.ID) })
}

// Score judges a ranking, best first, down to MaxRanking. Each id counts at its first
// place.
func (j *Judgments) Score(ranking []Ranked) QueryResult {
	ranking = ranking[:min(len(ranking), MaxRanking)]
	q := QueryResult{Relevant: len(j.gains), Hits: []int{}, Ranking: ranking}
	found := make([]bool, len(j.gains))
	var gains []float64 // of the hits
	seen := make(map[string]bool, len(ranking))
	for i, r := range ranking {
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		for _, label := range j.labels[r.ID] {
			if !found[label] {
				found[label] = true
				q.Hits, gains = append(q.Hits, i+1), append(gains, j.gains[label])
				break
			}
		}
	}
	ideal := slices.SortedFunc(slices.Values(j.gains), func(a, b float64) int { return cmp.Compare(b, a) }) // the largest first
	q.measure(gains, ideal)
	return q
}

// measure fills in the metrics. gains are the gains of the hits, ideal are all gains, largest
// first.
func (q *QueryResult) measure(gains, ideal []float64) {
	if q.Relevant == 0 {
		return
	}
	m, all := &q.Metrics, float64(q.Relevant)
	for i, k := range cutoffs {
		n := 0
		for n < len(q.Hits) && q.Hits[n] <= k {
			n++
		}
		var dcg, best float64
		for j, rank := range q.Hits[:n] {
			dcg += discounted(gains[j], rank)
		}
		for j := range min(k, len(ideal)) {
			best += discounted(ideal[j], j+1)
		}
		m[i] = dcg / best
		m[len(cutoffs)+i] = float64(n) / all
		if n == q.Relevant {
			m[2*len(cutoffs)+i] = 1
		}
	}
	if len(q.Hits) > 0 {
		m[mrr] = 1 / float64(q.Hits[0])
	}
	for i, rank := range q.Hits {
		m[meanPrecision] += float64(i+1) / float64(rank) / all
	}
}

func discounted(gain float64, rank int) float64 { return gain / math.Log2(1+float64(rank)) }
