package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// asked is how many queries of a data set are asked, spread over all of them.
const asked = 150

// A replica that searches its own vectors answers as the one process does in
// every place, with the same score; one that searches in Weaviate differs in one place of a hundred at
// most, where a walk through a graph misses what comparing all finds.
func TestDeploymentsRankAlike(t *testing.T) {
	for name, every := range map[string]int{"apibank": 1, "toolbench": 12} { // all of ToolBench takes minutes to write
		t.Run(name, func(t *testing.T) {
			set, err := dataset.Open(dataSet(t, name))
			if err != nil {
				t.Fatal(err)
			}
			tools, queries := sample(t, set, every)
			alone := process.Up(t, binary())
			apart := process.Serve(t, &cluster, binary(), config.VectorsWeaviate, config.VectorsReplica)
			for _, d := range []process.Deployment{alone, apart} {
				if s := load(t, d.Front(), tools); s.Rejected+*s.DeadLettered > 0 {
					t.Fatalf("%+v", s)
				}
			}
			kept(t, apart, agree(t, apart))
			// Scores by words lag a little behind what arrived since a segment was
			// written, and are exact after a start.
			alone.Restart(t)
			apart.Cycle(t, "query-1")
			apart.Cycle(t, "query-2")
			total, weaviate, replica := 0, 0, 0
			for _, q := range queries {
				want := places(t, alone.Front(), q)
				total += len(want)
				weaviate += differences(places(t, apart.Replica("query-1"), q), want)
				replica += differences(places(t, apart.Replica("query-2"), q), want)
			}
			t.Logf("%d queries: of %d places %d differ by a replica, %d by Weaviate", len(queries), total, replica, weaviate)
			if total == 0 || replica > 0 || weaviate*100 > total {
				t.Errorf("of %d places %d differ by a replica, %d by Weaviate", total, replica, weaviate)
			}
		})
	}
}

// sample writes one tool of every so many into a file, and returns its path and
// some queries.
func sample(t *testing.T, set *dataset.Set, every int) (path string, queries []string) {
	t.Helper()
	var some bytes.Buffer
	at := 0
	for tool, err := range set.Tools() {
		if err != nil {
			t.Fatal(err)
		}
		if at++; at%every != 0 {
			continue
		}
		if err := json.NewEncoder(&some).Encode(tool); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "tools.jsonl")
	if err := os.WriteFile(path, some.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := set.Queries()
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		if n%max(1, len(all)/asked) == 0 {
			queries = append(queries, all[n].Text)
		}
	}
	return path, queries
}

// place is what stands at one place of an answer.
type place struct {
	id    string
	score float64
}

func places(t *testing.T, p *process.Process, query string) []place {
	t.Helper()
	var out []place
	for _, r := range search(t, p, schema.SearchRequest{Query: query, K: 10}).Results {
		out = append(out, place{r.ID, r.Score})
	}
	return out
}

// differences counts the places that do not hold the same with the same score.
func differences(got, want []place) int {
	n := 0
	for at := range want {
		if at >= len(got) || got[at] != want[at] {
			n++
		}
	}
	return n
}
