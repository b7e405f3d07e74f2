package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// What a tool answers comes to callers of the API and of /mcp as its server wrote it: digits, escapes,
// kinds of blocks and members that nothing here knows.
func TestResultsComeAsTheirServerWroteThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var results []string
	for range 200 {
		results = append(results, writtenResult(r))
	}
	server := httptest.NewServer(resultsOf(results))
	defer server.Close()
	p := process.Up(t, process.Binary()).Front()
	check.OK(t, p.Client.Put(t.Context(), "/v1/sources/odd", source.Spec{Kind: source.MCP, URL: server.URL}, &sources.Source{}))
	arguments := func(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)) }
	check.OK(t, process.Until(t.Context(), func() (bool, error) {
		_, err := p.Client.Call(t.Context(), "odd/answer", schema.CallRequest{Arguments: arguments(0)})
		return err == nil, nil
	}))
	for i, result := range results {
		direct := members(result)
		a, err := p.Client.Call(t.Context(), "odd/answer", schema.CallRequest{Arguments: arguments(i)})
		if err != nil {
			t.Fatalf("%s: %v", result, err)
		}
		through := map[string]string{"content": string(check.Value(jsondoc.Plain(a.Content))(t)), "isError": fmt.Sprint(a.IsError)}
		if a.Structured != nil {
			through["structuredContent"] = string(a.Structured)
		}
		for name, member := range a.Other {
			through[name] = string(member)
		}
		same(t, "the API", direct, through)

		switch s := direct["structuredContent"]; {
		case s == "null":
			delete(direct, "structuredContent")
		case s != "" && s[0] != '{':
			direct["structuredContent"] = `{"result":` + s + `}`
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"tool_name":"odd/answer","arguments":%s}}}`, arguments(i))
		req := check.Value(http.NewRequest(http.MethodPost, p.Client.Server+"/mcp", strings.NewReader(body)))(t)
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}}
		resp := check.Value(http.DefaultClient.Do(req))(t)
		answer := check.Value(io.ReadAll(resp.Body))(t)
		check.OK(t, resp.Body.Close())
		same(t, "/mcp", direct, members(string(jsondoc.Member(answer, "result"))))
	}
}

// members are those of a result, without space and with what is so by default.
func members(result string) map[string]string {
	out := map[string]string{"content": "[]", "isError": "false"}
	for name, value := range jsondoc.Members([]byte(result)) {
		out[name] = string(jsondoc.Compact(value))
	}
	return out
}

func same(t *testing.T, by string, direct, through map[string]string) {
	t.Helper()
	for name, want := range direct {
		if got := string(jsondoc.Compact([]byte(through[name]))); got != want {
			t.Errorf("by %s, %s is\n%s, not\n%s", by, name, got, want)
		}
	}
	if len(through) != len(direct) {
		t.Errorf("by %s: %d members, not %d", by, len(through), len(direct))
	}
}

// resultsOf serves a tool that returns the result of its argument, as a message or as an event.
func resultsOf(results []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ N int } }
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m) // a GET has none
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"answer","description":"Answers","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
		case "tools/call":
			result = results[m.Params.Arguments.N]
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		default:
			http.Error(w, "no such method", http.StatusBadRequest)
			return
		}
		message := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
		if m.Params.Arguments.N%2 == 0 {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, message)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(message, "\n", "\ndata: ")+"\n\n")
	})
}

// writtenResult returns the text of a result.
func writtenResult(r *rand.Rand) string {
	var out []string
	member := func(name, value string) { out = append(out, `"`+name+`"`+space(r)+":"+space(r)+value) }
	var blocks []string
	for range r.IntN(4) {
		block := []string{
			`{"type":"text","text":` + writtenText(r) + `}`,
			`{"type":"text","text":` + writtenText(r) + `,"annotations":{"priority":0.50},"_meta":` + writtenObject(r, 2) + `}`,
			`{"type":"hologram","body":` + written(r, 3) + `}`,
			`{"type":"resource","resource":{"uri":"urn:a","text":` + writtenText(r) + `,"new":` + written(r, 2) + `}}`,
		}
		blocks = append(blocks, block[r.IntN(len(block))])
	}
	member("content", "["+strings.Join(blocks, space(r)+",")+"]")
	if r.IntN(2) == 0 {
		member("structuredContent", written(r, 5))
	}
	if r.IntN(3) == 0 {
		member("isError", fmt.Sprint(r.IntN(2) == 0))
	}
	if r.IntN(2) == 0 {
		member("_meta", writtenObject(r, 3))
	}
	if r.IntN(3) == 0 {
		member("of\\u002done/kind", written(r, 2))
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return "{" + strings.Join(out, ",") + "}"
}

// written returns the text of a value of at most so many levels.
func written(r *rand.Rand, levels int) string {
	words := []string{"null", "true", "false", "[]", "{}", "[ ]", "0", "-0", "1.0", "1.50", "1e400", "-1E-400", "9007199254740993", "123456789012345678901234567890", "0.1000000000000000055511151231257827"}
	switch kind := r.IntN(6); {
	case levels == 0 || kind < 2:
		return words[r.IntN(len(words))]
	case kind == 2:
		return writtenText(r)
	case kind == 3:
		var list bytes.Buffer
		for i := range r.IntN(4) {
			if i > 0 {
				list.WriteByte(',')
			}
			list.WriteString(space(r) + written(r, levels-1))
		}
		return "[" + list.String() + "]"
	}
	return writtenObject(r, levels)
}

func writtenObject(r *rand.Rand, levels int) string {
	var out []string
	for i := range r.IntN(4) {
		out = append(out, fmt.Sprintf(`"%d\u00e9/<%d>"%s:%s`, i, i, space(r), written(r, levels-1)))
	}
	return "{" + strings.Join(out, ","+space(r)) + "}"
}

func writtenText(r *rand.Rand) string {
	pieces := []string{"a", "é", "\u2028", "<b>&", `\u00e9`, `\u0041`, `\\u0041`, `\ud83d\ude00`, `\ud83d`, `\"`, `\/`, `\n`, `\u0000`, "😀"}
	var out strings.Builder
	for range r.IntN(6) {
		out.WriteString(pieces[r.IntN(len(pieces))])
	}
	return `"` + out.String() + `"`
}

func space(r *rand.Rand) string { return []string{"", "", " ", "\n\t"}[r.IntN(4)] }
