package program

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/relevance"
)

// Metrics prints the means of queries with their intervals.
func Metrics(t *Terminal, m relevance.Metrics, queries []relevance.QueryResult) {
	table := NewTable("METRIC", "@1", "@3", "@5", "@10", "95 % OF @10")
	for _, family := range []struct{ name, shown string }{{"ndcg", "NDCG"}, {"recall", "recall"}, {"comp", "complete"}} {
		row := []any{family.shown}
		for _, k := range []string{"@1", "@3", "@5", "@10"} {
			row = append(row, fmt.Sprintf("%.4f", m.Of(family.name+k)))
		}
		table.Add(append(row, interval(queries, family.name+"@10"))...)
	}
	table.Add("MRR", "", "", "", fmt.Sprintf("%.4f", m.Of("mrr")), interval(queries, "mrr"))
	table.Add("MAP", "", "", "", fmt.Sprintf("%.4f", m.Of("map")), interval(queries, "map"))
	t.PrintTable(table)
}

// interval is the 95 % interval of a metric.
func interval(queries []relevance.QueryResult, name string) string {
	values := make([]float64, len(queries))
	for i := range queries {
		values[i] = queries[i].Metrics.Of(name)
	}
	over := relevance.Bootstrap(values)
	return fmt.Sprintf("%.3f to %.3f", over.Low, over.High)
}

// WriteQueries writes each query's ranking to a file, for eval --compare. An empty path is no
// file.
func WriteQueries(path string, queries []relevance.QueryResult) error {
	return WriteFile(path, func(w io.Writer) error { return relevance.WriteQueries(w, queries) })
}

// Minimum is the smallest value of a metric that is good enough.
type Minimum struct {
	metric string
	value  float64
}

// ParseMinimums reads the values of --min, METRIC=VALUE each.
func ParseMinimums(texts []string) ([]Minimum, error) {
	var out []Minimum
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if !slices.Contains(relevance.MetricNames(), name) || err != nil || !(value >= 0 && value <= 1) {
			return nil, fmt.Errorf("%q is not METRIC=VALUE, of a metric of %s and a value from 0 to 1", text, strings.Join(relevance.MetricNames(), ", "))
		}
		out = append(out, Minimum{name, value})
	}
	return out, nil
}

// CheckMinimums returns an error that names each metric below its minimum. It compares four
// digits, as Metrics prints.
func CheckMinimums(m relevance.Metrics, minimums []Minimum) error {
	var failed []string
	for _, least := range minimums {
		if got := m.Of(least.metric); math.Round(got*1e4) < math.Round(least.value*1e4) {
			failed = append(failed, fmt.Sprintf("%s is %.4f, less than %g", least.metric, got, least.value))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("not good enough: %s", strings.Join(failed, "; "))
	}
	return nil
}
