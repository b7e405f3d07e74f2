package openai

import (
	"net/http"
	"strings"
	"testing"
)

func TestTextsAreNotRepeated(t *testing.T) {
	const body = `{"model":"bge-small-en-v1.5","encoding_format":"base64","messages":[{"role":"user","content":"Find a Quokka\nby the \"northern\" shore, please"}],"input":["otter","","a"]}`
	for said, want := range map[string]string{
		"":                                     "",
		"model bge-small-en-v1.5 is not there": "model bge-small-en-v1.5 is not there",
		"This model's maximum context length is 512 tokens":               "This model's maximum context length is 512 tokens",
		"no such input: find a quokka":                                    "no such input: (…)",
		`can not take {"content":"Find a Quokka\nby the \"northern\" sho`: `can not take {"content":"(…)`,
		"'otter' is too short":                                            "'(…)' is too short",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := unechoed(said, req); got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}

func TestWhatCanNotBeComparedIsNotRepeated(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h", strings.NewReader("no JSON"))
	if err != nil {
		t.Fatal(err)
	}
	if got := unechoed("anything", req); got != "" {
		t.Errorf("%q", got)
	}
}
