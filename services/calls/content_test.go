package calls

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// However many blocks a server sends, and whatever it calls them, no more than the limit goes
// on, and a few words on what does not.
func TestNoAnswerOfAServerIsLargerThanTheLimit(t *testing.T) {
	const most = 1000
	small := json.RawMessage(`{"type":"text","text":""}`)
	long := strings.Repeat("x", 100_000)
	for name, blocks := range map[string][]json.RawMessage{
		"many":           slices.Repeat([]json.RawMessage{small}, 10_000),
		"a long text":    append(slices.Repeat([]json.RawMessage{json.RawMessage(`{"type":"text","text":"` + long + `"}`)}, 100), small),
		"a strange type": slices.Repeat([]json.RawMessage{json.RawMessage(`{"type":"image","data":"","mimeType":"` + long + `"}`)}, 100),
	} {
		r, err := resultOf(source.Answer{Content: blocks}, most)
		n := 0
		for _, block := range r.Content {
			n += len(block)
		}
		if err != nil || n > most+600 || !r.Truncated || !strings.Contains(string(r.Content[len(r.Content)-1]), "more blocks are left out") {
			t.Errorf("%s: %d bytes in %d blocks, truncated %v, %v", name, n, len(r.Content), r.Truncated, err)
		}
	}
	two := []json.RawMessage{small, small}
	if r, err := resultOf(source.Answer{Content: two}, most); err != nil || r.Truncated || len(r.Content) != 2 {
		t.Errorf("two small blocks: %+v, %v", r, err)
	}
	for name, a := range map[string]source.Answer{
		"a large question": {NeedsInput: true, InputRequests: json.RawMessage(`"` + long + `"`)},
		"a large state":    {NeedsInput: true, InputRequests: json.RawMessage(`{}`), RequestState: strings.Repeat("s", maxState+1)},
	} {
		if r, err := resultOf(a, most); err == nil {
			t.Errorf("%s went on: %d bytes", name, len(r.InputRequests)+len(r.RequestState))
		}
	}
}

// No client has to read what is nested without end.
func TestNoAnswerIsNestedTooDeep(t *testing.T) {
	nested := func(depth int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, depth-1) + `["]}\"[[{{"]` + strings.Repeat("}", depth-1))
	}
	for depth, deep := range map[int]bool{1: false, maxDepth: false, maxDepth + 1: true, 9_000: true} {
		body := nested(depth)
		if !json.Valid(body) || tooDeep(body) != deep {
			t.Errorf("%d deep: too deep %v", depth, !deep)
		}
		if _, err := resultOf(source.Answer{Structured: body}, 1<<20); (err != nil) != deep {
			t.Errorf("%d deep, of a server: %v", depth, err)
		}
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
		if r := resultOfHTTP(resp, body, 1<<20); (r.Structured == nil) != deep || len(r.Content) != 1 {
			t.Errorf("%d deep, of an API: structured %.20s", depth, r.Structured)
		}
	}
}

// A link that runs a script, or a media type that is more than one line, goes on to no client.
func TestNoAnswerCarriesAScriptOrALineEnd(t *testing.T) {
	for block, want := range map[string]bool{
		`{"type":"resource_link","name":"a","uri":"javascript:alert(1)"}`:                                   false,
		`{"type":"resource_link","name":"a","uri":" java\nScript:alert(1)"}`:                                false,
		`{"type":"resource_link","name":"a","uri":"data:text/html,x"}`:                                      false,
		`{"type":"resource\u005flink","name":"a","u\u0072i":"javascript:alert(1)"}`:                         false,
		`{"type":"resource_link","name":"a","uri":"javascript:alert(1)","URI":"note://1"}`:                  false,
		`{"type":"image","data":"","mimeType":"image/png\r\nX: y"}`:                                         false,
		`{"type":"resource","resource":{"uri":"urn:x","mimeType":"text/plain\r\nX: y","text":"a"}}`:         false,
		`{"type":"resource_link","name":"a","uri":"https://a.example/javascript:","mimeType":"text/plain"}`: true,
		`{"type":"resource_link","name":"a","uri":"note://1"}`:                                              true,
		`{"type":"text","text":"javascript:alert(1) of the mimeType"}`:                                      true,
	} {
		if _, err := resultOf(source.Answer{Content: []json.RawMessage{json.RawMessage(block)}}, 1<<20); (err == nil) != want {
			t.Errorf("%s: %v", block, err)
		}
	}
}
