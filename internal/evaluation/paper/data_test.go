package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation/bm25"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// openData opens a data set that is not part of the project.
func openData(t testing.TB, name string) *dataset.Set {
	t.Helper()
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	return must(dataset.Open(filepath.Join(root, name)))(t)
}

// must returns what a call returned, or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// quality is NDCG@10 and Recall@10 as the test works them out, apart from
// internal/evaluation, so that the two check each other.
type quality struct{ ndcg, recall float64 }

func (a quality) String() string { return fmt.Sprintf("%.4f/%.4f", a.ndcg, a.recall) }

func measure(ids []string, scores []float64, q dataset.Query) quality {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return fusion.Order(scores[a], ids[a], scores[b], ids[b]) })
	var dcg, ideal, hits float64
	for r, at := range order[:10] {
		if slices.ContainsFunc(q.Labels, func(l dataset.Label) bool { return l.ID == ids[at] }) {
			dcg += 1 / math.Log2(float64(r+2))
			hits++
		}
	}
	for r := range min(10, len(q.Labels)) {
		ideal += 1 / math.Log2(float64(r+2))
	}
	return quality{dcg / ideal, hits / float64(len(q.Labels))}
}

func mean(list []quality) quality {
	var sum quality
	for _, q := range list {
		sum.ndcg += q.ndcg / float64(len(list))
		sum.recall += q.recall / float64(len(list))
	}
	return sum
}

// The published rows of BM25 over whole documents check the tie rule, the BM25
// and the text of a document.
func TestWholeDocuments(t *testing.T) {
	for name, want := range map[string]string{"apibank": "0.5167/0.6139", "toolink": "0.3828/0.4423"} {
		set := openData(t, name)
		var ids, texts []string
		for tool, err := range set.Tools() {
			if err != nil {
				t.Fatal(err)
			}
			ids, texts = append(ids, tool.ID), append(texts, must(JSONText(tool.Documentation))(t))
		}
		corpus := bm25.New(texts)
		var all []quality
		for _, q := range must(set.Queries())(t) {
			all = append(all, measure(ids, corpus.Scores(q.Text), q))
		}
		if got := mean(all).String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// rank returns the quality of models that are tested on one fold each.
func rank(t *testing.T, s *Scorer, set *dataset.Set, models []fusion.Model) quality {
	t.Helper()
	folds := must(set.Folds(5))(t)
	var all []quality
	for _, q := range must(set.Queries())(t) {
		fold := slices.IndexFunc(folds, func(ids []string) bool { return slices.Contains(ids, q.ID) })
		scores := make([]float64, len(s.Tools()))
		for i, e := range must(s.Score(t.Context(), q.Rewritten))(t) {
			scores[i], _ = models[fold].Score(&e.Features, e.Matches)
		}
		all = append(all, measure(s.Tools(), scores, q))
	}
	return mean(all)
}

// The published row of multi-field BM25, with the weights that its authors
// learned.
func TestReferenceWeights(t *testing.T) {
	set := openData(t, "apibank")
	s := must(New(t.Context(), must(set.Standardized())(t), nil))(t)
	got := rank(t, s, set, must(References(set, "bm25", s.Fields()))(t)).String()
	if want := "0.6704/0.6906"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Learning anew reaches what the authors' weights reach, but for chance.
func TestTrainedAnew(t *testing.T) {
	set := openData(t, "apibank")
	s := must(New(t.Context(), must(set.Standardized())(t), nil))(t)
	pairs := must(s.Pairs(t.Context(), set))(t)
	folds := must(set.Folds(5))(t)
	var seeds []quality
	for seed := range uint64(3) {
		models := must(CrossValidated(pairs, folds, s.Fields(), seed))(t)
		seeds = append(seeds, rank(t, s, set, models))
	}
	if got := mean(seeds); got.ndcg < 0.655 {
		t.Errorf("%v over the seeds %v, want NDCG of at least 0.655", got, seeds)
	}
	t.Log(seeds)
}
