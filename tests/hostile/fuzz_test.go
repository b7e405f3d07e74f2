package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/apitest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
)

const (
	requests      = 24_000
	mostProcessor = time.Second // of one request
	answerLimit   = 90 * time.Second
)

// values are texts that stand in paths, queries and headers.
func values() []string {
	return []string{
		"", "tides", "shop/tides", "evil", "0", "-1", "1", "18446744073709551616", "1e400", "NaN", "true", "null", "*", ".", "..", "../..", "..;/x", "/", "//", "%", "%2F", "%00",
		"\x00", "\r\nX: y", "\xff\xfe", "é", "\u202e\u200b", "\U000e0041", "' OR 1=1 --", "<script>", "${x}", "{{x}}", "{id}", "a,b,,c", ":call", "x:call", "javascript:1",
		"2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "subject:one,group:x", "role:admin", "embedded", "default", "open", "http://127.0.0.1:1/", "file:///etc/passwd",
		strings.Repeat("a", 300), strings.Repeat("é/", 2_000), strings.Repeat("%25", 5_000), strings.Repeat("x,", 10_000), strings.Repeat("(x+x+)", 500) + "y",
	}
}

// members are JSON values in place of a part of a body.
func members() []string {
	return []string{
		`null`, `true`, `0`, `-1`, `1e400`, `18446744073709551616`, `0.1`, `""`, `"tides"`, `"\u0000"`, `"\ud800"`, "\"\xff\"", `[]`, `{}`, `[[]]`, `{"":{}}`, `{"a":1,"a":2}`,
		`{"__proto__":{}}`, `{"$ref":"#"}`, `"http://127.0.0.1:1/"`, `"file:///etc/passwd"`, `"(x+x+){900}y"`, `"9999-99-99T99:99:99Z"`, `"*"`, `"subject:one"`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000),
		`[` + strings.Repeat("{},", 100_000) + `{}]`, `[` + strings.Repeat(`"x",`, 100_000) + `"x"]`, `"` + strings.Repeat("a ", 100_000) + `"`, `"` + strings.Repeat(`\u202e`, 1_000) + `"`,
		`{` + strings.Repeat(`"a":{},`, 10_000) + `"b":1}`, manyMembers(20_000),
	}
}

// manyMembers is an object with n members.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":{}`, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// raws are bodies that follow no operation.
func raws() []string {
	return []string{
		"", " ", "\x00", "\xff", "\x1f\x8b", "{", `"`, "[[[[", "null", "---\na: &a [*a]\n", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "%YAML 9\n", "<xml/>", "{}\n{}\n[]\n",
		strings.Repeat("{}\n", 20_000), strings.Repeat("\n", 1<<20), strings.Repeat("a: ", 10_000), strings.Repeat("- ", 100_000), strings.Repeat("[", 1<<20),
		`{"openapi":"3.1.0","paths":{"/{a}":{"get":{"parameters":[{"$ref":"#/paths/~1{a}/get/parameters/0"}]}}}}`, `{"openapi":"3.1.0","info":{},"paths":` + manyMembers(20_000) + `}`,
		`{"specversion":"1.0","type":"tool.registered","source":"/","id":"1","data":` + manyMembers(5_000) + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":[]}}}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/list","params":[]}`, `[` + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 5_000) + `{}]`,
	}
}

// fuzzer makes requests to all operations.
type fuzzer struct {
	*rand.Rand
	site                   *site
	all                    []apitest.Operation
	values, members, raws  []string
	types, unusual, tokens []string
}

func newFuzzer(t *testing.T, s *site, seed uint64) *fuzzer {
	t.Helper()
	body, _, err := s.Process.Client.Send(t.Context(), http.MethodGet, "/openapi.json", nil, "", nil)
	check.OK(t, err)
	defer body.Close()
	all := check.Value(apitest.Operations(check.Value(io.ReadAll(body))(t)))(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"tides","limit":1}}}`
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		all = append(all, apitest.Operation{Method: method, Path: "/mcp", Headers: []string{"Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-ID"}, Types: []string{"application/json"}, Example: call})
	}
	all = append(all, apitest.Operation{Method: "PATCH", Path: "/v1/{id}"}, apitest.Operation{Method: http.MethodGet, Path: "/console/{id}"})
	return &fuzzer{
		Rand: random(seed, 0), site: s, all: all, values: values(), members: members(), raws: raws(),
		types: []string{"", ";", "application/xml", "text/plain", "application/yaml", "application/cloudevents-batch+json", "application/json; charset=utf-16"},
		unusual: []string{"Content-Encoding: gzip", "Content-Encoding: br", "Expect: 100-continue", "Accept: application/xml", "Accept: text/event-stream", "Accept: application/json, text/event-stream", "Origin: http://evil.example",
			"Sec-Fetch-Site: cross-site", "ce-specversion: 1.0", "ce-type: tool.deleted", "ce-id: ", "X-Forwarded-For: x", "Forwarded: for=", "Client-Cert: :x:", "Cookie: toolstream=x", "If-None-Match: *", "Range: bytes=0-",
			"WebHook-Request-Origin: *", "traceparent: 00-0-0-0", "Idempotency-Key: " + strings.Repeat("k", 5_000)},
		tokens: append(slices.Repeat([]string{s.evil.Token, s.evil.Token, s.root.Token}, 10), "", "x", strings.Repeat("x", 10_000)),
	}
}

// request returns a request of an operation as it is sent.
func (f *fuzzer) request() []byte {
	op := pick(f.Rand, f.all)
	value := func() string { return url.QueryEscape(pick(f.Rand, f.values)) }
	path := op.Fill(func() string {
		if v := pick(f.Rand, f.values); f.IntN(4) > 0 {
			return url.PathEscape(v)
		} else {
			return strings.NewReplacer(" ", "%20", "\r", "", "\n", "", "\x00", "%00").Replace(v)
		}
	})
	var query []string
	for _, name := range op.Query {
		for range []int{0, 0, 0, 1, 1, 2}[f.IntN(6)] {
			query = append(query, name+"="+value())
		}
	}
	if f.IntN(20) == 0 {
		query = append(query, value()+"="+value())
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	headers := []string{"Host: 127.0.0.1", "Authorization: Bearer " + pick(f.Rand, f.tokens)}
	for _, name := range op.Headers {
		if f.IntN(2) == 0 {
			headers = append(headers, name+": "+strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(pick(f.Rand, f.values)))
		}
	}
	for f.IntN(3) == 0 {
		headers = append(headers, pick(f.Rand, f.unusual))
	}
	body := ""
	if len(op.Types) > 0 || f.IntN(10) == 0 {
		body = f.body(op)
		kind := pick(f.Rand, append(f.types, op.Types...))
		if len(op.Types) > 0 && f.IntN(4) > 0 {
			kind = pick(f.Rand, op.Types)
		}
		headers = append(headers, "Content-Type: "+kind)
	}
	headers = append(headers, fmt.Sprint("Content-Length: ", len(body)))
	return []byte(op.Method + " " + path + " HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body)
}

// body returns a body for an operation: its example with hostile parts, or any text.
func (f *fuzzer) body(op apitest.Operation) string {
	switch n := f.IntN(10); {
	case n < 2 || op.Example == "":
		return pick(f.Rand, f.raws)
	case n == 2:
		return pick(f.Rand, f.members)
	}
	var parsed any
	if json.Unmarshal([]byte(op.Example), &parsed) != nil {
		return op.Example
	}
	return f.changed(parsed, 0)
}

// changed returns the JSON of a value with some of its parts replaced, left out or added.
func (f *fuzzer) changed(v any, depth int) string {
	if f.IntN(6) == 0 && depth > 0 {
		return pick(f.Rand, f.members)
	}
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range jsondoc.Keys(v) {
			if key, _ := json.Marshal(name); f.IntN(4) > 0 {
				parts = append(parts, string(key)+":"+f.changed(v[name], depth+1))
			}
		}
		if f.IntN(12) == 0 {
			parts = append(parts, `"strange":`+pick(f.Rand, f.members))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, element := range v {
			for range f.IntN(4) {
				parts = append(parts, f.changed(element, depth+1))
			}
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// wire is a connection that is used until the server closes it.
type wire struct {
	site   *site
	conn   *net.TCPConn
	reader *bufio.Reader
}

// send sends a request and returns the status of the answer.
func (w *wire) send(t *testing.T, request []byte) (int, error) {
	if w.conn == nil {
		w.conn = check.Value(w.site.dial(t.Context(), here()))(t)
		w.reader = bufio.NewReader(w.conn)
	}
	check.OK(t, w.conn.SetDeadline(time.Now().Add(answerLimit)))
	_, sent := w.conn.Write(request) // the server may answer and close before it has read all
	method, _, _ := bytes.Cut(request, []byte(" "))
	resp, err := http.ReadResponse(w.reader, &http.Request{Method: string(method)})
	for err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(w.reader, &http.Request{Method: string(method)})
	}
	if err != nil {
		w.shut()
		return 0, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		w.shut()
		return resp.StatusCode, nil
	}
	err = discard(resp.Body)
	if resp.Close || sent != nil || err != nil {
		w.shut()
	}
	if resp.Close { // the system may drop the end of an answer to a request that was not read whole
		return resp.StatusCode, nil
	}
	return resp.StatusCode, err
}

func (w *wire) shut() {
	if w.conn != nil {
		_ = w.conn.Close() // the server may have closed it
	}
	w.conn = nil
}

// No request to any operation gets a 5xx, loses its connection, makes a handler panic, or costs
// more than a second of processor. Requests go one after the other, so that what the process uses
// from one answer to the next is at least the cost of one request.
func TestEveryOperationBearsHostileRequests(t *testing.T) {
	level.Campaign(t)
	seed := seeded(t)
	s := open(t)
	f := newFuzzer(t, s, seed)
	w := &wire{site: s}
	defer w.shut()
	var before size
	statuses, most, total := map[int]int{}, time.Duration(0), s.Processor(t)
	for n := range requests {
		if n == requests/10 { // most buckets of the bus have begun
			before = s.size(t)
		}
		request := f.request()
		begin := s.Processor(t)
		code, err := w.send(t, request)
		used := s.Processor(t) - begin
		most = max(most, used)
		statuses[code]++
		if err != nil || code >= 500 || used > mostProcessor {
			t.Errorf("request %d: status %d, %v, %s of processor:\n%.600q", n, code, err, used, request)
		}
	}
	w.shut()
	t.Logf("%d requests to %d operations: %v; %s of processor, at most %s for one", requests, len(f.all), statuses, s.Processor(t)-total, most)
	s.settled(t, before)
}
