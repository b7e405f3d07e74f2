package rewriting

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// recorded returns the queries of a set that somebody rewrote.
func recorded(t *testing.T, name string) []dataset.Query {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_DATA")
	if dir == "" {
		t.Skip("TOOLSTREAM_DATA names no folder with data sets")
	}
	set := check.Value(dataset.Open(filepath.Join(dir, name)))(t)
	all, err := set.Queries()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d queries, %v", len(all), err)
	}
	return all
}

// saidOf is a rewrite in the words of the model's answer.
func saidOf(t *testing.T, w *dataset.Rewritten) json.RawMessage {
	t.Helper()
	arguments := []Argument{}
	for _, a := range w.Arguments {
		arguments = append(arguments, Argument(a))
	}
	return check.Value(json.Marshal(map[string]any{"needs": w.Needs, "arguments": arguments}))(t)
}

// TestRecordedRewritesAreTaken has nearly all that a good model said pass, and most of
// what it said of another query not.
func TestRecordedRewritesAreTaken(t *testing.T) {
	for _, set := range []string{"apibank", "toolink"} {
		all := recorded(t, set)
		for _, c := range []struct {
			of    string
			off   int
			most  float64 // of the needs that are left out
			least float64
		}{{"its own query", 0, 0.015, 0}, {"another query", 7, 1, 0.3}} {
			said, kept, arguments, argumentsKept, texts, textsKept := 0, 0, 0, 0, 0, 0
			for i, q := range all {
				r := all[(i+c.off)%len(all)].Rewritten
				got, left, err := read(saidOf(t, r), &question{query: inOrder(q.Text)}, vectors(t))
				if c.off == 0 && (set == "apibank" && left.values != 0 || err != nil && len(q.Rewritten.Needs) > 0 && left.unsupported == 0) {
					t.Errorf("%s %s: %+v, %v", set, q.ID, left, err)
				}
				said, kept = said+min(maxNeeds, len(Of(r.Needs, nil).Needs)), kept+len(got.Needs)
				arguments, argumentsKept = arguments+len(r.Arguments)-left.values, argumentsKept+len(got.Arguments)
				texts, textsKept = texts+textsOf(r.Needs[:min(maxNeeds, len(r.Needs))]), textsKept+textsOf(got.Needs)
			}
			share := 1 - float64(kept)/float64(said)
			t.Logf("%s, of %s: %d of %d needs, %d of %d texts and %d of %d arguments are taken", set, c.of, kept, said, textsKept, texts, argumentsKept, arguments)
			if share > c.most || share < c.least {
				t.Errorf("%s, of %s: %.3f of the needs are left out", set, c.of, share)
			}
		}
	}
}

func textsOf(needs []schema.Need) (n int) {
	for _, need := range needs {
		for _, s := range []string{need.UserIntent, need.ToolDescription, need.ExpectedResponse} {
			if s != "" {
				n++
			}
		}
	}
	return n
}
