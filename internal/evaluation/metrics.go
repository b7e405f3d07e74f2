package evaluation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// cutoffs are the k at which rankings are cut.
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

// Of returns the metric of that name, NaN where there is none.
func (m Metrics) Of(name string) float64 {
	if i := slices.Index(MetricNames(), name); i >= 0 {
		return m[i]
	}
	return math.NaN()
}

// MarshalJSON writes an object in the order of MetricNames.
func (m Metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, name := range MetricNames() {
		value, err := json.Marshal(m[i])
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		fmt.Fprintf(&b, ",%q:%s", name, value)
	}
	return append(append([]byte{'{'}, b.Bytes()[1:]...), '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote; a metric that is missing is an
// error.
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

// Outcome is what one ranking is worth.
type Outcome struct {
	Metrics  Metrics
	Hits     []int // ranks from 1, rising, at which labels were found
	Relevant int   // labels that could be found
}

// Score judges a ranking, best first. Each id counts where it stands first.
func (j *Judgments) Score(ranking []Ranked) Outcome {
	o := Outcome{Relevant: len(j.gains)}
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
				o.Hits, gains = append(o.Hits, i+1), append(gains, j.gains[label])
				break
			}
		}
	}
	o.measure(gains, j.ideal())
	return o
}

// measure fills in the metrics: gains are those of the hits, ideal all of them,
// largest first.
func (o *Outcome) measure(gains, ideal []float64) {
	if o.Relevant == 0 {
		return
	}
	m, all := &o.Metrics, float64(o.Relevant)
	for i, k := range cutoffs {
		n := hitsWithin(o.Hits, k)
		m[i] = dcg(o.Hits[:n], gains) / dcg(firstRanks(min(k, len(ideal))), ideal)
		m[len(cutoffs)+i] = float64(n) / all
		if n == o.Relevant {
			m[2*len(cutoffs)+i] = 1
		}
	}
	if len(o.Hits) > 0 {
		m[mrr] = 1 / float64(o.Hits[0])
	}
	for i, rank := range o.Hits {
		m[meanPrecision] += float64(i+1) / float64(rank) / all
	}
}

// Recall returns the share of the labels found in the first k places.
func (o *Outcome) Recall(k int) float64 {
	if o.Relevant == 0 {
		return 0
	}
	return float64(hitsWithin(o.Hits, k)) / float64(o.Relevant)
}

func hitsWithin(hits []int, k int) int {
	n := 0
	for n < len(hits) && hits[n] <= k {
		n++
	}
	return n
}

// dcg sums the discounted gains of hits at the given ranks.
func dcg(ranks []int, gains []float64) float64 {
	var sum float64
	for i, rank := range ranks {
		sum += gains[i] / math.Log2(1+float64(rank))
	}
	return sum
}

func firstRanks(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	return ranks
}
