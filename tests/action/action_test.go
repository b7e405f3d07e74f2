// Package action runs the steps of action.yml as a runner of GitHub does: with the
// environment that they state, one after the other.
package action

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
)

// definition is action.yml.
type definition struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Using string
		Steps []struct {
			Shell, Run string
			Env        map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{ (inputs|github)\.([a-z_-]+) \}\}`)

// action is what a job runs with.
type action struct {
	definition
	root, work, ref, releases string
}

func open(t *testing.T) *action {
	t.Helper()
	for _, program := range []string{"bash", "curl", "tar", "awk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	root := check.Value(filepath.Abs(filepath.Join("..", "..")))(t)
	a := &action{root: root, work: t.TempDir()}
	text := check.Value(os.ReadFile(filepath.Join(root, "action.yml")))(t)
	check.OK(t, yaml.Unmarshal(text, &a.definition))
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 2 {
		t.Fatalf("another action: %+v", a.Runs)
	}
	return a
}

// run runs the steps with inputs, until one of them fails, and returns what they say.
func (a *action) run(t *testing.T, inputs map[string]string) (said string, err error) {
	t.Helper()
	for name := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("there is no input %s", name)
		}
	}
	path := filepath.Join(a.work, "path")
	check.OK(t, os.WriteFile(path, nil, 0o600))
	for _, step := range a.Runs.Steps {
		added := check.Value(os.ReadFile(path))(t)
		cmd := exec.CommandContext(t.Context(), step.Shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = a.work
		cmd.Env = []string{
			"PATH=" + strings.TrimSpace(string(added)) + ":" + os.Getenv("PATH"), "HOME=" + a.work, "RUNNER_TEMP=" + a.work,
			"GITHUB_PATH=" + path, "GITHUB_STEP_SUMMARY=" + a.summary(), "GITHUB_ACTION_PATH=" + a.root, "TOOLSTREAM_RELEASES=" + a.releases,
		}
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				of := expression.FindStringSubmatch(e)
				if of[1] == "github" {
					return a.ref
				}
				given, ok := inputs[of[2]]
				if !ok {
					given = a.Inputs[of[2]].Default
				}
				return given
			}))
		}
		out, err := cmd.CombinedOutput()
		if said += string(out); err != nil {
			return said, err
		}
	}
	return said, nil
}

func (a *action) summary() string { return filepath.Join(a.work, "summary") }

// Each input is given to a step, and nothing else stands in an expression: what a pull
// request writes never becomes part of a script.
func TestInputsAreVariables(t *testing.T) {
	a := open(t)
	used := map[string]bool{}
	for _, step := range a.Runs.Steps {
		if strings.Contains(step.Run, "${{") {
			t.Errorf("an expression is part of a script: %s", step.Run)
		}
		for _, value := range step.Env {
			of := expression.FindStringSubmatch(value)
			if of == nil {
				t.Fatalf("an expression of another form: %s", value)
			}
			used[of[2]] = true
		}
	}
	for name := range a.Inputs {
		if !used[name] {
			t.Errorf("no step gets the input %s", name)
		}
	}
}

const questions = `{"id":"q1","query":"a boat to the island","labels":[{"id":"harbour/book_ferry"}]}
{"id":"q2","query":"a place for my boat over night","labels":[{"id":"harbour/reserve_berth"}]}
`

// tools writes two folders of tools, and questions about them.
func (a *action) tools(t *testing.T) {
	t.Helper()
	for file, text := range map[string]string{
		"tools/ferry.json": `{"name": "book_ferry", "description": "Books a boat to an island.", "inputSchema": {"type": "object"}}`,
		"more/berth.json":  `{"name": "reserve_berth", "description": "Reserves a place for a boat over night.", "inputSchema": {"type": "object"}}`,
		"questions.jsonl":  questions,
		"hard.jsonl":       `{"id":"q1","query":"a boat to the island","labels":[{"id":"harbour/no_such_tool"}]}`,
		"bad/tool.json":    `{"name": `,
	} {
		file = filepath.Join(a.work, file)
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

func TestQuestionsAreAGate(t *testing.T) {
	a := open(t)
	a.tools(t)
	bin := process.Build(t)
	for _, c := range []struct {
		inputs map[string]string
		says   string
		fails  bool
	}{
		{map[string]string{"paths": "tools\nmore\n", "questions": "questions.jsonl", "min-recall": "1", "min-ndcg": "0.9", "min-mrr": "0.9"}, "2 questions", false},
		{map[string]string{"paths": "tools", "questions": "hard.jsonl", "min-recall": "0.5"}, "::error::toolstream: eval: not good enough: recall@5 is 0.0000, less than 0.5", true},
		{map[string]string{"paths": "tools", "questions": "hard.jsonl"}, "not all found among the first 10", false},
		{map[string]string{"paths": "bad"}, "::error::not all tools were imported", true},
		{map[string]string{"paths": "tools", "questions": "none.jsonl"}, "::error::there is no file none.jsonl", true},
		{map[string]string{"paths": "tools", "min-recall": "1"}, "::error::min-recall", true},
		{map[string]string{"paths": "tools", "sync": "yes"}, "::error::sync is true or false", true},
		{map[string]string{}, "::error::neither paths nor a server", true},
	} {
		c.inputs["binary"], c.inputs["provider"], c.inputs["token"] = bin, "harbour", "of another server"
		check.OK(t, os.WriteFile(a.summary(), nil, 0o600))
		said, err := a.run(t, c.inputs)
		if (err != nil) != c.fails || !strings.Contains(said, c.says) {
			t.Errorf("%v: %v, want %q:\n%s", c.inputs, err, c.says, said)
		}
		if summary, err := os.ReadFile(a.summary()); err != nil || strings.Contains(said, "METRIC") != strings.Contains(string(summary), "METRIC") {
			t.Errorf("%v: the summary is %q, %v", c.inputs, summary, err)
		}
		if left, err := filepath.Glob(filepath.Join(a.work, "toolstream.*", "log")); err != nil || len(left) > 0 {
			t.Errorf("%v: a server has left %q, %v", c.inputs, left, err)
		}
	}
}

func TestAServerIsKeptInStep(t *testing.T) {
	a := open(t)
	a.tools(t)
	bin := process.Build(t)
	server := process.Start(t, bin, t.TempDir())
	for _, step := range []struct {
		paths string
		tools string
	}{
		{"tools\nmore", "harbour/book_ferry harbour/reserve_berth"},
		{"tools", "harbour/book_ferry"},
	} {
		said, err := a.run(t, map[string]string{"binary": bin, "server": server.Client.Server, "provider": "harbour", "paths": step.paths, "sync": "true"})
		if got := ids(t, server.Client); err != nil || got != step.tools {
			t.Errorf("%s: %v, the server has %s, want %s:\n%s", step.paths, err, got, step.tools, said)
		}
	}
	if said, err := a.run(t, map[string]string{"binary": bin, "server": server.Client.Server, "questions": "questions.jsonl", "min-recall": "0.9"}); err == nil || !strings.Contains(said, "recall@5 is 0.5000") {
		t.Errorf("the server has one tool of two: %v\n%s", err, said)
	}
}

// ids are those of the tools of a server.
func ids(t *testing.T, c client.Client) string {
	t.Helper()
	var list struct{ Tools []struct{ ID string } }
	check.OK(t, c.Get(t.Context(), "/v1/tools", nil, &list))
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.ID)
	}
	return strings.Join(out, " ")
}

// A program is installed if it is what the release has the checksum of.
func TestInstallChecksTheRelease(t *testing.T) {
	a := open(t)
	if runtime.GOOS != "linux" {
		t.Skip("the release of this test is for Linux")
	}
	file := fmt.Sprintf("toolstream_1.2.3_linux_%s.tar.gz", runtime.GOARCH)
	program := archive(t, "#!/bin/sh\necho it runs as \"$1\"\n")
	sums := fmt.Sprintf("%x  %s\n%064d  toolstream_1.2.3_other.tar.gz\n", sha256.Sum256(program), file, 0)
	files := map[string][]byte{file: program, "checksums.txt": []byte(sums)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/releases/download/v1.2.3/")
		switch {
		case r.URL.Path == "/releases/latest":
			http.Redirect(w, r, "/releases/tag/v1.2.3", http.StatusFound)
		case r.URL.Path == "/releases/tag/v1.2.3":
		case ok && files[name] != nil:
			_, _ = w.Write(files[name])
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	a.releases = server.URL + "/releases"
	for _, c := range []struct {
		version, ref string
		change       func()
		says         string
	}{
		{"", "v1", nil, "it runs as version"},
		{"", "v1.2.3", nil, "it runs as version"},
		{"v1.2.3", "main", nil, "it runs as version"},
		{"v9.9.9", "v1.2.3", nil, "::error::checksums.txt of release v9.9.9 cannot be fetched"},
		{"v1.2.3", "", func() { files[file] = archive(t, "#!/bin/sh\necho changed\n") }, "::error::the checksum of " + file + " is not that of its release"},
		{"v1.2.3", "", func() { files["checksums.txt"] = []byte("\n") }, "::error::the checksum of " + file + " is not that of its release"},
	} {
		if c.change != nil {
			c.change()
		}
		a.ref = c.ref
		said, err := a.run(t, map[string]string{"version": c.version}) // what follows lacks inputs
		if err == nil || !strings.Contains(said, c.says) || strings.Contains(said, "changed") {
			t.Errorf("version %q of %q: %v, want %q:\n%s", c.version, c.ref, err, c.says, said)
		}
	}
}

// archive is that of a release, with a program of that text.
func archive(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	check.OK(t, w.WriteHeader(&tar.Header{Name: "toolstream", Mode: 0o755, Size: int64(len(text))}))
	check.Value(w.Write([]byte(text)))(t)
	check.OK(t, w.Close())
	check.OK(t, zip.Close())
	return out.Bytes()
}
