package commands

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// called runs the program and returns its exit code and what it printed.
func called(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// harbour writes a small data set and returns its folder.
func harbour(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "harbour")
	check.OK(t, os.Mkdir(dir, 0o700))
	var tools, queries strings.Builder
	for _, name := range strings.Fields("ferry bread glider letter kettle violin garden bridge candle mirror ladder pencil") {
		tools.WriteString(`{"id":"` + name + `","documentation":{"name":"get_` + name + `","description":"Orders a ` + name + ` or a thing like it."}}` + "\n")
		queries.WriteString(`{"id":"` + name + `","query":"a ` + name + `","labels":[{"id":"` + name + `"}]}` + "\n")
	}
	for name, text := range map[string]string{"tools.jsonl": tools.String(), "queries.jsonl": queries.String()} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func members(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestEvalOfASmallSet(t *testing.T) {
	dir, out := harbour(t), t.TempDir()
	a, b := filepath.Join(out, "a.jsonl"), filepath.Join(out, "b.jsonl")
	code, table, errOut := called(t, "eval", dir, "--per-query", a)
	if code != program.Done || !strings.Contains(table, "harbour: 12 tools, 12 queries") || !strings.Contains(table, "NDCG") || !strings.Contains(errOut, "12 queries tell little") {
		t.Fatalf("exit code %d\n%s%s", code, table, errOut)
	}
	code, first, _ := called(t, "eval", dir, "--json", "--min", "ndcg@10=0.9")
	if _, again, _ := called(t, "eval", dir, "--json"); code != program.Done || first != again {
		t.Errorf("the same evaluation twice: exit code %d\n%s\n%s", code, first, again)
	}
	var result struct {
		Dataset  string             `json:"dataset"`
		Settings map[string]string  `json:"settings"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	check.OK(t, json.Unmarshal([]byte(first), &result))
	if result.Dataset != "harbour" || result.Settings["documents"] != "rules" || result.Metrics["ndcg@10"] != 1 || result.Metrics["comp@3"] != 1 {
		t.Errorf("%+v", result)
	}
	if got := members(t, first); !slices.Equal(got, []string{"dataset", "metrics", "queries", "settings", "tools"}) {
		t.Errorf("members %q", got)
	}
	if code, _, errOut := called(t, "eval", dir, "--baseline", "fulldoc", "--per-query", b); code != program.Done {
		t.Fatal(errOut)
	}
	code, compared, errOut := called(t, "eval", "--compare", a, b, "--json")
	if got := members(t, compared); code != program.Done || !slices.Equal(got, []string{"a", "b", "metrics", "queries"}) {
		t.Errorf("exit code %d, members %q\n%s", code, got, errOut)
	}
	if code, out, errOut := called(t, "eval", "--compare", a, b); code != program.Done || !strings.Contains(out, "B - A") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}

// The three commands of docs/evaluate.md, except for the promotion.
func TestTrainedWeightsCanBeEvaluated(t *testing.T) {
	dir := harbour(t)
	file := filepath.Join(dir, "weights.json")
	for _, args := range [][]string{{"train", dir, "--usage", "on", "--out", file}, {"eval", dir, "--weights", file}} {
		if code, out, errOut := called(t, args...); code != program.Done {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, errOut)
		}
	}
}

func TestWrongCalls(t *testing.T) {
	dir := harbour(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no folder":              {[]string{"eval"}, program.Usage, "eval --help"},
		"a file":                 {[]string{"eval", filepath.Join(dir, "queries.jsonl")}, program.Usage, "toolstream eval"},
		"compare one":            {[]string{"eval", "--compare", "a"}, program.Usage, "eval --help"},
		"unknown value":          {[]string{"eval", dir, "--rank", "cats"}, program.Usage, "tools, providers or auto"},
		"switches that clash":    {[]string{"eval", dir, "--usage", "on"}, program.Usage, "--weights learned"},
		"unknown model":          {[]string{"eval", dir, "--model", "crystal-ball"}, program.Usage, "crystal-ball"},
		"no metric":              {[]string{"eval", dir, "--min", "ndcg"}, program.Usage, "METRIC=VALUE"},
		"no such folder":         {[]string{"eval", filepath.Join(dir, "none")}, program.Failed, "none"},
		"a language model":       {[]string{"eval", dir, "--documents", "llm"}, program.Failed, "language model"},
		"a file that is not one": {[]string{"eval", "--compare", filepath.Join(dir, "tools.jsonl"), filepath.Join(dir, "none")}, program.Failed, "tools.jsonl"},
		"no such split":          {[]string{"eval", dir, "--split", "other"}, program.Failed, "other"},
		"nothing to train on":    {[]string{"train"}, program.Usage, "folder"},
		"no attack":              {[]string{"simulate", dir, "--attack", "storm"}, program.Usage, "flood"},
		"no seeds":               {[]string{"simulate", dir, "--seeds", "0"}, program.Usage, "--seeds"},
		"no texts":               {[]string{"distill", "--teacher", "static"}, program.Usage, "--texts"},
		"no tools":               {[]string{"bench", "--tools", "0"}, program.Usage, "--tools"},
	} {
		code, out, errOut := called(t, tc.args...)
		if code != tc.code || !strings.Contains(errOut, tc.says) || out != "" {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s%s", name, code, tc.code, tc.says, out, errOut)
		}
	}
}
