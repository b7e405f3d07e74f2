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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
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
	f := check.Value(os.Open(path))(t)
	defer f.Close()
	unzipped := check.Value(gzip.NewReader(f))(t)
	var out []T
	for r := bufio.NewReaderSize(unzipped, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var v T
			check.OK(t, json.Unmarshal(line, &v))
			out = append(out, v)
		}
		if err == io.EOF {
			return out
		}
		check.OK(t, err)
	}
}

// TestRealDocuments imports the tools of real MCP servers into one process and looks
// whether what comes out is what went in.
func TestRealDocuments(t *testing.T) {
	level.Campaign(t)
	mcp := dataSet(t, "mcp")
	p := up(t, t.TempDir())
	tools := lines[json.RawMessage](t, filepath.Join(mcp, "tools.jsonl.gz"))
	start := time.Now()
	s := load(t, p, mcp)
	t.Logf("accepted %d, unchanged %d in %.1f s", s.Accepted, s.Unchanged, time.Since(start).Seconds())
	if s.Accepted+s.Unchanged < len(tools) || s.Rejected+*s.DeadLettered != 0 || *s.Indexed != s.Accepted+s.Unchanged {
		t.Errorf("of %d tools, and their providers: %+v", len(tools), s)
	}
	ids := slices.Sorted(maps.Keys(revisions(t, p, "")))
	if len(ids) != len(tools) {
		t.Errorf("%d tools are listed, there are %d", len(ids), len(tools))
	}
	areFoundByTheirOwnWords(t, p, ids)
	t.Logf("the process has taken %d MB at most, of which it holds %d", memory(t, p, "VmHWM")>>20, memory(t, p, "VmRSS")>>20)
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
