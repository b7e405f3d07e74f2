package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// What was there stays until what replaces it is whole.
func TestAFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "weights.json"), filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	broken := errors.New("broken")
	for _, step := range []struct {
		path  string
		write func(io.Writer) error
		fails error
		holds string
	}{
		{path, says("one"), nil, "one"},
		{path, func(w io.Writer) error { return errors.Join(says("half")(w), broken) }, broken, "one"},
		{link, says("two"), nil, "two"},
		{"", says("nowhere"), nil, "two"},
		{os.DevNull, says("away"), nil, "two"},
		{filepath.Join(dir, "missing", "x"), says("x"), os.ErrNotExist, "two"},
	} {
		if err := writeFile(step.path, step.write); !errors.Is(err, step.fails) {
			t.Errorf("%s: %v, want %v", step.path, err, step.fails)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.holds {
			t.Errorf("after %s: %q, %v", step.path, got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestEvalSaysThatFewQueriesTellLittle(t *testing.T) {
	dir := t.TempDir()
	for name, line := range map[string]string{
		"tools.jsonl":   `{"id":"ferry","documentation":{"name":"book_ferry","description":"Book a ferry."}}`,
		"queries.jsonl": `{"id":"q","query":"a ferry","labels":[{"id":"ferry"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut strings.Builder
	code := run(t.Context(), []string{"eval", dir, "--baseline", "fulldoc"}, strings.NewReader(""), &out, &errOut)
	if code != exitDone || !strings.Contains(errOut.String(), "1 queries tell little") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}

// A file of questions is asked of a server; what is not good enough fails.
func TestEvalOfAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req schema.SearchRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/search" {
			http.NotFound(w, r)
			return
		}
		answer := schema.SearchResponse{Degraded: []string{}, Results: []schema.Result{{ID: "berth"}, {ID: "ferry"}}}
		if req.Query == "a storm" {
			answer.Degraded = []string{"vectors"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
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
		{two, []string{"--min", "mrr=0.25", "--min", "recall@3=0.5"}, exitDone, "q2        train   berth         a train"},
		{two, []string{"--min", "mrr=0.3", "--min", "recall@3=0.6"}, exitFailed, "mrr is 0.2500, less than 0.3; recall@3 is 0.5000, less than 0.6"},
		{two, []string{"--min", "mrr=30%"}, exitUsage, "METRIC=VALUE"},
		{two, []string{"--retrieval", "lexical"}, exitUsage, "--retrieval is for a folder"},
		{`{"id":"q","query":"a ferry","labels":[]}`, nil, exitFailed, "no question has a relevant label"},
		{`{"id":"q","query":"a storm","labels":[{"id":"ferry"}]}`, nil, exitFailed, "could not ask vectors"},
	} {
		if err := os.WriteFile(file, []byte(c.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errOut strings.Builder
		args := append([]string{"eval", file, "--server", server.URL}, c.args...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
		if code != c.code || !strings.Contains(out.String()+errOut.String(), c.says) {
			t.Errorf("%q: exit code %d, want %d that says %q:\n%s%s", c.args, code, c.code, c.says, out.String(), errOut.String())
		}
	}
}

// What somebody may have edited stays.
func TestEvalInitOverwritesNoQuestions(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "queries.jsonl"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	code := run(t.Context(), []string{"eval", "init", dir, "--server", "http://127.0.0.1:1"}, strings.NewReader(""), &out, &errOut)
	if code != exitFailed || !strings.Contains(errOut.String(), "is there already") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}
