package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
)

// answer is an answer over HTTP, its body read.
type answer struct {
	status  int
	media   string
	body    []byte
	problem client.Problem
}

// send sends a body; headers are names and values in turn.
func send(t *testing.T, p *process.Process, method, path, media, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.Client.Server+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %.80s: %v\n%s", method, path, err, p.Log())
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, media: resp.Header.Get("Content-Type")}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%s %.80s: %v", method, path, err)
	}
	if a.media == "application/problem+json" {
		if err := json.Unmarshal(a.body, &a.problem); err != nil {
			t.Fatalf("%s %.80s: %v: %s", method, path, err, a.body)
		}
	}
	return a
}

// refusal says how something is refused.
type refusal struct {
	status int
	says   string // in the detail, or in the message of an error
	where  string // location of one of the errors; "" where it concerns the whole
}

// check demands a problem document that says what is wrong and where.
func (r refusal) check(t *testing.T, a answer) {
	t.Helper()
	if a.status != r.status || a.media != "application/problem+json" || a.problem.Status != r.status {
		t.Fatalf("status %d, %s: %.300s", a.status, a.media, a.body)
	}
	if !strings.Contains(a.problem.Text(), r.says) {
		t.Errorf("it says %q, want %q", a.problem.Text(), r.says)
	}
	located := r.where == ""
	for _, e := range a.problem.Errors {
		located = located || e.Location == r.where
	}
	if !located {
		t.Errorf("it points to %+v, want %q", a.problem.Errors, r.where)
	}
}

// bomb is a YAML document of a few hundred bytes that stands for 9^9 values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8)+fmt.Sprintf("*%c", c-1))
	}
	return b.String()
}

// wide is a tool of n parameters.
func wide(n int) string {
	properties := map[string]any{}
	for i := range n {
		properties[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string"}
	}
	raw, _ := json.Marshal(map[string]any{"name": "wide_desk", "inputSchema": map[string]any{"type": "object", "properties": properties}})
	return string(raw)
}

// What is wrong in a body is told by name, and costs the process little, however
// large it would become.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := up(t, t.TempDir())
	const js, yaml, text = "application/json", "application/yaml", "text/plain"
	for name, tc := range map[string]struct {
		method, path, media, body string
		refusal
	}{
		"invalid JSON":        {"PUT", "/v1/tools/bad", js, `{"name":`, refusal{400, "invalid JSON at byte 8", "/body/name"}},
		"invalid YAML":        {"PUT", "/v1/tools/bad", yaml, "a: [1\nb: 2", refusal{400, "invalid YAML", ""}},
		"invalid UTF-8, text": {"PUT", "/v1/tools/bad", text, "abc \xff", refusal{400, "invalid UTF-8", ""}},
		"1,000 levels, YAML":  {"PUT", "/v1/tools/bad", yaml, "a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), refusal{400, "nesting too deep", ""}},
		"10 MB of JSON":       {"PUT", "/v1/tools/bad", js, `{"name":"a","description":"` + strings.Repeat("x ", 5<<20) + `"}`, refusal{413, "1048576", ""}},
		"50,000 parameters":   {"PUT", "/v1/tools/bad", js, wide(50_000), refusal{413, "1048576", ""}},
		"5,000 parameters":    {"PUT", "/v1/tools/bad", js, wide(5_000), refusal{422, "parameters", ""}},
		"a YAML bomb":         {"PUT", "/v1/tools/bad", yaml, bomb(), refusal{422, "aliases", ""}},
		"a picture":           {"PUT", "/v1/tools/bad", "image/png", "\x89PNG", refusal{415, "application/yaml", ""}},
		"a large search":      {"POST", "/v1/search", js, `{"query":"` + strings.Repeat("ferry ", 180_000) + `"}`, refusal{413, "too large", ""}},
		"a deep search":       {"POST", "/v1/search", js, `{"query":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`, refusal{400, "", "/body"}},
		"unknown member":      {"POST", "/v1/search", js, `{"query":"a","top":3}`, refusal{422, "unexpected", "/body/top"}},
		"no such tool":        {"GET", "/v1/tools/bad", js, "", refusal{404, "bad", ""}},
		"no such method":      {"PATCH", "/v1/tools/a", js, "{}", refusal{405, "PATCH", ""}},
		"nothing to roll":     {"POST", "/v1/weights:rollback", js, "", refusal{409, "", ""}},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, send(t, p, tc.method, tc.path, tc.media, tc.body)) })
	}
	oddDocumentsAreTakenAndFound(t, p)
	if peak := memory(t, p, "VmHWM"); peak > bounded {
		t.Errorf("the process has taken %d MB", peak>>20)
	}
}

// bounded is what the process may hold at most after the worst of inputs, on a
// handful of tools.
const bounded = 512 << 20

// What is odd but can be understood is taken, and found.
func oddDocumentsAreTakenAndFound(t *testing.T, p *process.Process) {
	for id, tc := range map[string]struct{ document, query string }{
		"a/b//c":           {`{"name":"gate_keeper","description":"Opens the drawbridge."}`, "open the drawbridge"},
		"../../etc/passwd": {`{"name":"compass","description":"Points north."}`, "where is north"},
		"a?b#c&d=%2F+ e":   {`{"name":"abacus","description":"Adds beads."}`, "add beads"},
		"工具/天气":            {`{"name":"天气","description":"查询城市的天气预报"}`, "天气预报"},
		"cafe\u0301":       {`{"name":"espresso","description":"Brews espresso."}`, "brew espresso"},
		"long":             {`{"name":"loom","description":"Weaves carpets. ` + atLength(30_000) + `"}`, "weave carpets"},
		"broad":            {wide(4_000), "wide desk"},
	} {
		put(t, p, id, tc.document)
		if got := found(t, p, tc.query, 3); len(got) == 0 || got[0] != strings.ReplaceAll(id, "e\u0301", "\u00e9") {
			t.Errorf("%q: search for %q finds %q", id, tc.query, got)
		}
		e, there := get(t, p, id)
		if !there || strings.ContainsAny(e.Document.Description, "\u200b\u202e\u2066") {
			t.Errorf("%q: there %v, described as %.100q", id, there, e.Document.Description)
		}
	}
	put(t, p, "hidden", `{"name":"pay\u200bment_tool","description":"Settles in\u200bvoices \u202eyletefas\u2066.","inputSchema":{"type":"object"}}`)
	e, there := get(t, p, "hidden")
	if !there || !e.Document.Quarantined || strings.ContainsAny(e.Document.Description, "\u200b\u202e\u2066") {
		t.Errorf("hidden characters: there %v, %+v", there, e.Document)
	}
	if got := found(t, p, "settles invoices", 3); slices.Contains(got, "hidden") {
		t.Errorf("a document in quarantine is found: %q", got)
	}
}

// atLength returns that many sentences, each with a word of its own.
func atLength(sentences int) string {
	var text strings.Builder
	for i := range sentences {
		fmt.Fprintf(&text, "Yarn%d is a kind of yarn. ", i)
	}
	return text.String()
}
