// Package quality holds the ranking golden: the sample registry, its queries,
// and what the whole pipeline answers. A change of ranking shows as a diff of
// testdata/ranking.txt; `go test ./tests/quality -update` writes it anew.
package quality

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

var update = flag.Bool("update", false, "write testdata/ranking.txt anew")

const (
	registry = "../../examples/registry"
	golden   = "testdata/ranking.txt"
	shown    = 5
)

type query struct {
	ID     string `json:"id"`
	Query  string `json:"query"`
	Labels []struct {
		ID        string  `json:"id"`
		Relevance float64 `json:"relevance"`
	} `json:"labels"`
}

func (q query) relevant() map[string]bool {
	ids := map[string]bool{}
	for _, l := range q.Labels {
		ids[l.ID] = l.Relevance > 0
	}
	return ids
}

func TestRankingOfTheSampleRegistry(t *testing.T) {
	bin := process.Build(t)
	p := process.Start(t, bin, t.TempDir())
	out, err := exec.Command(bin, "import", filepath.Join(registry, "tools"), "--wait", "--server", p.Client.Server).CombinedOutput()
	if err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	settle(t, p)
	got := report(t, p, readQueries(t))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if got != string(want) {
		t.Errorf("the ranking changed; if that is meant, run with -update and commit the diff:\n%s", diff(string(want), got))
	}
}

// settle waits until scores are exact.
func settle(t *testing.T, p *process.Process) {
	t.Helper()
	err := process.Until(t.Context(), func() (bool, error) {
		var status struct {
			Settled bool `json:"settled"`
		}
		err := p.Client.Get(t.Context(), "/v1/status", nil, &status)
		return status.Settled, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// report renders the figures and, query by query, what was ranked first. A
// relevant id is marked with a star.
func report(t *testing.T, p *process.Process, queries []query) string {
	var body strings.Builder
	var recall1, recall5, mrr float64
	for _, q := range queries {
		ids := search(t, p, q.Query)
		relevant := q.relevant()
		fmt.Fprintf(&body, "\n%s  %s\n", q.ID, q.Query)
		found := 0
		for i, id := range ids {
			mark := " "
			if relevant[id] {
				mark = "*"
				if found++; found == 1 {
					mrr += 1 / float64(i+1)
				}
				if i == 0 {
					recall1 += 1 / float64(len(relevant))
				}
			}
			fmt.Fprintf(&body, "  %s %s\n", mark, id)
		}
		recall5 += float64(found) / float64(len(relevant))
	}
	n := float64(len(queries))
	return fmt.Sprintf("queries   %d\nrecall@1  %.3f\nrecall@5  %.3f\nMRR@5     %.3f\n", len(queries), recall1/n, recall5/n, mrr/n) + body.String()
}

func search(t *testing.T, p *process.Process, text string) []string {
	t.Helper()
	var answer schema.SearchResponse
	err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: text, K: shown}, &answer)
	if err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	if len(answer.Degraded) > 0 {
		t.Fatalf("search %q: degraded: %v", text, answer.Degraded)
	}
	ids := make([]string, len(answer.Results))
	for i, r := range answer.Results {
		ids[i] = r.ID
	}
	return ids
}

func readQueries(t *testing.T) []query {
	t.Helper()
	f, err := os.Open(filepath.Join(registry, "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []query
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q query
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// diff lists the lines that are in one text only: enough to see what moved.
func diff(want, got string) string {
	old, now := map[string]int{}, map[string]int{}
	for _, l := range strings.Split(want, "\n") {
		old[l]++
	}
	for _, l := range strings.Split(got, "\n") {
		now[l]++
	}
	var b strings.Builder
	for _, l := range strings.Split(want, "\n") {
		if now[l] < old[l] {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if old[l] < now[l] {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}
