package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/schema"
)

func newEval(con *console) *cobra.Command {
	var perQuery, split string
	var mins []string
	cmd := &cobra.Command{
		Use:   "eval FILE",
		Short: "Measure how well a server answers labelled questions",
		Long: `Ask a server the questions of a FILE in the form of queries.jsonl, with its tools and as it
is set, and judge the first ten results; the output shows the tools that were not found.
docs/evaluate.md describes the form and the metrics, and toolstream eval init makes such a file
of recorded searches. A folder is measured without a server, by toolstream-lab eval.

--min is for builds: if a metric is less, the exit code is 1.`,
		Example: `  toolstream eval questions.jsonl --server http://127.0.0.1:8665 --min recall@5=0.8 --min mrr=0.6`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			minimums, err := program.ParseMinimums(mins)
			if err != nil {
				return program.Misused(cmd, "--min %v", err)
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				return program.Misused(cmd, "%s is a folder; measure a data set with toolstream-lab eval %[1]s", args[0])
			}
			all, err := dataset.ReadQueries(args[0])
			if err != nil {
				return err
			}
			asked, results, err := askAll(con, cmd, all, split)
			if err != nil {
				return err
			}
			if len(results) == 0 {
				return fmt.Errorf("%s: no question has a relevant label", args[0])
			}
			if err := program.WriteQueries(perQuery, results); err != nil {
				return err
			}
			r := evalResult{Questions: args[0], Server: con.Server, Queries: len(results), Metrics: relevance.MeanOf(results)}
			err = con.Show(r, func() {
				con.Printf("%s: %d questions; %s\n\n", program.OneLine(args[0]), r.Queries, r.Server)
				program.Metrics(con.Terminal, r.Metrics, results)
				printMissed(con, asked, results)
			})
			if err != nil {
				return err
			}
			return program.CheckMinimums(r.Metrics, minimums)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&split, "split", "all", "only the questions of the split `NAME`")
	flags.StringVar(&perQuery, "per-query", "", "write each question's ranking to `FILE` (JSON Lines), for toolstream-lab eval --compare")
	flags.StringArrayVar(&mins, "min", nil, "fail if a metric is less: `METRIC=VALUE`, such as ndcg@5=0.7 (repeatable)")
	cmd.AddCommand(newEvalInit(con))
	return cmd
}

// evalResult is the JSON output of eval.
type evalResult struct {
	Questions string            `json:"questions"` // the file
	Server    string            `json:"server"`
	Queries   int               `json:"queries"` // that were measured
	Metrics   relevance.Metrics `json:"metrics"` // of the first evalDepth results
}

// evalDepth is the number of judged results: the largest cutoff of the metrics.
const evalDepth = 10

// askAll asks the server the labelled questions of a split and judges
// the answers.
func askAll(con *console, cmd *cobra.Command, all []dataset.Query, split string) (asked []dataset.Query, results []relevance.QueryResult, err error) {
	progress, finish := con.Stages()
	defer finish()
	for i, q := range all {
		j := relevance.JudgeTools(q.Labels)
		if j.Empty() || split != "all" && q.Split != split {
			continue
		}
		collapse := false // each tool has its own place, as in a data set
		answer, err := con.client().Search(cmd.Context(), schema.SearchRequest{Query: q.Text, K: evalDepth, Arguments: q.Arguments, Collapse: &collapse})
		if err == nil && len(answer.Degraded) > 0 {
			err = fmt.Errorf("the server could not ask %s: such an answer is not judged", strings.Join(answer.Degraded, ", "))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
		var ranking []relevance.Ranked
		for _, r := range answer.Results {
			ranking = append(ranking, relevance.Ranked{ID: r.ID, Score: r.Score})
		}
		asked, results = append(asked, q), append(results, relevance.Judge(q.ID, j, ranking))
		progress("questions", i+1, len(all))
	}
	return asked, results, nil
}

// shownMissed bounds the missed questions that are printed.
const shownMissed = 10

// printMissed shows the questions whose tools are not all among the results.
func printMissed(con *console, asked []dataset.Query, results []relevance.QueryResult) {
	t := program.NewTable("QUESTION", "WANTED", "FIRST RESULT", "TEXT…")
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
		t.Add(r.ID, strings.Join(wanted, " "), first, asked[i].Text)
	}
	if missed > 0 {
		con.Printf("\nnot all found among the first %d, for %d questions:\n\n", evalDepth, missed)
		con.PrintTable(t)
	}
}
