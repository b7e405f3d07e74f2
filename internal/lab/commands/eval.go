package commands

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/server"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	settings evaluator.Settings
	cache    string
	perQuery string
	compare  bool
	min      []string
}

func newEval(t *program.Terminal) *cobra.Command {
	f := evalFlags{settings: evaluator.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "eval DIR | eval --compare A B",
		Short: "Measure the quality of retrieval on a data set",
		Long: `Measure how well the tools of a data set are found, in this process and with the
code that serves. The data set is a folder with tools.jsonl and queries.jsonl;
docs/evaluate.md describes the format and the metrics, and toolstream eval init makes a data
set of recorded searches. toolstream eval asks a server.

--min is for builds: if a metric is less, the exit code is 1.`,
		Example: `  toolstream-lab eval my-tools --min recall@5=0.8
  toolstream-lab eval my-tools --retrieval lexical --per-query lexical.jsonl
  toolstream-lab eval my-tools --per-query hybrid.jsonl
  toolstream-lab eval --compare lexical.jsonl hybrid.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if want := map[bool]int{false: 1, true: 2}[f.compare]; len(args) != want {
				return fmt.Errorf("accepts %d arg(s), received %d", want, len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.compare {
				before, err := readRun(args[0])
				if err != nil {
					return err
				}
				after, err := readRun(args[1])
				if err != nil {
					return err
				}
				metrics, n, err := relevance.Compare(before, after)
				if err != nil {
					return fmt.Errorf("compare %s and %s: %w", args[0], args[1], err)
				}
				if only := len(before) + len(after) - 2*n; only > 0 {
					t.Notef("note: %d queries are in only one file and do not count\n", only)
				}
				r := comparison{args[0], args[1], n, metrics}
				return t.Show(r, func() {
					t.Printf("A is %s, B is %s; %d queries\n\n", program.OneLine(r.A), program.OneLine(r.B), r.Queries)
					table := program.NewTable("METRIC", "A", "B", "B - A", "95 %", "P")
					for i, name := range relevance.MetricNames() {
						d := r.Metrics[i]
						table.Add(name, fmt.Sprintf("%.4f", d.A), fmt.Sprintf("%.4f", d.B), fmt.Sprintf("%+.4f", d.Difference),
							fmt.Sprintf("%+.3f to %+.3f", d.Low, d.High), fmt.Sprintf("%.4f", d.P))
					}
					t.PrintTable(table)
				})
			}
			minimums, err := program.ParseMinimums(f.min)
			if err != nil {
				return program.Misused(cmd, "--min %v", err)
			}
			if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() {
				return program.Misused(cmd, "%s is a file; ask its questions of a server with toolstream eval %[1]s", args[0])
			}
			return eval(t, cmd, args[0], f, minimums)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *evalFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	help := map[string]string{
		"documents": "the fields of the tools: made by the rules, as recorded in the set, or by a language model",
		"queries":   "the queries: as they are, as rewritten in the set, or by a language model",
		"retrieval": "which scores count",
		"usage":     "count what the training queries used, with --weights learned",
		"rank":      "kind of the results",
		"steps":     "search the steps of a query one by one and fuse",
		"rerank":    "rerank by hierarchy",
		"tasks":     "how many queries a task is made of",
		"baseline":  "measure plain BM25 over the raw documents instead",
	}
	for _, c := range evaluator.Choices() {
		flags.StringVar(c.Value(&f.settings), c.Name, c.Values[0], help[c.Name]+": "+strings.Join(c.Values, ", "))
	}
	flags.StringVar(&f.settings.Weights, "weights", evaluator.Builtin, "fusion weights: builtin, learned (cross-validated), reference (the set's own), or a file")
	flags.StringVar(&f.settings.Split, "split", evaluator.All, "only the queries of the split `NAME`")
	addModelFlags(cmd)
	flags.StringVar(&f.cache, "cache", "", "keep vectors in the folder `DIR` for the next evaluation: worth it with a slow model")
	flags.StringVar(&f.perQuery, "per-query", "", "write each query's ranking to `FILE` (JSON Lines)")
	flags.StringArrayVar(&f.min, "min", nil, "fail if a metric is less: `METRIC=VALUE`, such as ndcg@5=0.7 (repeatable)")
	flags.BoolVar(&f.compare, "compare", false, "compare two files of --per-query, query by query")
}

// fewQueries is the number of queries below which a note warns that a set proves little.
const fewQueries = 50

func eval(t *program.Terminal, cmd *cobra.Command, dir string, f evalFlags, minimums []program.Minimum) error {
	if err := f.settings.Validate(); err != nil {
		return program.Wrong(cmd, err)
	}
	cfg, err := modelConfig(cmd)
	if err != nil {
		return err
	}
	run, err := evaluate(t, cmd.Context(), evaluator.EvalConfig{Dir: dir, Settings: f.settings, Config: cfg, Cache: f.cache})
	if err != nil {
		return program.WrongSetting(cmd, err)
	}
	if run.Queries < fewQueries {
		t.Notef("note: %d queries tell little: the intervals are wide\n", run.Queries)
	}
	for _, note := range run.Notes {
		t.Notef("note: %s\n", note)
	}
	if err := program.WriteQueries(f.perQuery, run.PerQuery); err != nil {
		return err
	}
	if err := t.Show(run.Result, func() {
		t.Printf("%s: %d tools, %d queries; %s\n", run.Dataset, run.Tools, run.Queries, label(run.Settings))
		if run.Settings.Model != "" {
			t.Printf("model %s\n", run.Settings.Model)
		}
		t.Printf("\n")
		program.Metrics(t, run.Metrics, run.PerQuery)
	}); err != nil {
		return err
	}
	return program.CheckMinimums(run.Metrics, minimums)
}

func evaluate(t *program.Terminal, ctx context.Context, cfg evaluator.EvalConfig) (*evaluator.Run, error) {
	report, finish := t.Stages()
	defer finish()
	deps := evaluator.EvalDeps{Progress: report}
	if cfg.Config.LLM.BaseURL != "" {
		client, err := server.NewLLM(cfg.Config.LLM, 0, "", slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err != nil {
			return nil, err
		}
		deps.LLM = client
	}
	return evaluator.Evaluate(ctx, cfg, deps)
}

// label names a run by its settings that differ from the default.
func label(s evaluator.Settings) string {
	words := []string{s.Retrieval}
	for _, c := range evaluator.Choices() {
		if v := *c.Value(&s); v != c.Values[0] && c.Name != "retrieval" {
			words = append(words, c.Name+" "+v)
		}
	}
	if s.Baseline != evaluator.Off {
		words = []string{s.Baseline}
	} else if s.Weights != evaluator.Builtin {
		words = append(words, "weights "+filepath.Base(s.Weights))
	}
	return strings.Join(words, ", ")
}

// comparison is the output of --compare --json.
type comparison struct {
	A       string               `json:"a"`
	B       string               `json:"b"`
	Queries int                  `json:"queries"` // that both have
	Metrics relevance.Comparison `json:"metrics"`
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
