package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
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

func TestBadDocumentsAreRefusedByName(t *testing.T) {
	p := up(t, t.TempDir())
	const js, yaml, text = "application/json", "application/yaml", "text/plain"
	for name, tc := range map[string]struct {
		media, body string
		refusal
	}{
		"invalid JSON":        {js, `{"name":`, refusal{400, "invalid JSON at byte 8", "/name"}},
		"invalid YAML":        {yaml, "a: [1\nb: 2", refusal{400, "invalid YAML", ""}},
		"empty":               {js, "", refusal{400, "empty", ""}},
		"white space":         {js, " \n\t", refusal{400, "empty", ""}},
		"an empty object":     {js, "{}", refusal{400, "empty", ""}},
		"an empty array":      {js, "[]", refusal{400, "empty", ""}},
		"null":                {js, "null", refusal{400, "empty", ""}},
		"a number":            {js, "17", refusal{422, "not a tool", ""}},
		"a schema of text":    {js, `{"name":"a","inputSchema":"x"}`, refusal{422, "wrong type", "/inputSchema"}},
		"10 MB of text":       {text, strings.Repeat("x ", 5<<20), refusal{413, "1048576", ""}},
		"10 MB of JSON":       {js, `{"name":"a","description":"` + strings.Repeat("x ", 5<<20) + `"}`, refusal{413, "1048576", ""}},
		"50,000 parameters":   {js, wide(50_000), refusal{413, "1048576", ""}},
		"5,000 parameters":    {js, wide(5_000), refusal{422, "parameters", ""}},
		"1,000 levels":        {js, strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), refusal{400, "nesting too deep", strings.Repeat("/a", 64)}},
		"1,000 arrays":        {js, `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", refusal{400, "nesting too deep", "/a" + strings.Repeat("/0", 63)}},
		"1,000 levels, YAML":  {yaml, "a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), refusal{400, "nesting too deep", ""}},
		"duplicate keys":      {js, `{"name":"a","x":{"y":1,"y":2}}`, refusal{400, "duplicate key", "/x/y"}},
		"duplicate, YAML":     {yaml, "name: a\nname: b\n", refusal{400, "", ""}},
		"invalid UTF-8":       {js, "{\"name\":\"\xff\"}", refusal{400, "invalid UTF-8 at byte 9", "/name"}},
		"invalid UTF-8, text": {text, "abc \xff", refusal{400, "invalid UTF-8", ""}},
		"half a surrogate":    {js, `{"name":"\ud800"}`, refusal{400, "", "/name"}},
		"NUL, escaped":        {js, `{"name":"a\u0000b"}`, refusal{422, "NUL", "/name"}},
		"NUL, raw":            {js, "{\"name\":\"a\x00b\"}", refusal{422, "NUL", "/name"}},
		"NUL in text":         {text, "abc\x00d", refusal{422, "NUL", ""}},
		"a YAML bomb":         {yaml, bomb(), refusal{422, "aliases", ""}},
		"a picture":           {"image/png", "\x89PNG", refusal{415, "application/yaml", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, send(t, p, http.MethodPut, "/v1/tools/bad", tc.media, tc.body))
		})
	}
	if _, there := get(t, p, "bad"); there {
		t.Error("something of it was taken")
	}
	stillWorks(t, p)
}

func TestBadIDsAreRefusedByName(t *testing.T) {
	p := up(t, t.TempDir())
	for _, id := range []string{" a", "a ", "a\u202eb", "a\u200bb", "a\nb", strings.Repeat("x", 257)} {
		refusal{422, "invalid id", "/id"}.check(t, send(t, p, http.MethodPut, client.Path("/v1/tools", id), "application/json", ferry))
	}
	refusal{422, "required", "/name"}.check(t, send(t, p, http.MethodPost, "/v1/tools:batch", "application/json", `{"description":"Nobody knows my name."}`))
	stillWorks(t, p)
}

// What passes from one process to another: ids and documents in records,
// searches and feedback in requests.
func TestBadInput(t *testing.T) {
	everywhere(t, func(t *testing.T, d process.Deployment) {
		for name, scenario := range map[string]func(*testing.T, *process.Process){
			"documents": oddDocumentsAreTakenAndFound, "batch": theRestOfABatchGoesOn,
			"searches": badSearches, "feedback and paths": badFeedbackAndUnknownPaths,
		} {
			t.Run(name, func(t *testing.T) { scenario(t, d.Front()) })
		}
		agree(t, d)
	})
}

// What is odd but can be understood is taken, and found.
func oddDocumentsAreTakenAndFound(t *testing.T, p *process.Process) {
	for id, tc := range map[string]struct{ document, query string }{
		"walks":             {`{"name":"tree_walker","description":"Walks a tree.","inputSchema":{"type":"object","properties":{"node":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"child":{"$ref":"#/$defs/n"},"self":{"$ref":"#"}}}}}}`, "walks a tree"},
		"hidden":            {`{"name":"pay\u200bment_tool","description":"Settles in\u200bvoices \u202eyletefas\u2066.","inputSchema":{"type":"object"}}`, "settles invoices"},
		"a/b//c":            {`{"name":"gate_keeper","description":"Opens the drawbridge."}`, "open the drawbridge"},
		"../../etc/passwd":  {`{"name":"compass","description":"Points north."}`, "where is north"},
		"name with spaces":  {`{"name":"kettle","description":"Boils water."}`, "boil water"},
		"a?b#c&d=%2F+":      {`{"name":"abacus","description":"Adds beads."}`, "add beads"},
		"工具/天气":             {`{"name":"天气","description":"查询城市的天气预报"}`, "天气预报"},
		"أداة":              {`{"name":"ترجمة","description":"يترجم النصوص"}`, "يترجم النصوص"},
		"cafe\u0301":        {`{"name":"espresso","description":"Brews espresso."}`, "brew espresso"},
		"no name":           {`{"description":"Sharpens pencils.","inputSchema":{"type":"object"}}`, "sharpen pencils"},
		"a number for name": {`{"name":7,"description":"Counts seagulls."}`, "count seagulls"},
		"long":              {`{"name":"loom","description":"Weaves carpets. ` + strings.Repeat("This is said at great length. ", 30_000) + `"}`, "weave carpets"},
		"broad":             {wide(4_000), "wide desk"},
	} {
		put(t, p, id, tc.document)
		if got := found(t, p, tc.query, 3); len(got) == 0 || got[0] != normal(id) {
			t.Errorf("%q: search for %q finds %q", id, tc.query, got)
		}
		e, there := get(t, p, id)
		if !there || strings.ContainsAny(e.Document.Description, "\u200b\u202e\u2066") {
			t.Errorf("%q: there %v, described as %.100q", id, there, e.Document.Description)
		}
	}
	stillWorks(t, p)
}

// normal is the id in the normal form in which it is kept.
func normal(id string) string { return strings.ReplaceAll(id, "e\u0301", "\u00e9") }

func theRestOfABatchGoesOn(t *testing.T, p *process.Process) {
	lines := []string{
		ferry,
		`{"name":`,
		"\xff",
		`{"id":"x","document":{"name":"one","description":"Polishes silver."}}`,
		`{"id":"x","document":{"name":"two","description":"Polishes brass."}}`,
		`{"id":"deep","document":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		`{"id":"\u0000","document":{"name":"n"}}`,
		`{"id":"y","op":"explode","document":{"name":"n"}}`,
		bread,
	}
	a := send(t, p, http.MethodPost, "/v1/tools:batch?agent=mix", "application/x-ndjson", strings.Join(lines, "\n"))
	want := []string{"accepted", "rejected", "rejected", "superseded", "accepted", "rejected", "rejected", "rejected", "accepted"}
	got := bytes.Split(bytes.TrimSpace(a.body), []byte("\n"))
	if a.status != http.StatusOK || len(got) != len(want)+1 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	for i, state := range want {
		var line struct {
			Line     int
			ID       string
			Revision uint64
			State    string
			Reason   string
		}
		if err := json.Unmarshal(got[i], &line); err != nil {
			t.Fatal(err)
		}
		if line.Line != i+1 || line.State != state || (state == "rejected") != (line.Reason != "") {
			t.Errorf("line %d: %s, want %s", i+1, got[i], state)
		}
		if state == "accepted" {
			if end := settled(t, p, line.ID, line.Revision); end != "indexed" {
				t.Errorf("%s: %s", line.ID, end)
			}
		}
	}
	if got := found(t, p, "polish brass", 1); got[0] != "x" {
		t.Errorf("of two tools with one id in a batch the last one holds; found %q", got)
	}
	if e, _ := get(t, p, "x"); e.Name != "two" {
		t.Errorf("x is %+v", e)
	}
}

func TestReferencesOutwardAreNeverFollowed(t *testing.T) {
	canary, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var visits atomic.Int32
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			conn, err := canary.Accept()
			if err != nil {
				return
			}
			visits.Add(1)
			conn.Close()
		}
	}()
	p := up(t, t.TempDir())
	document := func(ref string) string {
		return fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"Outward","version":"1"},"paths":{
			"/a":{"get":{"summary":"Reads a","parameters":[{"$ref":%q}]}},"/b":{"get":{"summary":"Reads the barometer"}}}}`, ref)
	}
	at := "http://" + canary.Addr().String()
	for _, ref := range []string{at + "/x.json#/a", "//" + canary.Addr().String() + "/x", "file:///etc/passwd", "other.json#/a", "#/components/parameters/gone"} {
		a := send(t, p, http.MethodPost, "/v1/tools:batch", "application/json", document(ref))
		first, _, _ := strings.Cut(string(a.body), "\n")
		refused := strings.Contains(first, `"state":"rejected"`) && strings.Contains(first, "external reference") && strings.Contains(first, "/parameters/0/$ref")
		if a.status != http.StatusOK || refused != (ref[0] != '#') {
			t.Errorf("%s: status %d: %s", ref, a.status, a.body)
		}
	}
	mcp := fmt.Sprintf(`{"name":"remote_schema","description":"Measures tides.","inputSchema":{"type":"object","properties":{"a":{"$ref":%q}},"$schema":%q}}`, at+"/s.json", at+"/meta.json")
	if a := send(t, p, http.MethodPut, "/v1/tools/remote", "application/json", mcp); a.status != http.StatusAccepted && a.status != http.StatusUnprocessableEntity {
		t.Errorf("a schema elsewhere: %d %s", a.status, a.body)
	}
	stillWorks(t, p)
	if got := found(t, p, "read the barometer", 1); got[0] != "outward/GET /b" {
		t.Errorf("the operation beside it: %q", got)
	}
	if err := canary.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
	if n := visits.Load(); n != 0 {
		t.Errorf("%d connections were made to what a document refers to", n)
	}
}

func TestReferencesInCirclesEnd(t *testing.T) {
	p := up(t, t.TempDir())
	document := `{"openapi":"3.0.0","info":{"title":"Rings","version":"1"},"paths":{
		"/ring":{"post":{"summary":"Forges a ring","parameters":[{"$ref":"#/components/parameters/A"}],
			"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Node"}}}}}}},
		"components":{"parameters":{"A":{"$ref":"#/components/parameters/B"},"B":{"$ref":"#/components/parameters/A"}},
			"schemas":{"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"},"alloy":{"type":"string"}}}}}}`
	s := load(t, p, writeFile(t, "rings.json", document))
	if s.Accepted != 1 || *s.Indexed != 1 {
		t.Errorf("%+v", s)
	}
	if got := found(t, p, "forge a ring of an alloy", 1); got[0] != "rings/POST /ring" {
		t.Errorf("found %q", got)
	}
}

func badSearches(t *testing.T, p *process.Process) {
	put(t, p, "glider", glider)
	for name, tc := range map[string]struct {
		body string
		refusal
	}{
		"k of -1":           {`{"query":"a","k":-1}`, refusal{422, "1 to 1000", "body.k"}},
		"k of text":         {`{"query":"a","k":"many"}`, refusal{422, "integer", "body.k"}},
		"empty":             {`{"query":""}`, refusal{422, "empty", "body.query"}},
		"only invisible":    {`{"query":" \u200b\t"}`, refusal{422, "empty", "body.query"}},
		"none":              {`{}`, refusal{422, "query", "body"}},
		"no body":           {``, refusal{400, "", ""}},
		"invalid JSON":      {`{"query":`, refusal{400, "", "body"}},
		"1 MB":              {`{"query":"` + strings.Repeat("ferry ", 180_000) + `"}`, refusal{413, "too large", ""}},
		"100 kB":            {`{"query":"` + strings.Repeat("ferry ", 17_000) + `"}`, refusal{422, "65536", "body.query"}},
		"unknown rank":      {`{"query":"a","rank":"cats"}`, refusal{422, "agents", "body.rank"}},
		"unknown rewrite":   {`{"query":"a","rewrite":"often"}`, refusal{422, "", "body.rewrite"}},
		"unknown member":    {`{"query":"a","top":3}`, refusal{422, "unexpected", "body.top"}},
		"a query of arrays": {`{"query":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`, refusal{400, "", "body"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, send(t, p, http.MethodPost, "/v1/search", "application/json", tc.body))
		})
	}
	for k, capped := range map[string]bool{"0": false, "1": false, "1000000000": true} {
		a := send(t, p, http.MethodPost, "/v1/search", "application/json", `{"query":"rent a glider","k":`+k+`}`)
		var r schema.SearchResponse
		if err := json.Unmarshal(a.body, &r); err != nil || a.status != http.StatusOK || len(r.Results) == 0 || r.Results[0].ID != "glider" || r.KCapped != capped {
			t.Errorf("k of %s: %d %s", k, a.status, a.body)
		}
	}
	stillWorks(t, p)
}

func badFeedbackAndUnknownPaths(t *testing.T, p *process.Process) {
	for name, tc := range map[string]struct {
		method, path, body string
		refusal
	}{
		"no search":       {"POST", "/v1/feedback", `{"search_id":"","tool_id":"a","event":"called"}`, refusal{422, "empty", "body.search_id"}},
		"unknown event":   {"POST", "/v1/feedback", `{"search_id":"s","tool_id":"a","event":"danced"}`, refusal{422, "selected", "body.event"}},
		"no such tool":    {"GET", "/v1/tools/nobody", "", refusal{404, "nobody", ""}},
		"no such agent":   {"GET", "/v1/agents/nobody", "", refusal{404, "nobody", ""}},
		"no such path":    {"GET", "/v1/nowhere", "", refusal{404, "/v1/nowhere", ""}},
		"no such method":  {"PATCH", "/v1/tools/a", "{}", refusal{405, "PATCH", ""}},
		"no such weights": {"GET", "/v1/weights/w99", "", refusal{404, "", ""}},
		"nothing to roll": {"POST", "/v1/weights:rollback", "", refusal{409, "", ""}},
		"no such letter":  {"GET", "/v1/dlq/none", "", refusal{404, "", ""}},
		"a limit of -1":   {"GET", "/v1/tools?limit=-1", "", refusal{422, "", "query.limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, send(t, p, tc.method, tc.path, "application/json", tc.body))
		})
	}
	stillWorks(t, p)
}

// bounded is what the process may hold at most after the worst of inputs, on a
// handful of tools.
const bounded = 512 << 20

// stillWorks puts and finds a tool, and looks at the memory of the process.
func stillWorks(t *testing.T, p *process.Process) {
	t.Helper()
	put(t, p, "still/here", `{"name":"still_here","description":"Proves that the lighthouse shines."}`)
	if got := found(t, p, "does the lighthouse shine", 1); len(got) != 1 || got[0] != "still/here" {
		t.Errorf("found %q", got)
	}
	if peak := memory(t, p, "VmHWM"); peak > bounded {
		t.Errorf("the process has taken %d MB", peak>>20)
	}
}
