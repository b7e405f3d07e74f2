package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/relevance"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	settings evaluation.Settings
	cache    string
	perQuery string
	compare  bool
	min      []string
	least    []least
}

func newEval(con *console) *cobra.Command {
	f := evalFlags{settings: evaluation.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "eval DIR | eval FILE | eval --compare A B",
		Short: "Measure the quality of retrieval on a data set",
		Long: `Measure how well the tools of a data set are found, in this process and with the
code that serves. The data set is a folder with tools.jsonl and queries.jsonl;
docs/quality.md describes the format and what is measured, and toolstream eval init makes
a data set of what was searched and used.

A FILE of questions, in the form of queries.jsonl, is asked of a server instead, with its
tools and as it is set; the first ten results are judged, and what is not found is shown.

--min is for builds: where a metric is less, the exit code is 1.`,
		Example: `  toolstream eval my-tools
  toolstream eval questions.jsonl --server http://127.0.0.1:8665 --min recall@5=0.8 --min mrr=0.6
  toolstream eval my-tools --retrieval lexical --per-query lexical.jsonl
  toolstream eval my-tools --per-query hybrid.jsonl
  toolstream eval --compare lexical.jsonl hybrid.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if want := map[bool]int{false: 1, true: 2}[f.compare]; len(args) != want {
				return fmt.Errorf("accepts %d arg(s), received %d", want, len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.compare {
				return con.compareRuns(args[0], args[1])
			}
			var err error
			if f.least, err = leasts(f.min); err != nil {
				return misused(cmd, "--min %v", err)
			}
			if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() {
				return con.evalServed(cmd, args[0], f)
			}
			return con.eval(cmd, args[0], f)
		},
	}
	f.register(cmd)
	cmd.AddCommand(newEvalInit(con))
	return cmd
}

func (f *evalFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	help := map[string]string{
		"documents": "the fields of the tools: made by the rules, as recorded in the set, or by a language model",
		"queries":   "the queries: as they are, as rewritten in the set, or by a language model",
		"retrieval": "which scores count",
		"usage":     "count what the training queries used, with --weights learned",
		"rank":      "what is ranked",
		"steps":     "search the steps of a query one by one and fuse",
		"rerank":    "rerank by hierarchy",
		"tasks":     "how many queries a task is made of",
		"baseline":  "measure plain BM25 over the raw documents instead",
	}
	for _, c := range evaluation.Choices() {
		flags.StringVar(c.Value(&f.settings), c.Name, c.Values[0], help[c.Name]+": "+strings.Join(c.Values, ", "))
	}
	flags.StringVar(&f.settings.Weights, "weights", evaluation.Builtin, "fusion weights: builtin, learned (cross-validated), reference (the set's own), or a file")
	flags.StringVar(&f.settings.Split, "split", evaluation.All, "only the queries of the split `NAME`")
	addModelFlags(cmd)
	flags.StringVar(&f.cache, "cache", "", "keep vectors in the folder `DIR` for the next evaluation: worth it with a slow model")
	flags.StringVar(&f.perQuery, "per-query", "", "write each query's ranking to `FILE` (JSON Lines)")
	flags.StringArrayVar(&f.min, "min", nil, "fail where a metric is less: `METRIC=VALUE`, such as ndcg@5=0.7 (repeatable)")
	flags.BoolVar(&f.compare, "compare", false, "compare two files of --per-query, query by query")
}

// fewQueries is below which a note says how little a set can tell.
const fewQueries = 50

func (c *console) eval(cmd *cobra.Command, dir string, f evalFlags) error {
	if err := f.settings.Validate(); err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	cfg, err := modelConfig(cmd)
	if err != nil {
		return err
	}
	run, err := c.evaluate(cmd.Context(), evaluator.EvalConfig{Dir: dir, Settings: f.settings, Config: cfg, Cache: f.cache})
	if err != nil {
		return inUse(cmd, err)
	}
	if run.Queries < fewQueries {
		c.notef("note: %d queries tell little: the intervals are wide\n", run.Queries)
	}
	for _, note := range run.Notes {
		c.notef("note: %s\n", note)
	}
	if err := writeFile(f.perQuery, writesQueries(run.PerQuery)); err != nil {
		return err
	}
	if err := c.show(run.Result, func() { c.printRun(run) }); err != nil {
		return err
	}
	return below(run.Metrics, f.least)
}

func writesQueries(queries []relevance.QueryResult) func(io.Writer) error {
	return func(w io.Writer) error { return relevance.WriteQueries(w, queries) }
}

func (c *console) evaluate(ctx context.Context, cfg evaluator.EvalConfig) (*evaluation.Run, error) {
	report, finish := c.stages()
	defer finish()
	deps := evaluator.EvalDeps{Progress: report}
	if cfg.Config.LLM.BaseURL != "" {
		client, err := app.NewLLM(cfg.Config.LLM, 0, "", slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err != nil {
			return nil, err
		}
		deps.LLM = client
	}
	return evaluator.Evaluate(ctx, cfg, deps)
}

// label names a run by what is not the default about it.
func label(s evaluation.Settings) string {
	words := []string{s.Retrieval}
	for _, c := range evaluation.Choices() {
		if v := *c.Value(&s); v != c.Values[0] && c.Name != "retrieval" {
			words = append(words, c.Name+" "+v)
		}
	}
	if s.Baseline != evaluation.Off {
		words = []string{s.Baseline}
	} else if s.Weights != evaluation.Builtin {
		words = append(words, "weights "+filepath.Base(s.Weights))
	}
	return strings.Join(words, ", ")
}

func (c *console) printRun(run *evaluation.Run) {
	c.printf("%s: %d tools, %d queries; %s\n", run.Dataset, run.Tools, run.Queries, label(run.Settings))
	if run.Settings.Model != "" {
		c.printf("model %s\n", run.Settings.Model)
	}
	c.printf("\n")
	c.printMetrics(run.Metrics, run.PerQuery)
}

// printMetrics prints the means of queries with their intervals.
func (c *console) printMetrics(m relevance.Metrics, queries []relevance.QueryResult) {
	t := newTable("METRIC", "@1", "@3", "@5", "@10", "95 % OF @10")
	for _, family := range []struct{ name, shown string }{{"ndcg", "NDCG"}, {"recall", "recall"}, {"comp", "complete"}} {
		row := []any{family.shown}
		for _, k := range []string{"@1", "@3", "@5", "@10"} {
			row = append(row, fmt.Sprintf("%.4f", m.Of(family.name+k)))
		}
		t.add(append(row, spread(queries, family.name+"@10"))...)
	}
	t.add("MRR", "", "", "", fmt.Sprintf("%.4f", m.Of("mrr")), spread(queries, "mrr"))
	t.add("MAP", "", "", "", fmt.Sprintf("%.4f", m.Of("map")), spread(queries, "map"))
	c.printTable(t)
}

// spread is the 95 % interval of a metric.
func spread(queries []relevance.QueryResult, name string) string {
	values := make([]float64, len(queries))
	for i := range queries {
		values[i] = queries[i].Metrics.Of(name)
	}
	over := relevance.Bootstrap(values)
	return fmt.Sprintf("%.3f to %.3f", over.Low, over.High)
}

// comparison is what --compare --json prints.
type comparison struct {
	A       string               `json:"a"`
	B       string               `json:"b"`
	Queries int                  `json:"queries"` // that both have
	Metrics relevance.Comparison `json:"metrics"`
}

func (c *console) compareRuns(a, b string) error {
	before, err := readRun(a)
	if err != nil {
		return err
	}
	after, err := readRun(b)
	if err != nil {
		return err
	}
	metrics, n, err := relevance.Compare(before, after)
	if err != nil {
		return fmt.Errorf("compare %s and %s: %w", a, b, err)
	}
	if only := len(before) + len(after) - 2*n; only > 0 {
		c.notef("note: %d queries are in one of the files only and do not count\n", only)
	}
	r := comparison{a, b, n, metrics}
	return c.show(r, func() { c.printComparison(r) })
}

func readRun(path string) ([]relevance.QueryResult, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read from
	queries, err := relevance.ReadQueries(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return queries, nil
}

func (c *console) printComparison(r comparison) {
	c.printf("A is %s, B is %s; %d queries\n\n", oneLine(r.A), oneLine(r.B), r.Queries)
	t := newTable("METRIC", "A", "B", "B - A", "95 %", "P")
	for i, name := range relevance.MetricNames() {
		d := r.Metrics[i]
		t.add(name, fmt.Sprintf("%.4f", d.A), fmt.Sprintf("%.4f", d.B), fmt.Sprintf("%+.4f", d.Difference),
			fmt.Sprintf("%+.3f to %+.3f", d.Low, d.High), fmt.Sprintf("%.4f", d.P))
	}
	c.printTable(t)
}
