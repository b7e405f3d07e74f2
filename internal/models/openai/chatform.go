package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/llm"
)

// Schemas says how the endpoint is told the shape of an answer.
type Schemas string

// The ways, best first after SchemaAuto.
const (
	SchemaAuto    Schemas = "auto"    // the best way that the endpoint takes
	SchemaStrict  Schemas = "strict"  // json_schema: it holds the model to the schema
	SchemaGrammar Schemas = "grammar" // json_object with the schema, of which llama.cpp makes a grammar: so does this
	SchemaObject  Schemas = "object"  // json_object: it holds the model to JSON
	SchemaPrompt  Schemas = "prompt"  // it holds the model to nothing
)

// chatForm is a way to phrase a request.
type chatForm struct {
	schema Schemas
	// reasoning models take max_completion_tokens in place of max_tokens, and no
	// temperature. max_tokens comes first: a server that does not know it says so,
	// while some ignore max_completion_tokens.
	reasoning bool
}

// String names the form in the log.
func (f chatForm) String() string {
	if f.reasoning {
		return string(f.schema) + ", with max_completion_tokens"
	}
	return string(f.schema)
}

// chatForms lists the forms that are tried, best first; the last but one is the plainest.
func chatForms(s Schemas) (forms []chatForm, err error) {
	schemas := []Schemas{SchemaStrict, SchemaGrammar, SchemaObject, SchemaPrompt}
	if s != SchemaAuto && s != "" {
		if !slices.Contains(schemas, s) {
			return nil, fmt.Errorf("openai: schema %q is not auto, strict, grammar, object or prompt", s)
		}
		schemas = []Schemas{s}
	}
	for _, s := range schemas {
		forms = append(forms, chatForm{s, false}, chatForm{s, true})
	}
	return forms, nil
}

// schemaInPrompt tells the model the shape of the answer, because some endpoints take a
// schema and ignore it. It ends the message of the user: instructions that begin every
// request alike are read once by servers that keep what they have read.
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
	Schema json.RawMessage `json:"schema,omitempty"` // beside json_object
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

// probeQuestion is a request that no endpoint has a reason to refuse but for its form. Its
// schema has every keyword that is used in a schema.
var probeQuestion = llm.Request{
	System: "Answer with the words that you are given.", User: "yes", MaxTokens: 32,
	Schema: llm.Schema{Name: "answer", JSON: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["words"],"properties":{"words":{"type":"array","minItems":1,"maxItems":5,"items":{"type":"string","enum":["yes","no"]}}}}`)},
}

// negotiation is how the last search for a form ended.
type negotiation struct{ err error }

// negotiate finds the best form in which the endpoint answers a probe. If that is the
// form that was used, the request was at fault. Calls that are refused together negotiate
// once.
func (c *Chat) negotiate(ctx context.Context, used int32) (spent llm.Usage, err error) {
	before := c.negotiated.Load()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return spent, ctx.Err()
	}
	if c.form.Load() != used {
		return spent, nil
	}
	if now := c.negotiated.Load(); now != before {
		return spent, now.err
	}
	if spent, err = c.findForm(ctx, used); ctx.Err() == nil {
		c.negotiated.Store(&negotiation{err})
	}
	return spent, err
}

// findForm probes the form that was used, and if that is refused all forms. An endpoint
// that is down fails in the plainest form, too. One that refuses every form alike wants
// to be paid or has got a wrong key: that is an error of the setup.
func (c *Chat) findForm(ctx context.Context, used int32) (spent llm.Usage, err error) {
	probe := func(n int32) error {
		answer, err := c.once(ctx, probeQuestion, c.forms[n], true)
		spent = sum(spent, answer.Usage)
		if _, failed := asProblem(err); failed {
			return err
		}
		return nil // an answer that makes no sense is one, too
	}
	if err = probe(used); !mayBeForm(err) {
		return spent, err
	}
	why, plainest := err, int32(len(c.forms)-2)
	if isKind(why, serverError) {
		if used != plainest {
			err = probe(plainest)
		}
		if err != nil && !isKind(err, refused) {
			return spent, err
		}
	}
	for n := range int32(len(c.forms)) {
		if n == used && isKind(why, refused) {
			continue
		}
		if err = probe(n); err == nil {
			c.use(ctx, n, used, why)
		}
		if !mayBeForm(err) {
			return spent, err
		}
	}
	if isKind(err, refused) {
		err = misconfiguredf("even a harmless question is refused: %w", errors.Unwrap(err))
	}
	return spent, err
}

// mayBeForm reports whether an error may be about the form of the request.
func mayBeForm(err error) bool { return isKind(err, refused) || isKind(err, serverError) }

func (c *Chat) use(ctx context.Context, n, used int32, why error) {
	if n == used {
		return
	}
	c.form.Store(n)
	c.cfg.Logger.InfoContext(ctx, "the language model is asked in another form",
		"llm.schema", c.forms[n].String(), "not", c.forms[used].String(), "because of", why)
}
