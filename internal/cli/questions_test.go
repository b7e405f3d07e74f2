package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestSearchesAreShown(t *testing.T) {
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() == "/v1/searches?limit=7" {
			_, _ = w.Write([]byte(`{"searches":[{"search_id":"S","time":"2026-01-31T08:00:00Z","query":"a ferry","results":["berth","ferry"],"used":["ferry"]}]}`))
		}
	})
	for limit, want := range map[string]int{"7": program.Done, "0": program.Usage, "201": program.Usage} {
		code, out, errOut := called(t, "searches", "--limit", limit, "--server", server)
		if code != want || code == program.Done && !strings.Contains(out, "a ferry  ferry  berth") {
			t.Errorf("--limit %s: exit code %d:\n%s%s", limit, code, out, errOut)
		}
	}
}

// The server keeps the questions; commands change some of them and send all back.
func TestQuestionsAreChangedAndMeasured(t *testing.T) {
	kept := questions.Questions{Version: "0", Questions: []questions.Question{}}
	var asked questions.EvaluationRequest
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "PUT /v1/questions":
			if err := json.NewDecoder(r.Body).Decode(&kept); err != nil {
				t.Error(err)
			}
			fallthrough
		case "GET /v1/questions":
			_ = json.NewEncoder(w).Encode(kept)
		case "POST /v1/questions:evaluate":
			asked = questions.EvaluationRequest{}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			out := questions.EvaluationResult{Missing: []string{"gone"}}
			for i, s := range asked.Runs {
				run := questions.EvaluationRun{Settings: s, Questions: []questions.EvaluatedQuestion{{ID: "q1", Query: "a ferry", First: 1 + i, Results: []string{"berth"}}}}
				if run.Metrics.NDCG10 = 0.5; i > 0 {
					run.Difference = &questions.EvaluationDifference{NDCG10: questions.EvaluationGain{Gain: .25, P: .01}}
				}
				out.Runs = append(out.Runs, run)
			}
			_ = json.NewEncoder(w).Encode(out)
		default:
			http.NotFound(w, r)
		}
	})
	file := filepath.Join(t.TempDir(), "queries.jsonl")
	lines := `{"id":"q1","query":"a ferry","labels":[{"id":"ferry","alternatives":["boat"]}]}
{"id":"q2","query":"nothing","labels":[]}
`
	check.OK(t, os.WriteFile(file, []byte(lines), 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"add", "a train"}, program.Usage, "--relevant"},
		{[]string{"add", "a", "train", "--id", "train", "--relevant", "rail=2", "--relevant", "a=b", "--argument", "city=where"}, program.Done, "questions: 1"},
		{[]string{"import", file}, program.Done, "1 questions have no relevant label"},
		{[]string{"import", file}, program.Done, "questions: 2"},
		{[]string{"list"}, program.Done, "train  rail a=b  a train"},
		{[]string{"evaluate"}, program.Done, "as served"},
		{[]string{"evaluate", "--with", "weights=builtin,model=2", "--with", "rerank=off"}, program.Done, "1, 2, 3"},
		{[]string{"evaluate", "--with", "weights=builtin"}, program.Done, "+0.2500"},
		{[]string{"evaluate"}, program.Done, "has the id gone"},
		{[]string{"evaluate", "--with", "colour=red"}, program.Usage, `"colour=red" is not made of`},
		{[]string{"remove", "absent"}, program.Failed, "does not exist"},
		{[]string{"remove", "train"}, program.Done, "questions: 1"},
	} {
		code, out, errOut := called(t, append([]string{"questions"}, append(c.args, "--server", server)...)...)
		if code != c.code || !strings.Contains(out+errOut, c.says) {
			t.Errorf("%q: exit code %d, want %d that says %q:\n%s%s", c.args, code, c.code, c.says, out, errOut)
		}
	}
	if len(kept.Questions) != 1 || kept.Questions[0].Relevant[0].Alternatives[0] != "boat" || asked.K != 10 {
		t.Errorf("kept %+v, asked %+v", kept, asked)
	}
}
