package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/text"
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

// read takes the answer out of a completion. What it cost is known even where
// it cannot be used.
func read(raw []byte, r llm.Request) (llm.Answer, error) {
	var c completion
	if err := json.Unmarshal(raw, &c); err != nil {
		return llm.Answer{}, transientf("the answer is no completion: %w", err)
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

// bytesPerToken estimates what an endpoint does not count.
const bytesPerToken = 4

// maxTokens bounds what an endpoint may claim that one answer cost.
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

// contentOf returns what the model said, beside the error where it is not to be
// used.
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

// maxStarts bounds the places at which an object is looked for.
const maxStarts = 64

// jsonOf returns the object in what a model said: all of it, or what stands
// after its reasoning, in a code fence or amid prose. A line break amid a text, which some
// grammars of servers let pass, is a space.
func jsonOf(content string) (json.RawMessage, error) {
	rest := bytes.Map(withoutControl, []byte(afterReasoning(content)))
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

func withoutControl(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

// afterReasoning drops what a model thinks aloud before it answers. The tag
// that begins it is often part of the prompt's template and not of the answer.
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
