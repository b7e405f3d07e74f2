package relevance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// trecScript measures {"qrels", "runs"} with trec_eval's own code.
const trecScript = `
import json, sys, pytrec_eval
data = json.load(sys.stdin)
measures = {"ndcg_cut.1,3,5,10", "recall.1,3,5,10", "recip_rank", "map"}
evaluator = pytrec_eval.RelevanceEvaluator(data["qrels"], measures)
json.dump(evaluator.evaluate(data["runs"]), sys.stdout)
`

// python returns an interpreter that has pytrec_eval: TOOLSTREAM_PYTHON, else
// python3.
func python(t *testing.T) string {
	name := os.Getenv("TOOLSTREAM_PYTHON")
	if name == "" {
		name = "python3"
	}
	if err := exec.Command(name, "-c", "import pytrec_eval").Run(); err != nil {
		t.Skipf("%s has no pytrec_eval, which the metrics are compared with (pip install pytrec-eval-terrier)", name)
	}
	return name
}

// TestMetricsEqualTrecEvals compares random rankings full of ties.
func TestMetricsEqualTrecEvals(t *testing.T) {
	interpreter := python(t)
	rng := rand.New(rand.NewPCG(1, 2))
	data := struct {
		Qrels map[string]map[string]int     `json:"qrels"`
		Runs  map[string]map[string]float64 `json:"runs"`
	}{map[string]map[string]int{}, map[string]map[string]float64{}}
	for q := range 300 {
		id := fmt.Sprint("q", q)
		data.Qrels[id], data.Runs[id] = map[string]int{}, map[string]float64{}
		for d := range 40 {
			doc := fmt.Sprint("tool_", d)
			if rng.IntN(8) == 0 || d == q%40 {
				data.Qrels[id][doc] = 1 + rng.IntN(3)
			}
			if rng.IntN(5) > 0 {
				data.Runs[id][doc] = float64(rng.IntN(9)) / 2
			}
		}
	}
	input := check.Value(json.Marshal(data))(t)
	cmd := exec.Command(interpreter, "-c", trecScript)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output := check.Value(cmd.Output())(t)
	var want map[string]map[string]float64
	check.OK(t, json.Unmarshal(output, &want))
	if len(want) != len(data.Runs) {
		t.Fatalf("%d of %d queries measured", len(want), len(data.Runs))
	}
	for id, measured := range want {
		compareWithTrec(t, id, scoreTrec(data.Qrels[id], data.Runs[id]), measured)
	}
}

func scoreTrec(qrels map[string]int, run map[string]float64) Metrics {
	var judged []Label
	for doc, relevance := range qrels {
		judged = append(judged, Label{ID: doc, Relevance: float64(relevance)})
	}
	var list []Ranked
	for doc, score := range run {
		list = append(list, Ranked{doc, score})
	}
	Sort(list)
	return JudgeTools(judged).Score(list).Metrics
}

func compareWithTrec(t *testing.T, id string, got Metrics, want map[string]float64) {
	t.Helper()
	names := map[string]string{"mrr": "recip_rank", "map": "map"}
	for _, k := range cutoffs {
		names[fmt.Sprint("ndcg@", k)] = fmt.Sprint("ndcg_cut_", k)
		names[fmt.Sprint("recall@", k)] = fmt.Sprint("recall_", k)
	}
	for ours, theirs := range names {
		x, ok := want[theirs]
		if !ok || math.Abs(got.Of(ours)-x) > 1e-9 {
			t.Errorf("%s: %s is %v, trec_eval's %s %v", id, ours, got.Of(ours), theirs, x)
		}
	}
}
