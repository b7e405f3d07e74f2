// Package questions holds questions as people and agents ask them, with the
// right tools among those of 2,120 real MCP servers: the data set "mcp" of
// TOOLSTREAM_DATA. A question that names no vendor is right with the tool of
// any vendor; what else answers it, by what its documentation says, is an alternative of
// the label: not what has to be misused for it, nor what does a part of it. Half of the
// questions are held out: nothing is chosen by them, and the test shows their
// totals alone.
package questions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
)

// least is what the halves reach, less a margin.
var least = map[string]figures{
	"dev":      {recall1: .52, recall5: .81},
	"held-out": {recall1: .44, recall5: .73},
}

type figures struct{ queries, recall1, recall5 float64 }

func TestQuestionsFindTheirTools(t *testing.T) {
	level.Campaign(t)
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	for split, got := range measure(t, withTools(t, filepath.Join(data, "mcp"))) {
		t.Logf("%-8s %3.0f questions, recall@1 %.3f, recall@5 %.3f", split, got.queries, got.recall1, got.recall5)
		if want := least[split]; got.recall1 < want.recall1 || got.recall5 < want.recall5 {
			t.Errorf("%s: want recall@1 of %.2f and recall@5 of %.2f at least", split, want.recall1, want.recall5)
		}
	}
}

// withTools returns a folder with the questions of this one and the tools of dir.
func withTools(t *testing.T, dir string) string {
	t.Helper()
	here := check.Value(os.Getwd())(t)
	set := t.TempDir()
	for _, file := range []string{filepath.Join(dir, "tools.jsonl.gz"), filepath.Join(here, "queries.jsonl")} {
		check.OK(t, os.Symlink(file, filepath.Join(set, filepath.Base(file))))
	}
	return set
}

// measure returns the figures of each half, ranked as a search ranks.
func measure(t *testing.T, dir string) map[string]figures {
	t.Helper()
	cfg := check.Value(config.Load("", nil))(t)
	set := check.Value(dataset.Open(dir))(t)
	queries := check.Value(set.Queries())(t)
	splits := map[string]string{}
	for _, q := range queries {
		splits[q.ID] = q.Split
	}
	run := check.Value(evaluator.Evaluate(t.Context(), evaluator.EvalConfig{Dir: dir, Settings: evaluator.DefaultSettings(), Config: cfg}, evaluator.EvalDeps{}))(t)
	sums := map[string]figures{}
	for _, q := range run.PerQuery {
		f := sums[splits[q.ID]]
		f.queries++
		if len(q.Hits) > 0 && q.Hits[0] == 1 {
			f.recall1++
		}
		if len(q.Hits) > 0 && q.Hits[0] <= 5 {
			f.recall5++
		}
		sums[splits[q.ID]] = f
	}
	for split, f := range sums {
		f.recall1 /= f.queries
		f.recall5 /= f.queries
		sums[split] = f
	}
	return sums
}
