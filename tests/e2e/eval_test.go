package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// harbour writes a small data set and returns its folder.
func harbour(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "harbour")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tools.jsonl": `{"id":"ferry","documentation":` + ferry + "}\n" + `{"id":"bread","documentation":` + bread + "}\n",
		"queries.jsonl": `{"id":"q1","query":"cross the strait by ferry","labels":[{"id":"ferry","relevance":1}]}
{"id":"q2","query":"a loaf of rye bread","labels":[{"id":"bread","relevance":1}]}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEvalOfASmallSet(t *testing.T) {
	t.Parallel()
	dir, out := harbour(t), t.TempDir()
	a, b := filepath.Join(out, "a.jsonl"), filepath.Join(out, "b.jsonl")
	table := cli(t, "", "eval", dir, "--per-query", a)
	if table.code != 0 || !strings.Contains(table.out, "harbour: 2 tools, 2 queries") || !strings.Contains(table.out, "NDCG") {
		t.Fatalf("exit code %d\n%s%s", table.code, table.out, table.errOut)
	}
	first := cli(t, "", "eval", dir, "--json")
	again := cli(t, "", "eval", dir, "--json")
	if first.code != 0 || first.out != again.out {
		t.Errorf("the same evaluation twice:\n%s\n%s", first.out, again.out)
	}
	var result struct {
		Dataset  string             `json:"dataset"`
		Settings map[string]string  `json:"settings"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	if err := json.Unmarshal([]byte(first.out), &result); err != nil {
		t.Fatal(err)
	}
	if result.Dataset != "harbour" || result.Settings["documents"] != "rules" || result.Metrics["ndcg@10"] != 1 || result.Metrics["comp@3"] != 1 {
		t.Errorf("%+v", result)
	}
	if got := keys(t, first.out); !slices.Equal(got, []string{"dataset", "metrics", "queries", "settings", "tools"}) {
		t.Errorf("members %q", got)
	}
	if o := cli(t, "", "eval", dir, "--baseline", "fulldoc", "--per-query", b); o.code != 0 {
		t.Fatal(o.errOut)
	}
	compared := cli(t, "", "eval", "--compare", a, b, "--json")
	if got := keys(t, compared.out); compared.code != 0 || !slices.Equal(got, []string{"a", "b", "metrics", "queries"}) {
		t.Errorf("exit code %d, members %q\n%s", compared.code, got, compared.errOut)
	}
	if o := cli(t, "", "eval", "--compare", a, b); o.code != 0 || !strings.Contains(o.out, "B - A") {
		t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errOut)
	}
}

func TestWrongCallsOfEval(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no folder":              {[]string{"eval"}, 2, "eval --help"},
		"compare one":            {[]string{"eval", "--compare", "a"}, 2, "eval --help"},
		"unknown value":          {[]string{"eval", dir, "--rank", "cats"}, 2, "tools, providers or auto"},
		"switches that clash":    {[]string{"eval", dir, "--usage", "on"}, 2, "--weights learned"},
		"unknown model":          {[]string{"eval", dir, "--model", "crystal-ball"}, 2, "crystal-ball"},
		"no such folder":         {[]string{"eval", filepath.Join(dir, "none")}, 1, "none"},
		"a language model":       {[]string{"eval", dir, "--documents", "llm"}, 1, "language model"},
		"a file that is not one": {[]string{"eval", "--compare", filepath.Join(dir, "tools.jsonl"), filepath.Join(dir, "none")}, 1, "tools.jsonl"},
		"no such split":          {[]string{"eval", dir, "--split", "other"}, 1, "other"},
	} {
		o := cli(t, "", tc.args...)
		if o.code != tc.code || !strings.Contains(o.errOut, tc.says) || o.out != "" {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s%s", name, o.code, tc.code, tc.says, o.out, o.errOut)
		}
	}
}
