package openai

import (
	"encoding/json"
	"fmt"

	"github.com/toolstream/toolstream/internal/models/llm"
)

// Schemas says how the endpoint is told the shape of an answer.
type Schemas string

// The ways.
const (
	SchemaAuto    Schemas = "auto"    // strict, and object if the endpoint refuses that
	SchemaStrict  Schemas = "strict"  // json_schema: it holds the model to the schema
	SchemaGrammar Schemas = "grammar" // json_object with the schema: llama.cpp makes a grammar of it
	SchemaObject  Schemas = "object"  // json_object: it holds the model to JSON
	SchemaPrompt  Schemas = "prompt"  // it holds the model to nothing
)

// chatForm is a way to phrase a request.
type chatForm struct {
	schema Schemas
	// Reasoning models take max_completion_tokens in place of max_tokens, and no
	// temperature. max_tokens comes first: a server that does not know it says so,
	// while some ignore max_completion_tokens.
	reasoning bool
}

// chatForms returns the forms of a setting, in the order of trial.
func chatForms(s Schemas) ([]chatForm, error) {
	switch s {
	case SchemaAuto, "":
		return []chatForm{{SchemaStrict, false}, {SchemaStrict, true}, {SchemaObject, false}}, nil
	case SchemaStrict, SchemaGrammar, SchemaObject, SchemaPrompt:
		return []chatForm{{s, false}, {s, true}}, nil
	}
	return nil, fmt.Errorf("openai: schema %q is not auto, strict, grammar, object or prompt", s)
}

// schemaInPrompt tells the model the shape of the answer, because some endpoints take a
// schema and ignore it. It ends the message of the user, because servers cache a prefix
// that all requests share: the instructions.
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
	Type   string          `json:"type"`
	Strict *jsonSchema     `json:"json_schema,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"` // with json_object
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

func (f chatForm) request(model string, r llm.Request) chatRequest {
	req := chatRequest{Model: model, Messages: []chatMessage{
		{"system", r.System}, {"user", r.User + schemaInPrompt + string(r.Schema.JSON)},
	}}
	switch f.schema {
	case SchemaStrict:
		req.Format = &chatFormat{Type: "json_schema", Strict: &jsonSchema{Name: r.Schema.Name, Strict: true, Schema: r.Schema.JSON}}
	case SchemaGrammar:
		req.Format = &chatFormat{Type: "json_object", Schema: r.Schema.JSON}
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

// probeQuestion is a request that no endpoint has a reason to refuse except for its form. Its
// schema has every keyword that is used in a schema.
var probeQuestion = llm.Request{
	System: "Answer with the words that you are given.", User: "yes", MaxTokens: 32,
	Schema: llm.Schema{Name: "answer", JSON: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["words"],"properties":{"words":{"type":"array","minItems":1,"maxItems":5,"items":{"type":"string","enum":["yes","no"]}}}}`)},
}
