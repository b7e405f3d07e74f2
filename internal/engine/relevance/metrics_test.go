package relevance

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// ranking ranks ids in the order given.
func ranked(ids ...string) []Ranked {
	list := make([]Ranked, len(ids))
	for i, id := range ids {
		list[i] = Ranked{ID: id, Score: float64(len(ids) - i)}
	}
	return list
}

func labels(ids ...string) []Label {
	list := make([]Label, len(ids))
	for i, id := range ids {
		list[i] = Label{ID: id, Relevance: 1}
	}
	return list
}

func checkMetrics(t *testing.T, name string, got Metrics, want map[string]float64) {
	t.Helper()
	for metric, x := range want {
		if math.Abs(got.Of(metric)-x) > 1e-9 {
			t.Errorf("%s: %s is %v, want %v", name, metric, got.Of(metric), x)
		}
	}
}

// log3 is the discount at rank 2.
var log3 = math.Log2(3)

func TestScoreByHand(t *testing.T) {
	graded := []Label{{ID: "a", Relevance: 1}, {ID: "b", Relevance: 3}, {ID: "c", Relevance: 0}, {ID: "d", Relevance: -1}}
	replaceable := []Label{{ID: "a", Relevance: 1, Alternatives: []string{"a1", "a2"}}, {ID: "b", Relevance: 1}}
	for _, c := range []struct {
		name    string
		labels  []Label
		ranking []Ranked
		want    map[string]float64
	}{
		{"all first", labels("a", "b"), ranked("b", "a", "x"), map[string]float64{
			"ndcg@1": 1, "ndcg@3": 1, "recall@1": 0.5, "recall@3": 1, "comp@1": 0, "comp@3": 1, "mrr": 1, "map": 1,
		}},
		{"second and fourth", labels("a", "b"), ranked("x", "a", "y", "b"), map[string]float64{
			"ndcg@1": 0, "ndcg@3": (1 / log3) / (1 + 1/log3), "ndcg@5": (1/log3 + 1/math.Log2(5)) / (1 + 1/log3),
			"recall@3": 0.5, "recall@5": 1, "comp@3": 0, "comp@5": 1, "mrr": 0.5, "map": (1./2 + 2./4) / 2,
		}},
		{"one of three beyond ten", labels("a", "b", "c"), ranked("a", "1", "2", "3", "4", "5", "6", "7", "8", "9", "b"), map[string]float64{
			"ndcg@10": 1 / (1 + 1/log3 + 0.5), "recall@10": 1. / 3, "comp@10": 0, "mrr": 1, "map": (1 + 2./11) / 3,
		}},
		{"graded", graded, ranked("a", "b", "c"), map[string]float64{
			"ndcg@1": 1. / 3, "ndcg@3": (1 + 3/log3) / (3 + 1/log3), "recall@1": 0.5, "map": 1,
		}},
		{"an alternative in place of its label", replaceable, ranked("a2", "b"), map[string]float64{
			"ndcg@3": 1, "recall@3": 1, "comp@3": 1, "map": 1,
		}},
		{"a label found twice gains once and takes up a place", replaceable, ranked("a1", "a", "b"), map[string]float64{
			"ndcg@3": (1 + 0.5) / (1 + 1/log3), "recall@3": 1, "map": (1 + 2./3) / 2,
		}},
		{"nothing found", labels("a"), ranked("x"), map[string]float64{"ndcg@10": 0, "mrr": 0, "map": 0}},
		{"nothing ranked", labels("a"), nil, map[string]float64{"ndcg@10": 0, "recall@10": 0}},
		{"nothing asked", nil, ranked("x"), map[string]float64{"ndcg@10": 0, "comp@10": 0}},
		{"an id ranked twice", labels("a", "b"), ranked("a", "a", "b"), map[string]float64{"recall@3": 1, "map": (1 + 2./3) / 2}},
	} {
		checkMetrics(t, c.name, JudgeTools(c.labels).Score(c.ranking).Metrics, c.want)
	}
}

func TestTiesGoToTheLargerID(t *testing.T) {
	list := []Ranked{{"t1", 1}, {"t10", 1}, {"t9", 1}, {"t2", 2}}
	Sort(list)
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	if want := []string{"t2", "t9", "t10", "t1"}; !slices.Equal(ids, want) {
		t.Fatal(ids)
	}
	got := JudgeTools(labels("t9")).Score(list)
	if got.Hits[0] != 2 {
		t.Fatalf("found at %v", got.Hits)
	}
}

func TestAnAlternativeOfTwoLabelsFindsOne(t *testing.T) {
	shared := []Label{{ID: "a", Relevance: 1, Alternatives: []string{"s"}}, {ID: "b", Relevance: 1, Alternatives: []string{"s", "a"}}}
	j := JudgeTools(shared)
	if o := j.Score(ranked("s")); len(o.Hits) != 1 {
		t.Errorf("s alone finds %d labels", len(o.Hits))
	}
	// a is its own label first, and b's once its own is found.
	if o := j.Score(ranked("a", "s")); len(o.Hits) != 2 {
		t.Errorf("a and s find %d labels", len(o.Hits))
	}
	if o := j.Score(ranked("s", "a")); len(o.Hits) != 2 {
		t.Errorf("s and a find %d labels", len(o.Hits))
	}
}

func TestLabelsOfOneToolAreOne(t *testing.T) {
	j := JudgeTools([]Label{{ID: "a", Relevance: 1}, {ID: "a", Relevance: 2}})
	if o := j.Score(ranked("a")); o.Relevant != 1 || o.Metrics.Of("ndcg@1") != 1 || j.Gain("a") != 2 {
		t.Fatalf("%+v", o)
	}
}

func TestJudgeProviders(t *testing.T) {
	owners := map[string]string{"a1": "A", "a2": "A", "b1": "B", "c1": "C", "d1": "D"}
	for _, c := range []struct {
		name     string
		labels   []Label
		ranking  []Ranked
		relevant int
		hits     []int
	}{
		{"two tools of one owner are one", labels("a1", "a2"), ranked("B", "A"), 1, []int{2}},
		{"two owners", labels("a1", "b1"), ranked("B", "C", "A"), 2, []int{1, 3}},
		{"the owner of an alternative", []Label{{ID: "a1", Relevance: 1, Alternatives: []string{"b1"}}}, ranked("B", "A"), 1, []int{1}},
		{"labels that meet through a third are one", []Label{
			{ID: "a1", Relevance: 1}, {ID: "c1", Relevance: 1}, {ID: "d1", Relevance: 1, Alternatives: []string{"a1", "c1"}},
		}, ranked("C", "A", "D"), 1, []int{1}},
		{"irrelevant and unowned labels ask for nothing", []Label{{ID: "a1"}, {ID: "stray", Relevance: 1}, {ID: "b1", Relevance: 1}}, ranked("A", "B"), 1, []int{2}},
	} {
		o := JudgeProviders(c.labels, owners).Score(c.ranking)
		if o.Relevant != c.relevant || !slices.Equal(o.Hits, c.hits) {
			t.Errorf("%s: %d relevant, found at %v", c.name, o.Relevant, o.Hits)
		}
	}
}

func TestMetricsStayInRangeAndNeverFallWithDepth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Map(rapid.IntRange(0, 15), func(i int) string { return fmt.Sprint("t", i) })
		label := rapid.Custom(func(t *rapid.T) Label {
			return Label{
				ID: id.Draw(t, "id"), Relevance: float64(rapid.IntRange(-1, 3).Draw(t, "relevance")),
				Alternatives: rapid.SliceOfN(id, 0, 3).Draw(t, "alternatives"),
			}
		})
		j := JudgeTools(rapid.SliceOfN(label, 0, 6).Draw(t, "labels"))
		o := j.Score(ranked(rapid.SliceOfNDistinct(id, 0, 16, rapid.ID).Draw(t, "ranking")...))
		for i, x := range o.Metrics {
			if !(x >= 0 && x <= 1+1e-12) {
				t.Fatalf("%s is %v", MetricNames()[i], x)
			}
		}
		recall := o.Metrics[len(cutoffs) : 2*len(cutoffs)]
		if !slices.IsSorted(recall) {
			t.Fatalf("recall falls: %v", recall)
		}
	})
}

func TestMetricsAsJSON(t *testing.T) {
	m := JudgeTools(labels("a", "b")).Score(ranked("a")).Metrics
	raw := check.Value(json.Marshal(m))(t)
	if !strings.HasPrefix(string(raw), `{"ndcg@1":1,"ndcg@3":`) || !strings.HasSuffix(string(raw), `"mrr":1,"map":0.5}`) {
		t.Fatalf("%s", raw)
	}
	var back Metrics
	if err := json.Unmarshal(raw, &back); err != nil || back != m {
		t.Fatalf("%v %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"ndcg@1":1}`), &back); err == nil {
		t.Fatal("metrics without most of them were read")
	}
}
