package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
)

// maxModel bounds the name that an endpoint gives its model, in bytes.
const maxModel = 128

// completion is the body of an answer, as far as it is read.
type completion struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     float64 `json:"prompt_tokens"`
		CompletionTokens float64 `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"` // some proxies send it with status 200
}

// read returns the answer of a completion. Its usage is set even if the answer is
// unusable.
func read(raw []byte, r llm.Request) (llm.Answer, error) {
	var c completion
	if err := jsondoc.Unmarshal(raw, jsondoc.Limits{Bytes: len(raw)}, &c); err != nil {
		return llm.Answer{}, transientf("the answer is not a completion: %w", err)
	}
	if len(c.Choices) == 0 && len(c.Error) > 0 && string(c.Error) != "null" {
		return llm.Answer{}, transientf("the answer is an error: %s", cmp.Or(codeOf(raw), "without a code"))
	}
	a := llm.Answer{Model: text.Truncate(c.Model, maxModel), Usage: usage(c, r)}
	content, err := contentOf(c)
	if err == nil {
		a.JSON, err = jsonOf(content)
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Text == "" {
		e.Text = text.Truncate(content, llm.MaxKept)
	}
	return a, err
}

// bytesPerToken estimates the usage if an endpoint does not count it.
const bytesPerToken = 4

// maxTokens bounds the usage that an endpoint may claim for one answer.
const maxTokens = 1e9

func usage(c completion, r llm.Request) llm.Usage {
	u := llm.Usage{
		Prompt:     int(min(max(0, c.Usage.PromptTokens), maxTokens)),
		Completion: int(min(max(0, c.Usage.CompletionTokens), maxTokens)),
	}
	if u != (llm.Usage{}) {
		return u
	}
	u.Prompt = (len(r.System) + len(r.User)) / bytesPerToken
	if len(c.Choices) > 0 {
		u.Completion = len(c.Choices[0].Message.Content) / bytesPerToken
	}
	return u
}

// contentOf returns the words of the model, with an error if they are not to be used.
func contentOf(c completion) (string, error) {
	if len(c.Choices) == 0 {
		return "", malformed(errors.New("the answer has no choice"))
	}
	choice := c.Choices[0]
	content := choice.Message.Content
	switch {
	case choice.Message.Refusal != "":
		return choice.Message.Refusal, &llm.Error{Kind: llm.Refused, Err: errors.New("the model declines")}
	case choice.FinishReason == "content_filter":
		return content, &llm.Error{Kind: llm.Refused, Err: errors.New("the endpoint's filter holds the answer back")}
	case choice.FinishReason == "length":
		return content, malformed(errors.New("the answer is cut off by the limit of tokens"))
	case strings.TrimSpace(content) == "":
		return "", malformed(errors.New("the answer is empty"))
	}
	return content, nil
}

func malformed(err error) error { return &llm.Error{Kind: llm.Malformed, Err: err} }

// maxStarts bounds the braces that may begin the object.
const maxStarts = 64

// jsonOf returns the JSON object in the words of a model, which may reason first, add
// prose or use a code fence. Line breaks within strings, which the grammars of some
// servers allow, become spaces.
func jsonOf(content string) (json.RawMessage, error) {
	rest := bytes.Map(func(r rune) rune { return max(r, ' ') }, []byte(afterReasoning(content)))
	for range maxStarts {
		at := bytes.IndexByte(rest, '{')
		if at < 0 {
			break
		}
		rest = rest[at:]
		var object json.RawMessage
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&object) == nil {
			return object, nil
		}
		rest = rest[1:]
	}
	return nil, malformed(errors.New("the answer holds no JSON object"))
}

// afterReasoning drops the reasoning before an answer. Its opening tag is often part
// of the prompt's template and not of the answer.
func afterReasoning(content string) string {
	if strings.HasPrefix(strings.TrimSpace(content), "{") {
		return content
	}
	for _, end := range []string{"</think>", "</thinking>", "</reasoning>"} {
		if at := strings.LastIndex(content, end); at >= 0 {
			content = content[at+len(end):]
		}
	}
	return content
}
