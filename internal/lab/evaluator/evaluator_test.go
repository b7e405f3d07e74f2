package evaluator

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

// smallSet is a data set of a harbour: a ferry office, a bakery and a lighthouse.
func smallSet() map[string]string {
	return map[string]string{
		"tools.jsonl": `{"id":"ferry","provider":"harbour","documentation":{"name":"book_ferry","description":"Book a ferry across the strait.","inputSchema":{"type":"object","properties":{"port":{"type":"string","description":"Port of departure"}},"required":["port"]}}}
{"id":"tides","provider":"harbour","documentation":{"name":"tide_table","description":"High and low water at a port.","inputSchema":{"type":"object","properties":{"port":{"type":"string","description":"Name of the port"}}}}}
{"id":"bread","provider":"bakery","documentation":{"name":"bake_bread","description":"Bake a loaf of rye bread.","inputSchema":{"type":"object","properties":{"flour":{"type":"string","description":"Kind of flour"}}}}}
{"id":"cake","provider":"bakery","documentation":"# Birthday cakes\n\nOrder a cake with candles for a birthday party."}
{"id":"lamp","documentation":{"name":"light_lamp","description":"Light the lamp of the lighthouse at dusk."}}
`,
		"providers.jsonl": `{"id":"harbour","name":"Harbour office","description":"Ships, ferries and tides."}
{"id":"bakery","name":"Bakery","description":"Bread and cakes."}
`,
		"queries.jsonl": `{"id":"q1","query":"I want to cross the strait by ferry","split":"one","labels":[{"id":"ferry","relevance":1}],"rewritten_query":{"tool_needs":[{"user_intent":"book a ferry","tool_description":"Books a ferry.","expected_response":"A ticket for the ferry."},{}],"extracted_arguments":{"port":"the port of departure","":"nothing"}}}
{"id":"q2","query":"When is low water, and who bakes a loaf of rye bread?","split":"many","labels":[{"id":"tides","relevance":1},{"id":"bread","relevance":1}],"steps":["low water at the port","bake rye bread"],"rewritten_query":{"tool_needs":[{"user_intent":"know when low water is"}],"extracted_arguments":{}}}
{"id":"q3","query":"cake with candles","split":"one","labels":[{"id":"pastry","relevance":1,"alternatives":["cake"]}],"rewritten_query":{"tool_needs":[],"extracted_arguments":{}}}
{"id":"q4","query":"nothing of this","labels":[{"id":"lamp","relevance":0}]}
`,
		"standardized.jsonl": `{"id":"ferry","description":"Zeppelin rides.","parameters":{"mast":{"type":"string","description":"Mooring mast","required":false}},"response":"A boarding card.","examples":[{"user_intent":"fly me in a zeppelin"}]}
`,
	}
}

func writeSet(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "harbour")
	check.OK(t, os.Mkdir(dir, 0o700))
	for name, text := range files {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func evalConfig(t *testing.T, dir string, set func(*Settings)) EvalConfig {
	t.Helper()
	cfg := check.Value(config.Load("", nil))(t)
	c := EvalConfig{Dir: dir, Settings: DefaultSettings(), Config: cfg}
	if set != nil {
		set(&c.Settings)
	}
	return c
}

func evaluate(t *testing.T, dir string, set func(*Settings)) *Run {
	t.Helper()
	return check.Value(Evaluate(t.Context(), evalConfig(t, dir, set), EvalDeps{}))(t)
}

func TestEvaluateFindsWhatIsAskedFor(t *testing.T) {
	dir := writeSet(t, smallSet())
	run := evaluate(t, dir, nil)
	if run.Dataset != "harbour" || run.Tools != 5 || run.Queries != 3 || run.Settings.Model == "" {
		t.Fatalf("%+v", run.Result)
	}
	if got := run.Metrics.Of("recall@3"); got != 1 {
		t.Errorf("recall@3 is %v: %+v", got, run.PerQuery)
	}
	if len(run.Notes) != 1 || !strings.Contains(run.Notes[0], "1 queries have no relevant label") {
		t.Errorf("notes %q", run.Notes)
	}
	for _, q := range run.PerQuery {
		if len(q.Ranking) != 5 {
			t.Errorf("%s: %d tools are ranked, want all", q.ID, len(q.Ranking))
		}
	}
	if again := evaluate(t, dir, nil); !reflect.DeepEqual(again, run) {
		t.Error("the same evaluation twice differs")
	}
}

func TestSwitchesOfEvaluate(t *testing.T) {
	dir := writeSet(t, smallSet())
	for name, c := range map[string]struct {
		set     func(*Settings)
		queries int
		first   string // of query q1
	}{
		"lexical":         {func(s *Settings) { s.Retrieval = Lexical }, 3, "ferry"},
		"dense":           {func(s *Settings) { s.Retrieval = Dense }, 3, "ferry"},
		"recorded":        {func(s *Settings) { s.Queries = Recorded }, 3, "ferry"},
		"steps":           {func(s *Settings) { s.Steps = On }, 3, "ferry"},
		"providers":       {func(s *Settings) { s.Rank = Providers }, 3, "harbour"},
		"split":           {func(s *Settings) { s.Split = "one" }, 2, "ferry"},
		"fulldoc":         {func(s *Settings) { s.Baseline = FullDocument }, 3, "ferry"},
		"providers steps": {func(s *Settings) { s.Rank, s.Steps = Providers, On }, 3, "harbour"},
	} {
		run := evaluate(t, dir, c.set)
		if run.Queries != c.queries || run.PerQuery[0].ID != "q1" || run.PerQuery[0].Ranking[0].ID != c.first {
			t.Errorf("%s: %d queries, %+v", name, run.Queries, run.PerQuery[0])
		}
	}
}

// What cannot be measured is counted: labels of tools that are not there, and steps of
// queries that have none.
func TestEvaluateCountsWhatIsNotThere(t *testing.T) {
	files := smallSet()
	files["queries.jsonl"] += `{"id":"q5","query":"a zeppelin to the lighthouse","labels":[{"id":"zeppelin","relevance":1,"alternatives":["balloon"]},{"id":"glider","relevance":2},{"id":"lamp","relevance":1},{"id":"kite","relevance":0}]}` + "\n"
	run := evaluate(t, writeSet(t, files), func(s *Settings) { s.Steps = On })
	notes := strings.Join(run.Notes, "\n")
	if run.Missing != 2 || !strings.Contains(notes, "2 labels of 1 queries name tools that are not in the set") {
		t.Errorf("%d labels are missing; notes %q", run.Missing, notes)
	}
	if run.Whole != 3 || !strings.Contains(notes, "3 of 4 queries have no steps") {
		t.Errorf("%d queries without steps; notes %q", run.Whole, notes)
	}
	whole := evaluate(t, writeSet(t, smallSet()), func(s *Settings) { s.Steps, s.Baseline = On, FullDocument })
	if whole.Missing != 0 || whole.Whole != 0 || len(whole.Notes) != 1 {
		t.Errorf("%+v, notes %q", whole.Result, whole.Notes)
	}
}

func TestStepsTakeTurns(t *testing.T) {
	dir := writeSet(t, smallSet())
	run := evaluate(t, dir, func(s *Settings) { s.Steps, s.Split = On, "many" })
	got := run.PerQuery[0]
	if got.Metrics.Of("comp@3") != 1 || len(got.Ranking) != 5 {
		t.Fatalf("%+v", got)
	}
	same := func(_ context.Context, base fusion.Model, train []Sample, _ bool) (fitting.Fitted, error) {
		for _, s := range train {
			if len(s.Candidates) != 5 {
				t.Errorf("%s is learned from with %d candidates", s.Query.ID, len(s.Candidates))
			}
		}
		return fitting.Fitted{Model: base}, nil
	}
	c := evalConfig(t, dir, func(s *Settings) { s.Steps, s.Weights = On, Learned })
	learned := check.Value(Evaluate(t.Context(), c, EvalDeps{Fit: same}))(t)
	if again := learned.PerQuery[1]; !reflect.DeepEqual(again.Ranking, got.Ranking) {
		t.Errorf("with the same weights learned %+v, want %+v", again.Ranking, got.Ranking)
	}
}

// Where one owner answers, its providers are ranked, where two are needed, tools;
// each is judged as what it is.
func TestRankAuto(t *testing.T) {
	dir := writeSet(t, smallSet())
	for _, steps := range []string{Off, On} {
		run := evaluate(t, dir, func(s *Settings) { s.Rank, s.Steps = Auto, steps })
		if one := run.PerQuery[0]; one.Ranking[0].ID != "harbour" || one.Relevant != 1 {
			t.Errorf("steps %s: a query for one owner is ranked %+v", steps, one.Ranking)
		}
		if two := run.PerQuery[1]; two.Relevant != 2 || two.Metrics.Of("comp@3") != 1 || two.Ranking[0].ID == "harbour" {
			t.Errorf("steps %s: a query for two owners is ranked %+v", steps, two.Ranking)
		}
		if len(run.Notes) == 0 || !strings.Contains(run.Notes[len(run.Notes)-1], "of 3 queries") {
			t.Errorf("notes %q", run.Notes)
		}
	}
}

func TestRecordedDocumentsReplaceTheFields(t *testing.T) {
	files := smallSet()
	files["queries.jsonl"] = `{"id":"q","query":"fly me in a zeppelin from a mooring mast","labels":[{"id":"ferry"}]}`
	dir := writeSet(t, files)
	rules := evaluate(t, dir, func(s *Settings) { s.Retrieval = Lexical })
	recorded := evaluate(t, dir, func(s *Settings) {
		s.Retrieval, s.Documents = Lexical, Recorded
	})
	if rules.PerQuery[0].Ranking[0].Score > 0 || recorded.PerQuery[0].Hits[0] != 1 || recorded.PerQuery[0].Ranking[0].Score <= 0 {
		t.Errorf("rules %+v, recorded %+v", rules.PerQuery, recorded.PerQuery)
	}
	if !slices.ContainsFunc(recorded.Notes, func(n string) bool { return strings.Contains(n, "4 tools have no recorded fields") }) {
		t.Errorf("notes %q", recorded.Notes)
	}
}

func TestSamplesHoldWhatServingRanksBy(t *testing.T) {
	dir := writeSet(t, smallSet())
	e := &evaluator{EvalConfig: evalConfig(t, dir, nil)}
	samples, err := e.sampleAll(t.Context())
	if err != nil || len(samples) != 3 {
		t.Fatal(len(samples), err)
	}
	run := evaluate(t, dir, nil)
	model := check.Value(fusion.ModelOf(fusion.Builtin()))(t)
	for i, s := range samples {
		for j, r := range ranking.Rank(s.Candidates, &model, ranking.Signals{Suppliers: s.Suppliers}) {
			if place := run.PerQuery[i].Ranking[j]; place.ID != r.ID || place.Score != r.Score {
				t.Errorf("%s: place %d is %+v, the sample says %s %v", s.Query.ID, j, place, r.ID, r.Score)
			}
		}
	}
	cake := samples[2]
	at := slices.IndexFunc(cake.Relevance, func(x float64) bool { return x > 0 })
	if at < 0 || cake.Candidates[at].ID != "cake" {
		t.Errorf("an alternative is not relevant: %v", cake.Relevance)
	}
}

// fit notes what it was given and gives usage the only say.
type fit struct{ trained [][]string }

func (f *fit) learn(_ context.Context, base fusion.Model, train []Sample, usage bool) (fitting.Fitted, error) {
	var ids []string
	used := &schema.Usage{Schema: schema.UsageSchema, Tenant: "default", Prior: map[string]float64{}}
	for _, s := range train {
		ids = append(ids, s.Query.ID)
		for i, c := range s.Candidates {
			if s.Relevance[i] > 0 && usage {
				used.Prior[c.ID] = 1
			}
		}
	}
	f.trained = append(f.trained, ids)
	base.Features = fusion.Features{fusion.UsagePrior: 1}
	return fitting.Fitted{Model: base, Usage: used}, nil
}

func TestLearnedWeightsNeverSeeTheirTest(t *testing.T) {
	files := smallSet()
	files["folds.jsonl"] = `{"fold":0,"test":["q1","q4"]}` + "\n" + `{"fold":1,"test":["q2"]}` + "\n" + `{"fold":2,"test":["q3"]}`
	f := &fit{}
	c := evalConfig(t, writeSet(t, files), func(s *Settings) { s.Weights, s.Usage = Learned, On })
	run := check.Value(Evaluate(t.Context(), c, EvalDeps{Fit: f.learn}))(t)
	if want := [][]string{{"q2", "q3"}, {"q1", "q3"}, {"q1", "q2"}}; !reflect.DeepEqual(f.trained, want) {
		t.Errorf("trained on %v", f.trained)
	}
	first := run.PerQuery[0].Ranking
	if first[0].ID != "tides" || first[0].Score != 1 || first[3].Score != 0 {
		t.Errorf("q1 is not ranked by the uses of q2 and q3: %+v", first)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	dir := writeSet(t, smallSet())
	unowned := smallSet()
	unowned["tools.jsonl"] = `{"id":"ferry","documentation":{"name":"book_ferry"}}`
	for name, c := range map[string]struct {
		dir  string
		set  func(*Settings)
		says string
	}{
		"no set":                {t.TempDir(), nil, "tools.jsonl"},
		"a language model":      {dir, func(s *Settings) { s.Documents = LLM }, "language model"},
		"reranking providers":   {dir, func(s *Settings) { s.Rerank, s.Rank = Auto, Providers }, "--rerank"},
		"no reference weights":  {dir, func(s *Settings) { s.Weights = Reference }, "reference_weights.jsonl"},
		"weights not there":     {dir, func(s *Settings) { s.Weights = "no/such/file" }, "no/such/file"},
		"unknown split":         {dir, func(s *Settings) { s.Split = "two" }, `"one"`},
		"providers without any": {writeSet(t, unowned), func(s *Settings) { s.Rank = Providers }, "provider"},
		"auto without any":      {writeSet(t, unowned), func(s *Settings) { s.Rank = Auto }, "provider"},
		"learned and auto":      {dir, func(s *Settings) { s.Rank, s.Weights = Auto, Learned }, "--rank auto"},
		"settings that clash":   {dir, func(s *Settings) { s.Usage = On }, "--usage"},
	} {
		_, err := Evaluate(t.Context(), evalConfig(t, c.dir, c.set), EvalDeps{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWeightsFromAFile(t *testing.T) {
	dir := writeSet(t, smallSet())
	raw := check.Value(json.Marshal(fusion.Heuristic()))(t)
	path := filepath.Join(t.TempDir(), "weights.json")
	check.OK(t, os.WriteFile(path, raw, 0o600))
	run := evaluate(t, dir, func(s *Settings) { s.Weights = path })
	builtin := evaluate(t, dir, nil)
	if run.PerQuery[0].Ranking[0].Score == builtin.PerQuery[0].Ranking[0].Score {
		t.Error("the file's weights made no difference")
	}
}

// TestPublishedRows compares with arXiv 2602.05366: BM25 of whole documents, and of the
// fields with the weights that its authors learned.
func TestPublishedRows(t *testing.T) {
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	baseline := func(s *Settings) { s.Baseline = FullDocument }
	reference := func(s *Settings) { s.Weights = Reference }
	for _, row := range []struct {
		set          string
		settings     func(*Settings)
		ndcg, recall float64
	}{{"apibank", baseline, .5167, .6139}, {"toolink", baseline, .3828, .4423}, {"apibank", reference, .6704, .6906}} {
		run := evaluate(t, filepath.Join(root, row.set), row.settings)
		ndcg, recall := run.Metrics.Of("ndcg@10"), run.Metrics.Of("recall@10")
		if math.Abs(ndcg-row.ndcg) > .00005 || math.Abs(recall-row.recall) > .00005 {
			t.Errorf("%+v: NDCG@10 %.4f, recall@10 %.4f", run.Settings, ndcg, recall)
		}
	}
}

// TestEvaluateRealTools runs the serving path on a real set and holds it to
// being better than the baseline, with room for noise.
func TestEvaluateRealTools(t *testing.T) {
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	run := evaluate(t, filepath.Join(root, "apibank"), nil)
	if run.Tools != 101 || run.Queries != 101 || len(run.Notes) > 0 || run.Metrics.Of("ndcg@10") < .52 {
		t.Errorf("%+v, notes %q", run.Result, run.Notes)
	}
}
