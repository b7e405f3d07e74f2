package rules_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc"
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

// items reads at most n documents of a file as ingest does, and skips those with problems.
func items(t testing.TB, file string, n int) (out []formats.Item) {
	t.Helper()
	f := check.Value(os.Open(file))(t)
	defer f.Close()
	for item, problem := range formats.Read(f, formats.Options{Source: file}) {
		if problem != nil {
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
		{"apibank/tools.jsonl", tooldoc.JSON, 101, .02},
		{"toolink/tools.jsonl", tooldoc.Python, 1804, .01},
		{"toolbench/tools.jsonl.gz", tooldoc.RapidAPI, 3973, .12},
		{"toolbench/agents.jsonl", tooldoc.Provider, 1207, 1}, // has no descriptions
		{"mcp/tools.jsonl.gz", tooldoc.MCP, 17578, .11},
		{"mcp/agents.jsonl.gz", tooldoc.Provider, 2120, .05},
		{"openapi/operations.jsonl.gz", tooldoc.OpenAPI, 46157, .08},
	} {
		t.Run(set.file, func(t *testing.T) {
			n, most := min(set.n, sample), set.low+.06 // the first documents of a file are not the best
			if full() {
				n, most = math.MaxInt, set.low
			}
			all := items(t, dataFile(t, set.file), n)
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
			all := items(b, dataFile(b, file), 5000)
			n, size := 0, int64(0)
			for b.Loop() {
				item := all[n%len(all)]
				n++
				size += int64(len(item.Raw))
				check.Value(rules.Standardize(item.Format, item.ID, item.Raw))(b)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64(size)/b.Elapsed().Seconds()/1e6, "MB/s")
		})
	}
}
