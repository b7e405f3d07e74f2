package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
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
	req := check.Value(http.NewRequestWithContext(t.Context(), method, p.Client.Server+path, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", media)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %.80s: %v", method, path, err)
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

// What is too large or too deep is refused, and costs the process little, however large it
// would become.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := up(t, t.TempDir())
	const js, yaml = "application/json", "application/yaml"
	for name, tc := range map[string]struct {
		method, path, media, body string
		status                    int
		says                      string
	}{
		"10 MB of JSON":      {"PUT", "/v1/tools/bad", js, `{"name":"a","description":"` + strings.Repeat("x ", 5<<20) + `"}`, 413, "1048576"},
		"50,000 parameters":  {"PUT", "/v1/tools/bad", js, wide(50_000), 413, "1048576"},
		"5,000 parameters":   {"PUT", "/v1/tools/bad", js, wide(5_000), 422, "parameters"},
		"1,000 levels, YAML": {"PUT", "/v1/tools/bad", yaml, "a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), 400, "nesting too deep"},
		"a YAML bomb":        {"PUT", "/v1/tools/bad", yaml, bomb(), 422, "aliases"},
		"a large search":     {"POST", "/v1/search", js, `{"query":"` + strings.Repeat("ferry ", 180_000) + `"}`, 413, "too large"},
		"a deep search":      {"POST", "/v1/search", js, `{"query":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := send(t, p, tc.method, tc.path, tc.media, tc.body)
			if a.status != tc.status || a.media != "application/problem+json" || !strings.Contains(a.problem.Text(), tc.says) {
				t.Errorf("status %d, %s: %.300s", a.status, a.media, a.body)
			}
		})
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
	var yarns strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&yarns, "Yarn%d is a kind of yarn. ", i)
	}
	for id, tc := range map[string]struct{ document, query string }{
		"a/b//c":           {`{"name":"gate_keeper","description":"Opens the drawbridge."}`, "open the drawbridge"},
		"../../etc/passwd": {`{"name":"compass","description":"Points north."}`, "where is north"},
		"a?b#c&d=%2F+ e":   {`{"name":"abacus","description":"Adds beads."}`, "add beads"},
		"工具/天气":            {`{"name":"天气","description":"查询城市的天气预报"}`, "天气预报"},
		"cafe\u0301":       {`{"name":"espresso","description":"Brews espresso."}`, "brew espresso"},
		"long":             {`{"name":"loom","description":"Weaves carpets. ` + yarns.String() + `"}`, "weave carpets"},
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
