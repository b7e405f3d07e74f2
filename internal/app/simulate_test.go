package app

import (
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/training"
)

func simulateConfig(t *testing.T) SimulateConfig {
	files := smallSet()
	files["folds.jsonl"] = `{"fold":0,"test":["q1","q4"]}
{"fold":1,"test":["q2","q3"]}
`
	dir := writeSet(t, files)
	return SimulateConfig{Dir: dir, Seeds: 2, Rounds: 3, Users: 10, Config: evalConfig(t, dir, nil).Config}
}

func TestSimulateRepeats(t *testing.T) {
	cfg := simulateConfig(t)
	deps := EvalDeps{Fit: training.Config{}.Fit}
	first, err := Simulate(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Simulate(t.Context(), cfg, deps)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("%+v, and again %+v: %v", first, second, err)
	}
	if first.Dataset != "harbour" || first.Start <= 0 || first.FullLabels <= 0 || len(first.Curve) != 1+cfg.Rounds {
		t.Errorf("%+v", first)
	}
	if p := first.Curve[cfg.Rounds]; p.NDCG != first.Clicks || p.Events == 0 || first.Curve[0].NDCG != first.Start {
		t.Errorf("the curve %v does not go from %v to %v", first.Curve, first.Start, first.Clicks)
	}
}

func TestSimulateRefusesNobody(t *testing.T) {
	cfg := simulateConfig(t)
	cfg.Users = 0
	if _, err := Simulate(t.Context(), cfg, EvalDeps{}); err == nil {
		t.Error("a simulation without users went through")
	}
}
