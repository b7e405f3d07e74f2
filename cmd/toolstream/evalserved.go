package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// servedResult is what eval of a server prints as JSON.
type servedResult struct {
	Questions string            `json:"questions"` // the file
	Server    string            `json:"server"`
	Queries   int               `json:"queries"` // that were measured
	Metrics   relevance.Metrics `json:"metrics"` // of the first ten results
}

// servedDepth is how many results of a server are judged: the largest cutoff of the metrics.
const servedDepth = 10

// evalServed asks the questions of a file of a server, whatever it is set to, and judges its
// answers.
func (c *console) evalServed(cmd *cobra.Command, file string, f evalFlags) error {
	for _, name := range []string{"documents", "queries", "retrieval", "weights", "usage", "rank", "steps", "rerank", "tasks", "baseline", "model", "cache"} {
		if cmd.Flags().Changed(name) {
			return misused(cmd, "--%s is for a folder, which is measured in this process; %s is asked of %s as it is set", name, file, c.server)
		}
	}
	all, err := dataset.ReadQueries(file)
	if err != nil {
		return err
	}
	var asked []dataset.Query
	var results []relevance.QueryResult
	report, finish := c.stages()
	defer finish()
	for i, q := range all {
		j := relevance.JudgeTools(q.Labels)
		if j.Empty() || f.settings.Split != evaluation.All && q.Split != f.settings.Split {
			continue
		}
		ranking, err := c.ranking(cmd, q)
		if err != nil {
			return fmt.Errorf("question %s: %w", q.ID, err)
		}
		asked, results = append(asked, q), append(results, relevance.Judge(q.ID, j, ranking))
		report("questions", i+1, len(all))
	}
	finish()
	if len(results) == 0 {
		return fmt.Errorf("%s: no question has a relevant label", file)
	}
	if err := writeFile(f.perQuery, writesQueries(results)); err != nil {
		return err
	}
	r := servedResult{Questions: file, Server: c.server, Queries: len(results), Metrics: relevance.MeanOf(results)}
	err = c.show(r, func() {
		c.printf("%s: %d questions; %s\n\n", oneLine(file), r.Queries, r.Server)
		c.printMetrics(r.Metrics, results)
		c.printMissed(asked, results)
	})
	if err != nil {
		return err
	}
	return below(r.Metrics, f.least)
}

// ranking is what the server answers. Each tool has a place of its own, as in a folder.
func (c *console) ranking(cmd *cobra.Command, q dataset.Query) ([]relevance.Ranked, error) {
	apart := false
	req := schema.SearchRequest{Query: q.Text, K: servedDepth, Arguments: q.Arguments, Collapse: &apart}
	answer, err := c.client().Search(cmd.Context(), req)
	if err != nil {
		return nil, err
	}
	if len(answer.Degraded) > 0 {
		return nil, fmt.Errorf("the server could not ask %s: such an answer is not judged", strings.Join(answer.Degraded, ", "))
	}
	var ranking []relevance.Ranked
	for _, r := range answer.Results {
		ranking = append(ranking, relevance.Ranked{ID: r.ID, Score: r.Score})
	}
	return ranking, nil
}

// shownMissed is how many questions printMissed shows.
const shownMissed = 10

// printMissed shows questions whose tools are not all among the results.
func (c *console) printMissed(asked []dataset.Query, results []relevance.QueryResult) {
	t := newTable("QUESTION", "WANTED", "FIRST RESULT", "TEXT…")
	missed := 0
	for i, r := range results {
		if r.Metrics.Of("comp@10") == 1 {
			continue
		}
		if missed++; missed > shownMissed {
			continue
		}
		var wanted []string
		for _, l := range asked[i].Labels {
			if l.Relevance > 0 {
				wanted = append(wanted, l.ID)
			}
		}
		first := ""
		if len(r.Ranking) > 0 {
			first = r.Ranking[0].ID
		}
		t.add(r.ID, strings.Join(wanted, " "), first, asked[i].Text)
	}
	if missed == 0 {
		return
	}
	c.printf("\nnot all found among the first %d, for %d questions:\n\n", servedDepth, missed)
	c.printTable(t)
}

// least is the smallest value of a metric that is good enough.
type least struct {
	metric string
	value  float64
}

// leasts reads METRIC=VALUE.
func leasts(texts []string) ([]least, error) {
	var out []least
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if !slices.Contains(relevance.MetricNames(), name) || err != nil || !(value >= 0 && value <= 1) {
			return nil, fmt.Errorf("%q is not METRIC=VALUE, of a metric of %s and a value from 0 to 1", text, strings.Join(relevance.MetricNames(), ", "))
		}
		out = append(out, least{name, value})
	}
	return out, nil
}

// below is an error that names each metric that is less than wanted. What is printed as
// equal is.
func below(m relevance.Metrics, wanted []least) error {
	var failed []string
	for _, w := range wanted {
		if got := m.Of(w.metric); math.Round(got*1e4) < math.Round(w.value*1e4) {
			failed = append(failed, fmt.Sprintf("%s is %.4f, less than %g", w.metric, got, w.value))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("not good enough: %s", strings.Join(failed, "; "))
	}
	return nil
}
