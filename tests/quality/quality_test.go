// Package quality holds the ranking golden: the sample registry, its queries,
// and what the whole pipeline answers. A change of ranking shows as a diff of
// testdata/ranking.txt; `go test ./tests/quality -update` writes it anew.
package quality

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/golden"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	registry = "../../examples/registry"
	shown    = 5
)

func TestRankingOfTheSampleRegistry(t *testing.T) {
	bin := process.Build(t)
	p := process.Start(t, bin, t.TempDir())
	out, err := exec.Command(bin, "import", filepath.Join(registry, "tools"), "--wait", "--server", p.Client.Server).CombinedOutput()
	if err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	settle(t, p)
	queries := check.Value(dataset.ReadQueries(filepath.Join(registry, "queries.jsonl")))(t)
	golden.Match(t, "testdata/ranking.txt", report(t, p, queries))
}

// settle waits until scores are exact.
func settle(t *testing.T, p *process.Process) {
	t.Helper()
	check.OK(t, process.Until(t.Context(), func() (bool, error) {
		var status struct {
			Settled bool `json:"settled"`
		}
		err := p.Client.Get(t.Context(), "/v1/status", nil, &status)
		return status.Settled, err
	}))
}

// report renders the figures and, query by query, what was ranked first. A
// relevant id is marked with a star.
func report(t *testing.T, p *process.Process, queries []dataset.Query) string {
	var body strings.Builder
	var recall1, recall5, mrr float64
	for _, q := range queries {
		ids := search(t, p, q.Text)
		relevant := map[string]bool{}
		for _, l := range q.Labels {
			relevant[l.ID] = l.Relevance > 0
		}
		fmt.Fprintf(&body, "\n%s  %s\n", q.ID, q.Text)
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
