// Package tasks holds tasks as people write them, 140 to 170 words with asides, and the
// providers that they want, one to three each, among 2,120 real MCP servers: the data set
// "mcp" of TOOLSTREAM_DATA. No task names a server. A label is a need: a tool of one
// provider that does it, and as alternatives tools of the others that do. Half of the
// tasks are held out: nothing is chosen by them, and the test shows their totals alone.
package tasks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
)

// least is the recall@5 that the halves reach, less a margin: of whole texts, and of
// their steps.
var least = map[string]struct{ whole, steps float64 }{
	"dev":      {.48, .80},
	"held-out": {.42, .80},
}

func TestTasksFindTheirProviders(t *testing.T) {
	level.Campaign(t)
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	dir := withProviders(t, filepath.Join(data, "mcp"))
	for split, want := range least {
		whole, steps := recall(t, dir, split, evaluator.Off), recall(t, dir, split, evaluator.On)
		t.Logf("%-8s recall@5 %.3f, by steps %.3f", split, whole, steps)
		if whole < want.whole || steps < want.steps {
			t.Errorf("%s: want %.2f and %.2f at least", split, want.whole, want.steps)
		}
	}
}

// withProviders returns a folder with the tasks of this one, and the tools and providers
// of dir.
func withProviders(t *testing.T, dir string) string {
	t.Helper()
	here := check.Value(os.Getwd())(t)
	set := t.TempDir()
	for name, file := range map[string]string{
		"tools.jsonl.gz": filepath.Join(dir, "tools.jsonl.gz"), "providers.jsonl.gz": filepath.Join(dir, "agents.jsonl.gz"),
		"queries.jsonl": filepath.Join(here, "queries.jsonl"),
	} {
		check.OK(t, os.Symlink(file, filepath.Join(set, name)))
	}
	return set
}

// recall returns the share of the providers of a half that are among the first five.
func recall(t *testing.T, dir, split, steps string) float64 {
	t.Helper()
	cfg := check.Value(config.Load("", nil))(t)
	settings := evaluator.DefaultSettings()
	settings.Rank, settings.Split, settings.Steps = evaluator.Providers, split, steps
	run := check.Value(evaluator.Evaluate(t.Context(), evaluator.EvalConfig{Dir: dir, Settings: settings, Config: cfg}, evaluator.EvalDeps{}))(t)
	return run.Result.Metrics.Of("recall@5")
}
