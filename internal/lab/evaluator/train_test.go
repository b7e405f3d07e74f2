package evaluator

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
)

func trainConfig(t *testing.T, dir string) TrainConfig {
	c := evalConfig(t, dir, nil)
	return TrainConfig{Dir: dir, Settings: c.Settings, Config: c.Config}
}

func train(t *testing.T, cfg TrainConfig) *Trained {
	t.Helper()
	return check.Value(Train(t.Context(), cfg, nil))(t)
}

func TestTrainFromLabels(t *testing.T) {
	dir := writeSet(t, smallSet())
	first, second := train(t, trainConfig(t, dir)), train(t, trainConfig(t, dir))
	if first.Weights.Hash != second.Weights.Hash || first.Pairs == 0 || first.CrossValidated == nil {
		t.Fatalf("%+v and %+v", first.Weights, second.Weights)
	}
	check.Value(fusion.ModelOf(first.Weights))(t)
	if w := first.Weights; !strings.Contains(w.Source, "harbour") || w.Trained != first.Pairs || w.Version != "trained-"+train(t, trainConfig(t, dir)).Weights.Version[8:] {
		t.Errorf("%+v", w)
	}
}

func TestTrainWithUsage(t *testing.T) {
	cfg := trainConfig(t, writeSet(t, smallSet()))
	cfg.Settings.Usage = On
	if w := train(t, cfg).Weights; w.Version == train(t, trainConfig(t, cfg.Dir)).Weights.Version {
		t.Error("usage makes no difference")
	}
}

func TestTrainFromSearches(t *testing.T) {
	features := func(lexical string) string {
		return `[` + lexical + strings.Repeat(",0", int(fusion.FeatureCount)-1) + `]`
	}
	files := map[string]string{
		"searches.jsonl": `{"search_id":"s1","tenant":"default","shown":[{"id":"ferry","features":` + features("9") + `},{"id":"tides","features":` + features("2") + `}]}`,
		"feedback.jsonl": `{"search_id":"s1","tool_id":"tides","event":"succeeded"}`,
	}
	dir := writeSet(t, files)
	got := train(t, trainConfig(t, dir))
	builtin := fusion.Builtin()
	if got.Pairs != 1 || got.Weights.Features["query.lexical.flat"] >= builtin.Features["query.lexical.flat"] {
		t.Errorf("%d pairs, %v", got.Pairs, got.Weights.Features)
	}
	files["searches.jsonl"] = strings.Replace(files["searches.jsonl"], "{", `{"model":"minilm-1",`, 1)
	if with := train(t, trainConfig(t, writeSet(t, files))); maps.Equal(with.Weights.Features, got.Weights.Features) {
		t.Error("learning does not begin with the weights of the model that searches ranked by")
	}
	files["searches.jsonl"] += "\n" + strings.NewReplacer("minilm-1", "static-1", "s1", "s2").Replace(files["searches.jsonl"])
	if _, err := Train(t.Context(), trainConfig(t, writeSet(t, files)), nil); err == nil || !strings.Contains(err.Error(), "minilm-1 (1) and static-1 (1)") {
		t.Errorf("of searches by two models: %v", err)
	}
	check.OK(t, os.Remove(filepath.Join(dir, "feedback.jsonl")))
	if _, err := Train(t.Context(), trainConfig(t, dir), nil); err == nil {
		t.Error("learned from searches without feedback")
	}
}

func TestReferenceWeights(t *testing.T) {
	files := maps.Clone(smallSet())
	files["queries.jsonl"] = `{"id":"q1","query":"cross","labels":[{"id":"ferry"}],"rewritten_query":{"tool_needs":[{"user_intent":"a zeppelin","tool_description":"Zeppelin rides."}],"extracted_arguments":{"mast":"where it is moored"}}}
{"id":"q2","query":"rise","labels":[{"id":"ferry"}],"rewritten_query":{"tool_needs":[{"tool_description":"rides"}],"extracted_arguments":{}}}
`
	files["folds.jsonl"] = `{"fold":0,"test":["q1"]}
{"fold":1,"test":["q2"]}
`
	files["standardized.jsonl"] += `{"id":"bread","description":"Bakes.","parameters":{},"response":"A loaf.","examples":[]}
`
	weights := `{"retriever":"bm25","fold":%d,"base_weight":[[1,0,0,0]],"base_bias":[0]}` + "\n"
	files["reference_weights.jsonl"] = fmt.Sprintf(weights, 0) + fmt.Sprintf(weights, 1)
	run := evaluate(t, writeSet(t, files), func(s *Settings) { s.Weights = Reference })
	if run.Tools != 5 || len(run.PerQuery[0].Ranking) != 2 || run.Metrics.Of("mrr") != 1 {
		t.Errorf("with reference weights: %+v", run)
	}
}
