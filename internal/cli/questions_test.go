package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/questions"
)

func TestSearchesAreShown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.String() == "/v1/searches?limit=7" {
			_, _ = w.Write([]byte(`{"searches":[{"search_id":"S","time":"2026-01-31T08:00:00Z","query":"a ferry","results":["berth","ferry"],"used":["ferry"]}]}`))
		}
	}))
	defer server.Close()
	for limit, want := range map[string]int{"7": exitDone, "0": exitUsage, "201": exitUsage} {
		var out, errOut strings.Builder
		code := run(t.Context(), []string{"searches", "--limit", limit, "--server", server.URL}, strings.NewReader(""), &out, &errOut)
		if code != want || code == exitDone && !strings.Contains(out.String(), "a ferry  ferry  berth") {
			t.Errorf("--limit %s: exit code %d:\n%s%s", limit, code, out.String(), errOut.String())
		}
	}
}

// The server keeps the questions; commands change some of them and send all back.
func TestQuestionsAreChangedAndMeasured(t *testing.T) {
	kept := questions.Questions{Version: "0", Questions: []questions.Question{}}
	var asked questions.EvaluationRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
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
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "queries.jsonl")
	lines := `{"id":"q1","query":"a ferry","labels":[{"id":"ferry","alternatives":["boat"]}]}
{"id":"q2","query":"nothing","labels":[]}
`
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"add", "a train"}, exitUsage, "--relevant"},
		{[]string{"add", "a", "train", "--id", "train", "--relevant", "rail=2", "--relevant", "a=b", "--argument", "city=where"}, exitDone, "questions: 1"},
		{[]string{"import", file}, exitDone, "1 questions have no relevant label"},
		{[]string{"import", file}, exitDone, "questions: 2"},
		{[]string{"list"}, exitDone, "train  rail a=b  a train"},
		{[]string{"evaluate"}, exitDone, "as served"},
		{[]string{"evaluate", "--with", "weights=builtin,model=2", "--with", "rerank=off"}, exitDone, "1, 2, 3"},
		{[]string{"evaluate", "--with", "weights=builtin"}, exitDone, "+0.2500"},
		{[]string{"evaluate"}, exitDone, "has the id gone"},
		{[]string{"evaluate", "--with", "colour=red"}, exitUsage, `"colour=red" is not made of`},
		{[]string{"remove", "absent"}, exitFailed, "no question"},
		{[]string{"remove", "train"}, exitDone, "questions: 1"},
	} {
		var out, errOut strings.Builder
		args := append([]string{"questions"}, append(c.args, "--server", server.URL)...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != c.code || !strings.Contains(out.String()+errOut.String(), c.says) {
			t.Errorf("%q: exit code %d, want %d that says %q:\n%s%s", c.args, code, c.code, c.says, out.String(), errOut.String())
		}
	}
	if len(kept.Questions) != 1 || kept.Questions[0].Relevant[0].Alternatives[0] != "boat" || asked.K != 10 {
		t.Errorf("kept %+v, asked %+v", kept, asked)
	}
}
