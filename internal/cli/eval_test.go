package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// A file of questions is asked of a server; what is not good enough fails.
func TestEvalOfAServer(t *testing.T) {
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		var req schema.SearchRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/search" {
			http.NotFound(w, r)
			return
		}
		answer := schema.SearchResponse{Degraded: []string{}, Results: []schema.Result{{ID: "berth"}, {ID: "ferry"}}}
		if req.Query == "a storm" {
			answer.Degraded = []string{"vectors"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	file := filepath.Join(t.TempDir(), "questions.jsonl")
	const two = `{"id":"q1","query":"a ferry","labels":[{"id":"ferry"}]}
{"id":"q2","query":"a train","labels":[{"id":"train"}]}
`
	for _, c := range []struct {
		lines string
		args  []string
		code  int
		says  string
	}{
		{two, []string{"--min", "mrr=0.25", "--min", "recall@3=0.5"}, program.Done, "q2        train   berth         a train"},
		{two, []string{"--min", "mrr=0.3", "--min", "recall@3=0.6"}, program.Failed, "mrr is 0.2500, less than 0.3; recall@3 is 0.5000, less than 0.6"},
		{two, []string{"--min", "mrr=30%"}, program.Usage, "METRIC=VALUE"},
		{two, []string{"--split", "other"}, program.Failed, "no question has a relevant label"},
		{`{"id":"q","query":"a ferry","labels":[]}`, nil, program.Failed, "no question has a relevant label"},
		{`{"id":"q","query":"a storm","labels":[{"id":"ferry"}]}`, nil, program.Failed, "could not ask vectors"},
	} {
		check.OK(t, os.WriteFile(file, []byte(c.lines), 0o600))
		args := append([]string{"eval", file, "--server", server}, c.args...)
		code, out, errOut := called(t, args...)
		if code != c.code || !strings.Contains(out+errOut, c.says) {
			t.Errorf("%q: exit code %d, want %d that says %q:\n%s%s", c.args, code, c.code, c.says, out, errOut)
		}
	}
}

func TestAFolderIsForTheLab(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		args []string
		says string
	}{{[]string{"eval", dir}, "toolstream-lab eval " + dir}, {[]string{"train", dir}, "toolstream-lab train"}, {[]string{"bench"}, "toolstream-lab bench"}} {
		if code, _, errOut := called(t, tc.args...); code != program.Usage || !strings.Contains(errOut, tc.says) {
			t.Errorf("%q: exit code %d: %s", tc.args, code, errOut)
		}
	}
}

// What somebody may have edited stays.
func TestEvalInitOverwritesNoQuestions(t *testing.T) {
	dir := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(dir, "queries.jsonl"), []byte("mine"), 0o600))
	code, _, errOut := called(t, "eval", "init", dir, "--server", "http://127.0.0.1:1")
	if code != program.Failed || !strings.Contains(errOut, "is there already") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
