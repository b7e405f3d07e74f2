// Package agents holds tests with what agents are made of: clients of MCP, and frameworks,
// which `make provision` makes. They run the programs of examples/agents, with a scripted
// model and real servers of tools.
package agents

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/agenttest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// patience is how long a test waits for what has to come: a guard, not an expectation.
const patience = 5 * time.Minute

// provisioned returns the folders of the programs, or skips the test.
func provisioned(t *testing.T) (agents, mcp string) {
	t.Helper()
	if os.Getenv(level.Servers) == "" || !servers.Provisioned(servers.AgentsName) || !servers.Provisioned(servers.MCPName) {
		t.Skip("`make integration` runs this test")
	}
	home := func(name string) string {
		return check.Value(servers.Provision(t.Context(), name))(t)
	}
	return home(servers.AgentsName), home(servers.MCPName)
}

// toolstream is a running one.
type toolstream struct{ *process.Process }

// add adds a source and waits until its tools can be found.
func (x toolstream) add(t *testing.T, name string, spec source.Spec) {
	t.Helper()
	if err := x.Client.Put(t.Context(), "/v1/sources/"+name, spec, nil); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var s sources.Source
	process.Await(t, name, func() (bool, error) {
		err := x.Client.Get(t.Context(), "/v1/sources/"+name, nil, &s)
		return s.Tools > 0, err
	})
	process.Await(t, "the tools of "+name, func() (bool, error) {
		var page struct{ Tools []struct{ ID string } }
		err := x.Client.Get(t.Context(), "/v1/tools?provider="+name, nil, &page)
		return len(page.Tools) >= s.Tools, err
	})
}

// run runs a program, and returns what it prints.
func run(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(argv, " "), err, out, said.String())
	}
	return string(out)
}

// examples are the programs of examples/agents as they are run.
type examples struct {
	folder string // of the examples, with the packages of npm in it
	agents string // home of their packages
	mcp    string // home of those of the newer MCP library
	env    []string
}

func newExamples(t *testing.T, agents, mcp string, env ...string) examples {
	t.Helper()
	folder := t.TempDir()
	check.OK(t, os.CopyFS(folder, os.DirFS("../../examples/agents")))
	check.OK(t, os.Symlink(filepath.Join(agents, "node_modules"), filepath.Join(folder, "node_modules")))
	return examples{folder: folder, agents: agents, mcp: mcp, env: append(env, "PYTHONDONTWRITEBYTECODE=1")}
}

// run runs an example, and returns what it prints.
func (e examples) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	argv := servers.Python(e.agents, "")[:1]
	switch {
	case filepath.Ext(name) == ".ts":
		argv = []string{filepath.Join(e.agents, "node_modules", ".bin", "node")}
	case name == "mcp_client.py":
		argv = servers.Python(e.mcp, "")[:1]
	}
	return run(t, e.env, slices.Concat(argv, []string{filepath.Join(e.folder, name)}, args)...)
}

// question is what the models of tests are asked. They know the numbers, and the tool the sum.
const (
	question = "add two numbers"
	sum      = "The sum of 17 and 25 is 42"
	sumTool  = "everything_get-sum"
)

var numbers = map[string]any{"a": 17, "b": 25}

// everything starts a toolstream that asks for tokens, with the server that the MCP project
// has for tests of clients as its source. It returns the settings of a program that uses it.
func everything(t *testing.T, bin, mcp string) (x toolstream, env []string) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	owner := tokentest.Add(t, tokens, identity.Caller{Tenant: "acme", Role: identity.Admin}, time.Time{})
	agent := tokentest.Add(t, tokens, identity.Caller{Tenant: "acme", Subject: "agent", Role: identity.Calling}, time.Time{})
	command := servers.Node(mcp, "mcp-server-everything", "stdio")
	x = toolstream{process.Up(t, bin, "TOOLSTREAM_AUTH_TOKENS_FILE="+tokens, "TOOLSTREAM_CRAWL_COMMANDS="+strings.Join(command, " ")).Front()}
	x.Client.Token = owner
	x.add(t, "everything", source.Spec{Kind: source.MCP, Command: command})
	return x, []string{"TOOLSTREAM_SERVER=" + x.Client.Server, "TOOLSTREAM_TOKEN=" + agent}
}

// Every example finds the tool that is asked for, shows the model its schema, calls it and
// gives the model what it has returned.
func TestExamplesFindAndCallTools(t *testing.T) {
	t.Parallel()
	agents, mcp := provisioned(t)
	x, env := everything(t, process.Build(t), mcp)
	model := agenttest.Start(t, agenttest.Seeker{Values: numbers}.Act)
	e := newExamples(t, agents, mcp, append(env,
		"OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=none", "OPENAI_AGENTS_DISABLE_TRACING=1",
		"ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=none")...)
	ways := map[string]struct {
		path  string // of the model; empty where there is none
		turns int    // that it takes: one less where the program searches before the model is asked
		named bool   // the tool is the model's own, by its name
	}{
		"ai_sdk.ts":                   {"/v1/chat/completions", 3, false},
		"anthropic_tool_reference.py": {"/v1/messages", 3, true},
		"langchain_mcp.py":            {"/v1/chat/completions", 3, false},
		"langchain_search.py":         {"/v1/chat/completions", 2, true},
		"llamaindex_mcp.py":           {"/v1/chat/completions", 3, false},
		"llamaindex_retriever.py":     {"/v1/chat/completions", 2, true},
		"openai_agents.py":            {"/v1/responses", 3, false},
		"openai_tool_search.py":       {"/v1/responses", 3, true},
		"mcp_client.py":               {},
		"mcp_client.ts":               {},
	}
	files := check.Value(os.ReadDir(e.folder))(t)
	for _, file := range files {
		name := file.Name()
		way, known := ways[name]
		if name == "node_modules" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if !known {
				t.Fatal("nothing is said of it")
			}
			if way.path == "" {
				if out := e.run(t, name, question, `{"a": 17, "b": 25}`); !strings.Contains(out, sum) || !strings.Contains(out, sumTool) {
					t.Errorf("it prints %s", out)
				}
				return
			}
			before := callsOf(t, x)
			out := e.run(t, name, question)
			turns := model.Turns()
			if !strings.Contains(out, sum) {
				t.Errorf("it prints %s", out)
			}
			if len(turns) != way.turns || turns[0].Path != way.path {
				t.Fatalf("%d turns of %s, want %d of %s", len(turns), turns[0].Path, way.turns, way.path)
			}
			call := turns[len(turns)-2] // in which the model has decided to call
			if !strings.Contains(string(call.Body), sumTool) || !strings.Contains(string(call.Body), "First number") {
				t.Errorf("the model has not seen the tool: %s", call.Body)
			}
			if last := turns[len(turns)-1].Results; len(last) == 0 || way.named != (last[len(last)-1].Tool == sumTool) {
				t.Errorf("it has called %+v", last)
			}
			if after := callsOf(t, x); after != before+1 {
				t.Errorf("%d calls came through", after-before)
			}
		})
	}
}

// answered finds how many calls tools have answered in the metrics.
var answered = regexp.MustCompile(`(?m)^toolstream_calls_total{outcome="ok"} (\d+)$`)

// callsOf returns how many calls tools have answered.
func callsOf(t *testing.T, x toolstream) int {
	t.Helper()
	body, _, err := x.Client.Send(t.Context(), http.MethodGet, "/metrics", nil, "", nil)
	check.OK(t, err)
	defer body.Close()
	text := check.Value(io.ReadAll(body))(t)
	found := answered.FindSubmatch(text)
	if found == nil {
		return 0
	}
	return check.Value(strconv.Atoi(string(found[1])))(t)
}
