package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/internal/llm"
)

// Schemas says how the endpoint is told the shape of an answer.
type Schemas string

// The ways, best first after SchemaAuto.
const (
	SchemaAuto   Schemas = "auto"   // the best way that the endpoint takes
	SchemaStrict Schemas = "strict" // it holds the model to the schema
	SchemaObject Schemas = "object" // it holds the model to JSON
	SchemaPrompt Schemas = "prompt" // it holds the model to nothing
)

// chatForm is a way to phrase a request.
type chatForm struct {
	schema Schemas
	// reasoning models take max_completion_tokens in place of max_tokens, and no
	// temperature. max_tokens comes first: a server that does not know it says so,
	// while some ignore max_completion_tokens.
	reasoning bool
}

// chatForms lists the forms that are tried, best first.
func chatForms(s Schemas) (forms []chatForm, err error) {
	var schemas []Schemas
	switch s {
	case SchemaAuto, "":
		schemas = []Schemas{SchemaStrict, SchemaObject, SchemaPrompt}
	case SchemaStrict, SchemaObject, SchemaPrompt:
		schemas = []Schemas{s}
	default:
		return nil, fmt.Errorf("openai: schema %q is not auto, strict, object or prompt", s)
	}
	for _, s := range schemas {
		forms = append(forms, chatForm{s, false}, chatForm{s, true})
	}
	return forms, nil
}

// schemaInPrompt tells the model the shape of the answer, because some endpoints take a
// schema and ignore it.
const schemaInPrompt = "\n\nAnswer with one JSON object and nothing else: no explanation, no code fence. It has to fit this JSON Schema:\n"

type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	Format              *chatFormat   `json:"response_format,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatFormat struct {
	Type   string      `json:"type"`
	Schema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

func (f chatForm) request(model string, r llm.Request) chatRequest {
	req := chatRequest{Model: model, Messages: []chatMessage{
		{"system", r.System + schemaInPrompt + string(r.Schema.JSON)}, {"user", r.User},
	}}
	switch f.schema {
	case SchemaStrict:
		req.Format = &chatFormat{Type: "json_schema", Schema: &jsonSchema{Name: r.Schema.Name, Strict: true, Schema: r.Schema.JSON}}
	case SchemaObject:
		req.Format = &chatFormat{Type: "json_object"}
	}
	if f.reasoning {
		req.MaxCompletionTokens = r.MaxTokens
	} else {
		req.MaxTokens, req.Temperature = r.MaxTokens, new(float64)
	}
	return req
}

// probeQuestion is a request that no endpoint has a reason to refuse.
var probeQuestion = llm.Request{
	System: "Answer with the word that you are given.", User: "yes", MaxTokens: 32,
	Schema: llm.Schema{Name: "answer", JSON: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["word"],"properties":{"word":{"type":"string"}}}`)},
}

// negotiate finds the first form in which the endpoint answers a probe. If that is the
// form that was used, the request was at fault. Some endpoints refuse all requests
// alike when nothing is paid for or a key is wrong: that is an error.
func (c *Chat) negotiate(ctx context.Context, used int32) (spent llm.Usage, err error) {
	for n, f := range c.forms {
		if c.form.Load() != used {
			return spent, nil // another call has found it
		}
		var answer llm.Answer
		answer, err = c.once(ctx, probeQuestion, f, true)
		spent = sum(spent, answer.Usage)
		if p, failed := asProblem(err); !failed {
			c.form.Store(int32(n))
			return spent, nil
		} else if p.kind != refused && p.kind != serverError {
			return spent, err
		}
	}
	if isKind(err, refused) {
		err = misconfiguredf("even a harmless question is refused: %w", errors.Unwrap(err))
	}
	return spent, err
}
