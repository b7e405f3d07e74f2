package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONIsFoundAmidWords(t *testing.T) {
	for content, want := range map[string]string{
		`{"a":1}`:                                 `{"a":1}`,
		"```json\n{\"a\":1}\n```":                 `{"a":1}`,
		"Here {it} is: {\"a\":{\"b\":2}} Enjoy.":  `{"a":{"b":2}}`,
		"<think>{\"draft\":1}</think>\n{\"a\":1}": `{"a":1}`,
		"so {\"draft\":1} then</think>{\"a\":1}":  `{"a":1}`,
		`{"a":"</think>"}`:                        `{"a":"</think>"}`,
		"{\"a\":\n\"b\n\tc\\n\"}":                 `{"a": "b  c\n"}`,
		`{"a":1`:                                  "",
		`[1]`:                                     "",
		"":                                        "",
		strings.Repeat("{", 1<<16):                "",
		strings.Repeat(`{"a":`, 1<<15) + `1`:      "",
		"```\n{\"a\":1}\n```\nor\n```{\"b\":2}```": `{"a":1}`,
	} {
		got, err := jsonOf(content)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: %s, %v", content, got, err)
		}
	}
}

// FuzzChatAnswer holds that no body makes reading panic, and that what is let
// through is an object.
func FuzzChatAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"{\"word\":\"yes\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}`))
	f.Add([]byte(`{"choices":[{"message":{"content":null,"refusal":"no"}}],"usage":{"prompt_tokens":-1e9}}`))
	f.Add([]byte(`{"choices":null,"error":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := read(body, question("q"))
		if min(a.Usage.Prompt, a.Usage.Completion) < 0 {
			t.Errorf("usage %+v", a.Usage)
		}
		var object map[string]any
		if err == nil && json.Unmarshal(a.JSON, &object) != nil {
			t.Errorf("let through %s", a.JSON)
		}
	})
}
