package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/tests/process"
)

const (
	sampled    = 200
	sampleSeed = 20260301

	// selfRecall is what the share of sampled tools that are found by their own
	// name and first sentence must not fall below; it was 0.98. Near copies of a
	// tool, of which real registries are full, keep it below 1.
	selfRecall = 0.93
)

// lines reads the JSON Lines of a gzipped file.
func lines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for r := bufio.NewReaderSize(unzipped, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealDocuments imports real documents into one process and looks whether
// what comes out is what went in: all but three of four single operations, which
// the tests of what reads them go through.
func TestRealDocuments(t *testing.T) {
	openapi := dataSet(t, "openapi")
	mcp := dataSet(t, "mcp")
	p := up(t, t.TempDir())

	apis := importAPIs(t, p, openapi)
	operations := importOperations(t, p, filepath.Join(openapi, "operations.jsonl.gz"))
	tools := lines[json.RawMessage](t, filepath.Join(mcp, "tools.jsonl.gz"))
	agents := lines[json.RawMessage](t, filepath.Join(mcp, "agents.jsonl.gz"))
	servers := timed(t, p, mcp)
	whole(t, "mcp", servers, len(tools)+len(agents))
	if servers.Rejected > 0 {
		t.Errorf("tools of MCP servers are rejected: %v", reasons(servers))
	}

	ids := slices.Sorted(maps.Keys(revisions(t, p, "")))
	if want := *apis.Indexed + *operations.Indexed + len(tools); len(ids) != want {
		t.Errorf("%d tools are listed, %d were indexed", len(ids), want)
	}
	areFoundByTheirOwnWords(t, p, ids)
	t.Logf("the process has taken %d MB at most, of which it holds %d", memory(t, p, "VmHWM")>>20, memory(t, p, "VmRSS")>>20)
}

// importAPIs imports the folder of whole OpenAPI documents, all but the list of
// single operations beside them.
func importAPIs(t *testing.T, p *process.Process, dir string) summary {
	t.Helper()
	documents, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	folder := t.TempDir()
	for _, d := range documents {
		content, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(d)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := timed(t, p, folder)
	if s.Accepted == 0 || *s.DeadLettered != 0 {
		t.Errorf("%+v", s)
	}
	for _, e := range s.Errors {
		if !strings.HasPrefix(e.Source, folder) || !strings.Contains(e.Reason, "external reference not allowed") {
			t.Errorf("%s: %s", e.Source, e.Reason)
		}
	}
	return s
}

// importOperations imports every fourth of a list of operations.
func importOperations(t *testing.T, p *process.Process, path string) summary {
	t.Helper()
	var some strings.Builder
	var rows []struct{ ID, Agent string }
	for n, line := range lines[json.RawMessage](t, path) {
		if n%4 != 0 {
			continue
		}
		some.Write(line)
		some.WriteByte('\n')
		rows = append(rows, struct{ ID, Agent string }{})
		if err := json.Unmarshal(line, &rows[len(rows)-1]); err != nil {
			t.Fatal(err)
		}
	}
	operations := timed(t, p, writeFile(t, "operations.jsonl", some.String()))
	whole(t, "operations", operations, len(rows))
	for _, e := range operations.Errors {
		row := rows[e.Line-1]
		if row.ID != e.ID && !strings.HasPrefix(row.ID, e.ID) {
			t.Errorf("line %d is %s, the rejection says %s", e.Line, row.ID, e.ID)
		}
		if len(row.ID) <= 256 && strings.TrimSpace(row.ID) == row.ID && strings.TrimSpace(row.Agent) == row.Agent {
			t.Errorf("line %d is rejected (%s) though its id is fine", e.Line, e.Reason)
		}
	}
	return operations
}

// timed imports and logs how long that took and what was rejected.
func timed(t *testing.T, p *process.Process, path string) summary {
	t.Helper()
	start := time.Now()
	s := load(t, p, path)
	t.Logf("%s: accepted %d, unchanged %d, rejected %d, indexed %d, dead %d in %.1f s; rejections: %v",
		filepath.Base(path), s.Accepted, s.Unchanged, s.Rejected, *s.Indexed, *s.DeadLettered, time.Since(start).Seconds(), reasons(s))
	for _, e := range s.Errors {
		if e.Source == "" || e.Reason == "" {
			t.Errorf("a rejection without file or reason: %+v", e)
		}
	}
	return s
}

// whole demands that every document was counted once, and none was lost.
func whole(t *testing.T, name string, s summary, documents int) {
	t.Helper()
	if s.Accepted+s.Unchanged+s.Rejected != documents || len(s.Errors) != s.Rejected || *s.Indexed+*s.DeadLettered != s.Accepted || *s.DeadLettered != 0 {
		t.Errorf("%s: %d documents; accepted %d, unchanged %d, rejected %d with %d reasons, indexed %d, dead %d",
			name, documents, s.Accepted, s.Unchanged, s.Rejected, len(s.Errors), *s.Indexed, *s.DeadLettered)
	}
}

var numbers = regexp.MustCompile(`\d+`)

// reasons counts the rejections by the first words of their reasons.
func reasons(s summary) map[string]int {
	out := map[string]int{}
	for _, e := range s.Errors {
		words := strings.SplitN(e.Reason, ": ", 3)
		key := numbers.ReplaceAllString(words[0], "N")
		if len(words) == 3 && words[0] == "invalid id" {
			key = numbers.ReplaceAllString(e.Reason, "N")
		}
		out[key]++
	}
	return out
}

// areFoundByTheirOwnWords looks tools up and searches each for its own name and
// first sentence.
func areFoundByTheirOwnWords(t *testing.T, p *process.Process, ids []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(sampleSeed, 1))
	hits, first := 0, 0
	var missed []string
	for range sampled {
		id := ids[rng.IntN(len(ids))]
		e, there := get(t, p, id)
		if !there || e.State != "indexed" || len(e.Raw) == 0 || e.Document.Name == "" {
			t.Errorf("get %q: there %v, %+v", id, there, e)
			continue
		}
		sentence, _, _ := strings.Cut(e.Document.Description, ". ")
		query := fmt.Sprintf("%s: %.300s", e.Document.Name, sentence)
		at := slices.Index(found(t, p, strings.ToValidUTF8(query, ""), 10), id)
		if at < 0 {
			missed = append(missed, id)
			continue
		}
		hits++
		if at == 0 {
			first++
		}
	}
	recall := float64(hits) / sampled
	t.Logf("of %d tools %.3f are in the top 10 of a search for their own name and first sentence, %.3f on top; not: %q", sampled, recall, float64(first)/sampled, missed)
	if recall < selfRecall {
		t.Errorf("self-recall %.3f, want %g", recall, selfRecall)
	}
}
