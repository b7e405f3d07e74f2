// Package unanswerable holds requests that no tool of 2,120 real MCP servers is for: the
// data set "mcp" of TOOLSTREAM_DATA. A search is to say of them that nothing fits, and of
// the questions of the folder questions that something does. Half of the requests are held
// out: nothing was chosen by them. The others were fitted to.
package unanswerable

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
)

// What each half reaches, less a margin.
const (
	leastRefused = .5 // of the requests
	mostRefused  = .15
)

func TestNothingFitsWhatNoToolIsFor(t *testing.T) {
	level.Campaign(t)
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	cfg := check.Value(config.Load("", nil))(t)
	for _, split := range []string{"dev", "held-out"} {
		dir := folder(t, filepath.Join(data, "mcp", "tools.jsonl.gz"), split)
		tuned := check.Value(evaluator.TuneConfidence(t.Context(), evaluator.TuneConfig{Dirs: []string{dir}, Config: cfg}, nil))(t)
		got := tuned.Models[0].Sets[0]
		t.Logf("%-8s nothing fits %.3f of %d requests, and %.3f of %d questions", split, got.Refused, got.Foreign, got.NothingFits, got.Queries)
		if got.Refused < leastRefused || got.NothingFits > mostRefused {
			t.Errorf("%s: want at least %.2f and at most %.2f", split, leastRefused, mostRefused)
		}
	}
}

// folder returns a data set of tools with the questions and requests of a split.
func folder(t *testing.T, tools, split string) string {
	t.Helper()
	dir := t.TempDir()
	var queries []byte
	for _, file := range []string{"../questions/queries.jsonl", "queries.jsonl"} {
		raw := check.Value(os.ReadFile(file))(t)
		for line := range bytes.Lines(raw) {
			if bytes.Contains(line, []byte(`"split": "`+split+`"`)) {
				queries = append(queries, line...)
			}
		}
	}
	check.OK(t, os.WriteFile(filepath.Join(dir, "queries.jsonl"), queries, 0o600))
	check.OK(t, os.Symlink(tools, filepath.Join(dir, "tools.jsonl.gz")))
	return dir
}
