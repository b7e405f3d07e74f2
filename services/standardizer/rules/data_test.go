package rules_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// dataFile returns the path of a file of the real data sets, or skips.
func dataFile(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA is not set: no real documents to read")
	}
	return filepath.Join(root, filepath.FromSlash(name))
}

// items reads a file as ingest does.
func items(t testing.TB, name string) []formats.Item {
	t.Helper()
	f, err := os.Open(dataFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []formats.Item
	for item, problem := range formats.Read(f, formats.Options{Source: f.Name()}) {
		if problem != nil {
			if problem.Reason != formats.InvalidID { // longer than we take
				t.Errorf("read: %v", problem)
			}
			continue
		}
		out = append(out, item)
	}
	return out
}

// TestRealDocuments bounds the share of documents from which the rules get no
// description: what the sources lack, with some room.
func TestRealDocuments(t *testing.T) {
	for _, set := range []struct {
		file string
		low  float64
	}{
		{"apibank/tools.jsonl", .02},
		{"toolink/tools.jsonl", .01},
		{"toolbench/tools.jsonl.gz", .12},
		{"toolbench/agents.jsonl", 1}, // has no descriptions
		{"mcp/tools.jsonl.gz", .11},
		{"mcp/agents.jsonl.gz", .05},
		{"openapi/operations.jsonl.gz", .08},
	} {
		t.Run(set.file, func(t *testing.T) {
			all := items(t, set.file)
			c := count(t, all)
			t.Logf("%d documents: low quality %d, without parameters %d, without response %d, with examples %d, truncated %d, flagged %d",
				len(all), c["low"], c["no parameters"], c["no response"], c["examples"], c["truncated"], c["flagged"])
			if low := float64(c["low"]) / float64(len(all)); low > set.low {
				t.Errorf("%.3f of low quality, want at most %.3f", low, set.low)
			}
		})
	}
}

func count(t *testing.T, all []formats.Item) map[string]int {
	c := map[string]int{}
	for _, item := range all {
		d, err := rules.Standardize(item.Format, item.ID, item.Raw)
		if err == nil {
			err = d.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", item.ID, err)
			continue
		}
		for what, holds := range map[string]bool{
			"low":           d.Quality == schema.QualityLow,
			"no parameters": len(d.Parameters) == 0,
			"no response":   d.Response == "",
			"examples":      len(d.Examples) > 0,
			"truncated":     slices.Contains(d.Flags, rules.FlagTruncated),
			"flagged":       len(d.Flags) > 0,
		} {
			if holds {
				c[what]++
			}
		}
	}
	return c
}

// labelled is a query and which label each relevant tool answers: a tool and
// its alternatives count once.
type labelled struct {
	Query  string `json:"query"`
	Split  string `json:"split"`
	Labels []struct {
		ID           string   `json:"id"`
		Relevance    float64  `json:"relevance"`
		Alternatives []string `json:"alternatives"`
	} `json:"labels"`
}

func queries(t *testing.T, name, split string) []labelled {
	t.Helper()
	raw, err := os.ReadFile(dataFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		var q labelled
		if err := json.Unmarshal(s.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		if q.Split == split {
			out = append(out, q)
		}
	}
	return out
}

// ndcg is the normalized discounted cumulative gain of the first k.
func (q labelled) ndcg(ranking []string, k int) float64 {
	label := map[string]int{}
	relevant := 0
	for i, l := range q.Labels {
		if l.Relevance > 0 {
			relevant++
			for _, id := range append(l.Alternatives, l.ID) {
				label[id] = i
			}
		}
	}
	var gain, ideal float64
	for rank, id := range ranking[:min(k, len(ranking))] {
		discount := 1 / math.Log2(float64(rank)+2)
		if rank < relevant {
			ideal += discount
		}
		if i, ok := label[id]; ok {
			gain += discount
			for other, j := range label {
				if i == j {
					delete(label, other)
				}
			}
		}
	}
	return gain / ideal
}

// TestDocumentsAreFound ranks by BM25 over the whole document as text. The
// floors are about two standard errors of the mean below what was measured
// when the rules were written.
func TestDocumentsAreFound(t *testing.T) {
	for _, set := range []struct {
		name, tools, split string
		k                  int
		floor              float64
	}{
		{"apibank", "tools.jsonl", "", 10, .47},
		{"toolink", "tools.jsonl", "", 10, .39},
		{"toolbench", "tools.jsonl.gz", "I1-Inst", 5, .63},
		{"toolbench", "tools.jsonl.gz", "I2-Inst", 5, .55},
	} {
		t.Run(strings.TrimSuffix(set.name+" "+set.split, " "), func(t *testing.T) {
			all := items(t, set.name+"/"+set.tools)
			snapshot := indexed(t, all)
			var sum float64
			qs := queries(t, set.name+"/queries.jsonl", set.split)
			for _, q := range qs {
				sum += q.ndcg(ranked(snapshot, all, q.Query), set.k)
			}
			mean := sum / float64(len(qs))
			t.Logf("NDCG@%d %.4f over %d queries", set.k, mean, len(qs))
			if mean < set.floor {
				t.Errorf("NDCG@%d is %.4f, want at least %.2f", set.k, mean, set.floor)
			}
		})
	}
}

func indexed(t *testing.T, all []formats.Item) *lexical.Snapshot {
	t.Helper()
	config := lexical.Defaults()
	config.B = .75
	x, err := lexical.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range all {
		d, err := rules.Standardize(item.Format, item.ID, item.Raw)
		if err != nil {
			t.Fatal(err)
		}
		var texts [lexical.FieldCount]string
		texts[lexical.Flat] = index.Texts(&d).Flat
		if err := x.Put(uint32(i), &texts); err != nil {
			t.Fatal(err)
		}
	}
	x.Commit()
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// ranked returns ids by score descending, then by id descending, as trec_eval
// orders them.
func ranked(s *lexical.Snapshot, all []formats.Item, query string) []string {
	scores := make([]float32, s.Slots())
	s.Accumulate(lexical.Flat, s.Analyze(lexical.Flat, query), scores)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return strings.Compare(all[b].ID, all[a].ID)
	})
	ids := make([]string, len(all))
	for i, at := range order {
		ids[i] = all[at].ID
	}
	return ids
}

func BenchmarkStandardize(b *testing.B) {
	for _, file := range []string{"apibank/tools.jsonl", "toolink/tools.jsonl", "toolbench/tools.jsonl.gz", "mcp/tools.jsonl.gz", "openapi/operations.jsonl.gz"} {
		b.Run(file, func(b *testing.B) {
			all := items(b, file)
			n, size := 0, int64(0)
			for b.Loop() {
				item := all[n%len(all)]
				n++
				size += int64(len(item.Raw))
				if _, err := rules.Standardize(item.Format, item.ID, item.Raw); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64(size)/b.Elapsed().Seconds()/1e6, "MB/s")
		})
	}
}
