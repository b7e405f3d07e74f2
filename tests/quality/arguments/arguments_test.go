// Package arguments holds searches that state their arguments. Two tools fit each of
// them about as well, and only one can be called with what is stated. The tools are
// those of the data sets that the files are named after, in TOOLSTREAM_DATA. Half of
// the searches are held out: nothing is chosen by them, and the test shows their totals
// alone.
package arguments

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
)

// least is the share of each half that has the tool that can be called above the other,
// less a margin. Without a penalty it is .59 and .58.
const least = .85

func TestWhatCanBeCalledStandsAboveWhatCannot(t *testing.T) {
	level.Campaign(t)
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	searches, above := map[string]float64{}, map[string]float64{}
	for _, set := range []string{"sealtools", "toolbench", "mcp"} {
		cases := read(t, set+".jsonl")
		for _, q := range rank(t, filepath.Join(data, set), set+".jsonl") {
			c := cases[q.ID]
			searches[c.Split]++
			callable, other := place(q, c.Labels[0].ID), place(q, c.Other)
			if callable < other {
				above[c.Split]++
			} else if c.Split == "dev" {
				t.Logf("%s: place %d, the other tool %d", q.ID, callable+1, other+1)
			}
		}
	}
	for split, n := range searches {
		t.Logf("%-8s %2.0f searches, %.3f with the tool that can be called above the other", split, n, above[split]/n)
		if above[split]/n < least {
			t.Errorf("%s: want %.2f", split, least)
		}
	}
}

// search is a line of a file beside what an evaluation reads.
type search struct {
	ID     string
	Split  string
	Labels []struct{ ID string }
	Other  string // the tool that cannot be called
}

func read(t *testing.T, file string) map[string]search {
	t.Helper()
	f := check.Value(os.Open(file))(t)
	defer f.Close() // only read from
	cases := map[string]search{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s search
		check.OK(t, json.Unmarshal(lines.Bytes(), &s))
		cases[s.ID] = s
	}
	return cases
}

// rank returns the rankings of the searches of a file, as they are served.
func rank(t *testing.T, tools, file string) []relevance.QueryResult {
	t.Helper()
	dir := t.TempDir()
	here := check.Value(filepath.Abs(file))(t)
	found, err := filepath.Glob(filepath.Join(tools, "tools.jsonl*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("tools of %s: %v, %v", tools, found, err)
	}
	for name, target := range map[string]string{filepath.Base(found[0]): found[0], "queries.jsonl": here} {
		check.OK(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	cfg := check.Value(config.Load("", nil))(t)
	settings := evaluator.DefaultSettings()
	settings.Rerank = evaluator.Auto
	run := check.Value(evaluator.Evaluate(t.Context(), evaluator.EvalConfig{Dir: dir, Settings: settings, Config: cfg}, evaluator.EvalDeps{}))(t)
	return run.PerQuery
}

func place(q relevance.QueryResult, id string) int {
	at := slices.IndexFunc(q.Ranking, func(r relevance.Ranked) bool { return r.ID == id })
	if at < 0 {
		return len(q.Ranking)
	}
	return at
}
