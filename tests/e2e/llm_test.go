package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/llm/llmtest"
	"github.com/toolstream/toolstream/pkg/schema"
	filled "github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/scripted"
	"github.com/toolstream/toolstream/tests/process"
)

// everywhereAsking is everywhere with a language model for each deployment. env
// holds further settings.
func everywhereAsking(t *testing.T, cfg llmtest.Config, env []string, scenario func(*testing.T, process.Deployment, *llmtest.Server)) {
	t.Helper()
	atOnce(t, func(t *testing.T) {
		s, settings := listen(t, cfg)
		scenario(t, process.Up(t, binary(), append(settings, env...)...), s)
	}, func(t *testing.T) {
		s, settings := listen(t, cfg)
		scenario(t, process.ServeIn(t, &cluster, binary(), append(settings, env...), config.VectorsWeaviate, config.VectorsReplica), s)
	})
}

// listen starts a language model, and returns it with the settings that name it.
// Its name is its own: what models answered is kept by their names, in a NATS that
// outlives a test.
func listen(t *testing.T, cfg llmtest.Config) (*llmtest.Server, []string) {
	t.Helper()
	cfg.Model = fmt.Sprintf("scripted-%d", time.Now().UnixNano())
	s := listenAt(t, "", cfg)
	return s, []string{"TOOLSTREAM_LLM_BASE_URL=" + s.URL(), "TOOLSTREAM_LLM_MODEL=" + cfg.Model}
}

func listenAt(t *testing.T, address string, cfg llmtest.Config) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Listen(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may have been closed before
	return s
}

// askedFor returns the query of a question about a search.
func askedFor(r llmtest.Request) (string, bool) {
	var m struct{ Query *string }
	if json.Unmarshal([]byte(r.User), &m) != nil || m.Query == nil {
		return "", false
	}
	return *m.Query, true
}

// repeating answers with what documents and queries say themselves.
func repeating(r llmtest.Request) llmtest.Reply {
	if query, ok := askedFor(r); ok {
		raw, err := json.Marshal(map[string]any{"needs": []schema.Need{{UserIntent: query}}, "arguments": []string{}})
		return replied(string(raw), err)
	}
	q, err := scripted.Read(r.User)
	if err != nil {
		return replied("", err)
	}
	return replied(q.JSON())
}

func replied(content string, err error) llmtest.Reply {
	if err != nil {
		return llmtest.Reply{Refusal: err.Error()}
	}
	return llmtest.Reply{Content: content}
}

// recording is a data set with what a language model made of its documents, by
// their names, and of its queries, by their texts.
type recording struct {
	documents map[string]*filled.Answer
	rewrites  map[string]string
	queries   []dataset.Query
}

func readRecording(t *testing.T, dir string) *recording {
	t.Helper()
	set, err := dataset.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	standardized, err := set.Standardized()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*filled.Answer{}
	for i := range standardized {
		byID[standardized[i].ID] = filled.Recorded(&standardized[i])
	}
	r := &recording{documents: map[string]*filled.Answer{}, rewrites: map[string]string{}}
	for tool, err := range set.Tools() {
		if err != nil {
			t.Fatal(err)
		}
		var named struct{ Name string }
		if err := json.Unmarshal(tool.Documentation, &named); err != nil || r.documents[named.Name] != nil {
			t.Fatalf("%s: the name %q is no key: %v", tool.ID, named.Name, err)
		}
		r.documents[named.Name] = byID[tool.ID]
	}
	if r.queries, err = set.Queries(); err != nil {
		t.Fatal(err)
	}
	for _, q := range r.queries {
		r.rewrites[strings.Join(strings.Fields(q.Text), " ")] = rewriteOf(t, q.Rewritten)
	}
	return r
}

// rewriteOf returns a recorded rewrite as a model answers it.
func rewriteOf(t *testing.T, r *dataset.Rewritten) string {
	t.Helper()
	type argument struct {
		Name    string `json:"name"`
		Meaning string `json:"meaning"`
	}
	arguments := []argument{}
	for _, a := range r.Arguments {
		arguments = append(arguments, argument(a))
	}
	raw, err := json.Marshal(map[string]any{"needs": r.Needs, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// answer replays.
func (r *recording) answer(asked llmtest.Request) llmtest.Reply {
	if query, ok := askedFor(asked); ok {
		return llmtest.Reply{Content: r.rewrites[query]}
	}
	q, err := scripted.Read(asked.User)
	if err != nil || r.documents[q.Name] == nil {
		return llmtest.Reply{Refusal: "nothing is recorded of it"}
	}
	raw, err := r.documents[q.Name].JSON(q.Typed)
	return replied(string(raw), err)
}

// recordedHarbour writes a small set with recordings and returns its folder.
func recordedHarbour(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "harbour")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tools.jsonl": `{"id":"ferry","documentation":` + ferry + "}\n" + `{"id":"bread","documentation":` + bread + "}\n" +
			`{"id":"glider","documentation":` + glider + "}\n",
		"standardized.jsonl": `{"id":"ferry","description":"Book a passage on a ship across the strait.","parameters":{"port":{"type":"string","description":"Harbour where the passage begins","required":true,"example":"Oban"}},"response":"A ticket for the passage.","examples":[{"user_intent":"Take me over the water."}]}
{"id":"bread","description":"Bake a loaf of bread from rye.","parameters":{},"response":"The loaf, still warm.","examples":[{"user_intent":"I am hungry and want something to slice."}]}
{"id":"glider","description":"Rent a plane without an engine for an hour.","parameters":{"field":{"type":"string","description":"Meadow where the flight begins","required":true}},"response":"When the plane is ready.","examples":[{"user_intent":"Let me fly like a bird."}]}
`,
		"queries.jsonl": `{"id":"q1","query":"I want to be on the other side","labels":[{"id":"ferry","relevance":1}],"rewritten_query":{"tool_needs":[{"user_intent":"cross the water by ship","tool_description":"Books a passage.","expected_response":"A ticket."}],"extracted_arguments":{"port":"harbour to leave from"}}}
{"id":"q2","query":"breakfast, then up into the air","labels":[{"id":"bread","relevance":1},{"id":"glider","relevance":1}],"rewritten_query":{"tool_needs":[{"user_intent":"have something to eat"},{"user_intent":"fly without an engine"}],"extracted_arguments":{}}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// evaluated returns the ten best of every query as the evaluation with recorded
// documents and queries ranks them.
func evaluated(t *testing.T, dir string) map[string][]place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "per-query.jsonl")
	if o := cli(t, "", "eval", dir, "--documents", "recorded", "--queries", "recorded", "--per-query", path); o.code != 0 {
		t.Fatalf("eval: %+v", o)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := evaluation.ReadQueries(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]place{}
	for _, q := range all {
		for _, r := range q.Ranking[:min(10, len(q.Ranking))] {
			out[q.ID] = append(out[q.ID], place{r.ID, r.Score})
		}
	}
	return out
}

// A registry that a model has filled, searched with queries that it rewrites,
// ranks as the evaluation of the same recordings does; and nothing is asked twice.
func TestARecordedModelRanksAsItsEvaluation(t *testing.T) {
	for _, name := range []string{"small", "apibank"} {
		t.Run(name, func(t *testing.T) {
			dir := ""
			if name == "small" {
				dir = recordedHarbour(t)
			} else {
				dir = dataSet(t, name)
			}
			recorded, want := readRecording(t, dir), evaluated(t, dir)
			tools := filepath.Join(dir, "tools.jsonl")
			env := []string{"TOOLSTREAM_QUERY_REWRITE_BUDGET=2s"}
			everywhereAsking(t, llmtest.Config{Answer: recorded.answer}, env, func(t *testing.T, d process.Deployment, s *llmtest.Server) {
				if got := load(t, d.Front(), tools); *got.Indexed != len(recorded.documents) {
					t.Fatalf("%+v", got)
				}
				if n := s.Counts().Calls; n != len(recorded.documents) {
					t.Errorf("%d calls for %d documents", n, len(recorded.documents))
				}
				agree(t, d)
				d.Restart(t) // scores by words are exact after a start
				for n, p := range d.Fronts() {
					ranksAs(t, p, recorded, want, d.Front() != p && n == 0)
				}
				asksNothingAgain(t, d, s, tools)
			})
		})
	}
}

// ranksAs compares what a process answers with an evaluation. Where candidates are
// walked to through a graph, one place of a hundred may differ.
func ranksAs(t *testing.T, p *process.Process, recorded *recording, want map[string][]place, walked bool) {
	t.Helper()
	total, wrong := 0, 0
	for _, q := range recorded.queries {
		if len(want[q.ID]) == 0 {
			continue
		}
		answer := search(t, p, schema.SearchRequest{Query: q.Text, K: 10})
		if answer.Rewrite != schema.RewriteLLM && answer.Rewrite != schema.RewriteCache {
			t.Errorf("%s: rewrite %q", q.ID, answer.Rewrite)
		}
		var got []place
		for _, r := range answer.Results {
			got = append(got, place{r.ID, r.Score})
		}
		total += len(want[q.ID])
		n := differences(got, want[q.ID])
		if wrong += n; n > 0 && !walked {
			t.Errorf("%s: it is %v, evaluated %v", q.ID, got, want[q.ID])
		}
	}
	t.Logf("%d of %d places differ", wrong, total)
	if total == 0 || wrong*100 > total {
		t.Errorf("%d of %d places differ", wrong, total)
	}
}

// asksNothingAgain imports the same registry again, and once more after one of its
// tools was deleted.
func asksNothingAgain(t *testing.T, d process.Deployment, s *llmtest.Server, tools string) {
	t.Helper()
	before := s.Counts().Calls
	all := revisions(t, d.Front(), "")
	if got := load(t, d.Front(), tools); got.Unchanged != len(all) {
		t.Errorf("again: %+v", got)
	}
	for id := range all {
		if o := at(t, d.Front(), "tools", "delete", id); o.code != 0 {
			t.Fatalf("delete: %+v", o)
		}
		err := process.Until(t.Context(), func() (bool, error) {
			_, there := get(t, d.Front(), id)
			return !there, nil
		})
		if err != nil {
			t.Fatalf("%s stays: %v", id, err)
		}
		if got := load(t, d.Front(), tools); got.Accepted != 1 || *got.Indexed != 1+got.Unchanged {
			t.Errorf("one is added again: %+v", got)
		}
		if o := originOf(t, d.Front(), id); o == nil || o.Fallback != "" || len(o.Fields) == 0 {
			t.Errorf("added again: %+v", o)
		}
		break
	}
	if after := s.Counts().Calls; after != before {
		t.Errorf("%d calls for what was asked before", after-before)
	}
}

// originOf returns who made the document of a tool.
func originOf(t *testing.T, p *process.Process, id string) *schema.Origin {
	t.Helper()
	e, there := get(t, p, id)
	if !there {
		t.Fatalf("%s is not there", id)
	}
	return e.Document.Standardized
}
