package agents

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/agenttest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// job is what a model is asked to do, and what there is to do it with.
type job struct {
	asked  string
	values map[string]any
	tool   string // id of the tool that can do it
	says   string // in what it answers
}

var jobs = []job{
	{"echo back a message", map[string]any{"message": "seven bells"}, "everything/echo", "Echo: seven bells"},
	{"what time is it in Tokyo now", map[string]any{"timezone": "Asia/Tokyo"}, "time/get_current_time", "is_dst"},
	{"read the entire knowledge graph", nil, "memory/read_graph", "entities"},
}

// A model finds tools of three servers among all the tools of the data set, has them described
// and calls them. The next search finds first what it has called.
func TestToolsAreFoundAmongThousandsAndRememberedByUse(t *testing.T) {
	t.Parallel()
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" || testing.Short() {
		t.Skip("TOOLSTREAM_DATA is not set, or -short: no real documents to work with")
	}
	agents, mcp := provisioned(t)
	commands := map[string][]string{
		"everything": servers.Node(mcp, "mcp-server-everything", "stdio"),
		"time":       servers.Python(mcp, "mcp_server_time"),
		"memory":     servers.Node(mcp, "mcp-server-memory"),
	}
	var allowed []string
	for _, argv := range commands {
		allowed = append(allowed, strings.Join(argv, " "))
	}
	file := filepath.Join(t.TempDir(), "tokens")
	owner := tokentest.Add(t, file, identity.Caller{Tenant: "acme", Role: identity.Admin}, time.Time{})
	var callers []string
	for _, name := range []string{"ann", "ben", "cem"} {
		callers = append(callers, tokentest.Add(t, file, identity.Caller{Tenant: "acme", Subject: name, Role: identity.Calling}, time.Time{}))
	}
	bin := process.Build(t)
	x := toolstream{process.Up(t, bin, "TOOLSTREAM_AUTH_TOKENS_FILE="+file, "TOOLSTREAM_CRAWL_COMMANDS="+strings.Join(allowed, ","), "TOOLSTREAM_TRAINER_PUBLISH=1s").Front()}
	x.Client.Token = owner
	documents := filepath.Join(data, "mcp", "tools.jsonl.gz")
	run(t, []string{"TOOLSTREAM_SERVER=" + x.Client.Server, "TOOLSTREAM_TOKEN=" + owner}, bin, "import", "--wait", documents)
	for name, argv := range commands {
		x.add(t, name, source.Spec{Kind: source.MCP, Command: argv})
	}

	before := map[string]int{}
	for _, j := range jobs {
		before[j.tool] = x.rank(t, j)
	}
	var turns []agenttest.Turn
	for _, j := range jobs {
		model := agenttest.Start(t, agenttest.Seeker{Values: j.values, Describes: true}.Act)
		for _, token := range callers {
			e := newExamples(t, agents, mcp, "TOOLSTREAM_SERVER="+x.Client.Server, "TOOLSTREAM_TOKEN="+token, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=none")
			if out := e.run(t, "ai_sdk.ts", j.asked); !strings.Contains(out, j.says) {
				t.Errorf("%s: it prints %s", j.asked, out)
			}
			turns = model.Turns()
			if len(turns) != 4 {
				t.Fatalf("%s: %d turns, want those to search, describe, call and answer", j.asked, len(turns))
			}
		}
	}
	higher := 0
	for _, j := range jobs {
		x.comesFirst(t, j)
		t.Logf("%s: %s is first, and was at rank %d before it was used (0: below 100)", j.asked, j.tool, before[j.tool])
		if before[j.tool] != 1 {
			higher++
		}
	}
	if higher == 0 {
		t.Error("every tool was first before it was used: the test shows nothing of learning")
	}
	if testing.Verbose() {
		compare(t, documents, turns)
	}
}

// comesFirst waits until the tool of a job is found first. It looks seldom: a search whose
// results nobody uses counts against those that it shows.
func (x toolstream) comesFirst(t *testing.T, j job) {
	t.Helper()
	look := time.NewTicker(3 * time.Second)
	defer look.Stop()
	at := 0
	for range 20 {
		if at = x.rank(t, j); at == 1 {
			return
		}
		<-look.C
	}
	t.Fatalf("%s is found at place %d", j.tool, at)
}

// rank returns the place of the tool of a job in what a search finds for it, 0 where it is not
// among the first hundred.
func (x toolstream) rank(t *testing.T, j job) int {
	t.Helper()
	var found schema.SearchResponse
	check.OK(t, x.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: j.asked, K: 100}, &found))
	return 1 + slices.IndexFunc(found.Results, func(r schema.Result) bool { return r.ID == j.tool })
}

// compare prints what the requests of a conversation are in tokens, beside a list of all tools.
func compare(t *testing.T, documents string, turns []agenttest.Turn) {
	t.Helper()
	all, n := 0, 0
	for document := range lines(t, documents) {
		all += catalogue.CountTokens(string(document))
		n++
	}
	t.Logf("| what a request has | tokens (%s) |", catalogue.Tokenizer)
	t.Logf("| all %d tools, as tools/list has them | %d |", n, all)
	for i, turn := range turns {
		var body struct{ Tools, Messages json.RawMessage }
		check.OK(t, json.Unmarshal(turn.Body, &body))
		t.Logf("| turn %d: the three tools %d, the conversation %d | %d |", i+1, catalogue.CountTokens(string(body.Tools)), catalogue.CountTokens(string(body.Messages)), catalogue.CountTokens(string(body.Tools))+catalogue.CountTokens(string(body.Messages)))
	}
}

// lines yields the tools of a file of the data set, each as a server lists it.
func lines(t *testing.T, file string) func(yield func(json.RawMessage) bool) {
	t.Helper()
	raw := check.Value(os.ReadFile(file))(t)
	unpacked := check.Value(gzip.NewReader(bytes.NewReader(raw)))(t)
	return func(yield func(json.RawMessage) bool) {
		all := bufio.NewScanner(unpacked)
		all.Buffer(nil, 1<<24)
		for all.Scan() {
			var line struct{ Documentation json.RawMessage }
			check.OK(t, json.Unmarshal(all.Bytes(), &line))
			var text bytes.Buffer
			check.OK(t, json.Compact(&text, line.Documentation))
			if !yield(text.Bytes()) {
				return
			}
		}
		check.OK(t, all.Err())
	}
}
