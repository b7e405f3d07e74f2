package rules_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// full reports whether all real documents are read, not a sample.
func full() bool { return os.Getenv("TOOLSTREAM_ALL") != "" }

// sample is how many documents of a file TestRealDocuments reads otherwise.
const sample = 500

// items reads at most n documents of a file as ingest does.
func items(t testing.TB, name string, n int) []formats.Item {
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
		if out = append(out, item); len(out) == n {
			break
		}
	}
	return out
}

// TestRealDocuments checks how many documents the sets have, by format, and
// bounds the share from which the rules get no description: what the sources
// lack, with some room.
func TestRealDocuments(t *testing.T) {
	for _, set := range []struct {
		file, format string
		n            int
		low          float64
	}{
		{"apibank/tools.jsonl", formats.JSON, 101, .02},
		{"toolink/tools.jsonl", formats.Python, 1804, .01},
		{"toolbench/tools.jsonl.gz", formats.RapidAPI, 3973, .12},
		{"toolbench/agents.jsonl", formats.Provider, 1207, 1}, // has no descriptions
		{"mcp/tools.jsonl.gz", formats.MCP, 17578, .11},
		{"mcp/agents.jsonl.gz", formats.Provider, 2120, .05},
		{"openapi/operations.jsonl.gz", formats.OpenAPI, 46157, .08},
	} {
		t.Run(set.file, func(t *testing.T) {
			n, most := min(set.n, sample), set.low+.06 // the first documents of a file are not the best
			if full() {
				n, most = math.MaxInt, set.low
			}
			all := items(t, set.file, n)
			if n = min(n, set.n); len(all) != n {
				t.Errorf("%d documents, want %d", len(all), n)
			}
			low, floods := 0, 0
			for _, item := range all {
				d, err := rules.Standardize(item.Format, item.ID, item.Raw)
				if err == nil {
					err = d.Validate()
				}
				if err != nil || item.Format != set.format {
					t.Errorf("%s, %s: %v", item.ID, item.Format, err)
				}
				if d.Quality == schema.QualityLow {
					low++
				}
				if slices.Contains(d.Flags, rules.FlagRequests) || slices.Contains(d.Flags, rules.FlagSubjects) {
					floods++
				}
			}
			if share := float64(floods) / float64(n); share > .005 {
				t.Errorf("%.4f are taken for floods", share)
			}
			if share := float64(low) / float64(n); share > most {
				t.Errorf("%.3f of low quality, want at most %.3f", share, most)
			}
		})
	}
}

func BenchmarkStandardize(b *testing.B) {
	for _, file := range []string{"apibank/tools.jsonl", "toolink/tools.jsonl", "toolbench/tools.jsonl.gz", "mcp/tools.jsonl.gz", "openapi/operations.jsonl.gz"} {
		b.Run(file, func(b *testing.B) {
			all := items(b, file, 5000)
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
