package relevance

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// results are queries of which each metric is the given value.
func results(values ...float64) []QueryResult {
	list := make([]QueryResult, len(values))
	for i, x := range values {
		list[i] = QueryResult{ID: fmt.Sprint("q", i), Relevant: 2, Hits: []int{1}, Ranking: ranked("a")}
		for m := range list[i].Metrics {
			list[i].Metrics[m] = x
		}
	}
	return list
}

func TestBootstrapOfCoins(t *testing.T) {
	coins := make([]float64, 400)
	for i := range coins {
		coins[i] = float64(i % 2)
	}
	// The mean of 400 fair coins has a standard error of 0.025: 95 % lie
	// within 1.96 of them.
	got := Bootstrap(coins)
	if got.Mean != 0.5 || math.Abs(got.Low-0.451) > 0.004 || math.Abs(got.High-0.549) > 0.004 {
		t.Fatalf("%+v", got)
	}
	if again := Bootstrap(coins); again != got {
		t.Fatalf("%+v, then %+v", got, again)
	}
	if got := Bootstrap([]float64{0.3, 0.3}); got != (Interval{0.3, 0.3, 0.3}) {
		t.Fatalf("of equal values: %+v", got)
	}
	if got := Bootstrap(nil); got != (Interval{}) {
		t.Fatalf("of nothing: %+v", got)
	}
}

func TestCompareIsPaired(t *testing.T) {
	// Every query gains a little, far less than queries differ: paired, the
	// difference is certain.
	before := []float64{0.1, 0.9, 0.2, 0.8, 0.3, 0.7}
	after := make([]float64, len(before))
	for i, x := range before {
		after[i] = x + 0.01 + 0.001*float64(i)
	}
	c, n, err := Compare(results(before...), append(results(after...), QueryResult{ID: "of one run only"}))
	if err != nil || n != 6 {
		t.Fatal(n, err)
	}
	d := c[0]
	if math.Abs(d.Difference-0.0125) > 1e-9 || d.Low < 0.01 || d.High > 0.015 || d.P > 0.001 {
		t.Fatalf("%+v", d)
	}
	same, _, err := Compare(results(before...), results(before...))
	if err != nil || same[0].P != 1 || same[0].Low != 0 || same[0].High != 0 {
		t.Fatalf("with itself: %+v %v", same[0], err)
	}
	if _, _, err := Compare(results(1), []QueryResult{{ID: "other"}}); err == nil {
		t.Fatal("runs without a common query were compared")
	}
}

func TestFilesOfRuns(t *testing.T) {
	run := []QueryResult{Judge("q<1>", JudgeTools(labels("a", "b")), ranked("x", "a"))}
	var file bytes.Buffer
	check.OK(t, WriteQueries(&file, run))
	text := file.String()
	if !strings.HasPrefix(text, `{"id":"q<1>","relevant":2,"hits":[2],"metrics":{"ndcg@1":0,`) || !strings.HasSuffix(text, `"ranking":[{"id":"x","score":2},{"id":"a","score":1}]}`+"\n") {
		t.Fatal(text)
	}
	back, err := ReadQueries(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(back, run) {
		t.Fatalf("%+v %v", back, err)
	}
	for name, bad := range map[string]string{"twice": text + text, "cut": text[:40], "no metrics": `{"id":"q"}`, "no id": strings.Replace(text, "q<1>", "", 1)} {
		if _, err := ReadQueries(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRankingsAreJudgedToADepth(t *testing.T) {
	ids := make([]string, MaxRanking+1)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	got := Judge("q", JudgeTools(labels(ids[MaxRanking])), ranked(ids...))
	if len(got.Ranking) != MaxRanking || got.Metrics.Of("mrr") != 0 {
		t.Fatalf("%d places, MRR %v", len(got.Ranking), got.Metrics.Of("mrr"))
	}
}
