package lexical

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestPublishedFigures ranks whole raw documents as JSON text, with the
// tokens, k1 and b of the published baseline of arXiv 2602.05366, and compares
// with the figures that its authors report.
func TestPublishedFigures(t *testing.T) {
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("set TOOLSTREAM_DATA to the folder of the data sets")
	}
	for _, c := range []struct {
		set          string
		ndcg, recall float64
	}{{"apibank", 0.5167, 0.6139}, {"toolink", 0.3828, 0.4423}} {
		t.Run(c.set, func(t *testing.T) {
			ndcg, recall := evaluate(t, filepath.Join(root, c.set))
			if math.Abs(ndcg-c.ndcg) > 0.0001 || math.Abs(recall-c.recall) > 0.0001 {
				t.Errorf("NDCG@10 %.4f and Recall@10 %.4f, want %.4f and %.4f", ndcg, recall, c.ndcg, c.recall)
			}
		})
	}
}

// baseline has the tokens \b\w\w+\b, where an underscore is a letter.
func baseline() Config {
	run := regexp.MustCompile(`[\p{L}\p{N}_]{2,}`)
	return Config{K1: 1.5, B: 0.75, KeepFillers: true, Tokens: func(s string) []string {
		return run.FindAllString(strings.ToLower(s), -1)
	}}
}

func evaluate(t *testing.T, dir string) (ndcg, recall float64) {
	x := must(New(baseline()))
	var ids []string
	type tool struct {
		ID            string          `json:"id"`
		Documentation json.RawMessage `json:"documentation"`
	}
	for _, doc := range readLines[tool](t, filepath.Join(dir, "tools.jsonl")) {
		must(0, x.Put(uint32(len(ids)), &[FieldCount]string{Flat: ascii(string(doc.Documentation))}))
		ids = append(ids, doc.ID)
	}
	x.Commit()
	must(0, x.Rebuild(t.Context()))
	type query struct {
		Query  string `json:"query"`
		Labels []struct {
			ID        string  `json:"id"`
			Relevance float64 `json:"relevance"`
		} `json:"labels"`
	}
	queries := readLines[query](t, filepath.Join(dir, "queries.jsonl"))
	for _, q := range queries {
		relevant := make(map[string]bool)
		for _, l := range q.Labels {
			relevant[l.ID] = l.Relevance > 0
		}
		s := x.Snapshot()
		n, r := measure(rank(s, s.Analyze(Flat, q.Query), ids), relevant)
		ndcg += n / float64(len(queries))
		recall += r / float64(len(queries))
	}
	return ndcg, recall
}

// ascii escapes what is not ASCII, as the baseline's JSON text has it.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// rank returns the ten best ids, ties in descending order of ids, as trec_eval
// breaks them.
func rank(s *Snapshot, terms Terms, ids []string) []string {
	scores := make([]float32, len(ids))
	s.Accumulate(Flat, terms, scores)
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(ids[b], ids[a]))
	})
	out := make([]string, 0, 10)
	for _, i := range order[:min(10, len(order))] {
		out = append(out, ids[i])
	}
	return out
}

func measure(ranking []string, relevant map[string]bool) (ndcg, recall float64) {
	var ideal, found float64
	for i := range min(10, len(relevant)) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	for i, id := range ranking {
		if relevant[id] {
			ndcg += 1 / math.Log2(float64(i)+2)
			found++
		}
	}
	return ndcg / ideal, found / float64(len(relevant))
}

func readLines[T any](t *testing.T, path string) []T {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
