// Package answer is what a language model says of one document, and how that
// is put beside what the rules know.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Answer is what a model says of one tool. An empty text stands for what the
// source does not tell.
type Answer struct {
	Description string      `json:"description"`
	Parameters  []Parameter `json:"parameters"`
	Response    string      `json:"response"`
	Examples    []string    `json:"examples"`
}

// Parameter is what a model says of one parameter. Type and Required are only
// asked for where the source does not state them.
type Parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    *bool  `json:"required,omitempty"`
	Description string `json:"description"`
	Example     string `json:"example"` // a value, as JSON text or, if it is a string, bare
}

// shape is the schema of the answer, in the subset that strict structured output takes,
// but for the members of a parameter.
const shape = `{"type":"object","additionalProperties":false,"required":["description","parameters","response","examples"],"properties":{` +
	`"description":{"type":"string"},` +
	`"parameters":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["name",%s"description","example"],"properties":{` +
	`"name":{"type":"string"},%s"description":{"type":"string"},"example":{"type":"string"}}}},` +
	`"response":{"type":"string"},` +
	`"examples":{"type":"array","items":{"type":"string"}}}}`

// Schema returns the JSON Schema of the answer: with type and required of each
// parameter where the model is to say them.
func Schema(typed bool) json.RawMessage {
	if typed {
		return json.RawMessage(fmt.Sprintf(shape, `"type","required",`, `"type":{"type":"string"},"required":{"type":"boolean"},`))
	}
	return json.RawMessage(fmt.Sprintf(shape, "", ""))
}

// errShape is in every error of Decode.
var errShape = errors.New("the answer does not have the shape that was asked for")

// Decode reads an answer and refuses what does not fit Schema(typed): unknown
// and absent members, wrong types, anything after it, repeated keys.
func Decode(raw json.RawMessage, typed bool) (*Answer, error) {
	if _, err := jsondoc.Decode(raw, jsondoc.Limits{}); err != nil {
		return nil, fmt.Errorf("%w: %w", errShape, err)
	}
	var wire struct {
		Description *string          `json:"description"`
		Parameters  *[]wireParameter `json:"parameters"`
		Response    *string          `json:"response"`
		Examples    *[]*string       `json:"examples"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&wire); err != nil {
		return nil, fmt.Errorf("%w: %w", errShape, err)
	}
	if wire.Description == nil || wire.Parameters == nil || wire.Response == nil || wire.Examples == nil {
		return nil, fmt.Errorf("%w: description, parameters, response and examples are needed", errShape)
	}
	a := &Answer{Description: *wire.Description, Response: *wire.Response}
	for _, e := range *wire.Examples {
		if e == nil {
			return nil, fmt.Errorf("%w: an example is null", errShape)
		}
		a.Examples = append(a.Examples, *e)
	}
	for _, p := range *wire.Parameters {
		read, err := p.parameter(typed)
		if err != nil {
			return nil, err
		}
		a.Parameters = append(a.Parameters, read)
	}
	return a, nil
}

type wireParameter struct {
	Name        *string `json:"name"`
	Type        *string `json:"type"`
	Required    *bool   `json:"required"`
	Description *string `json:"description"`
	Example     *string `json:"example"`
}

func (p *wireParameter) parameter(typed bool) (Parameter, error) {
	if p.Name == nil || p.Description == nil || p.Example == nil {
		return Parameter{}, fmt.Errorf("%w: a parameter needs name, description and example", errShape)
	}
	out := Parameter{Name: *p.Name, Description: *p.Description, Example: *p.Example}
	if given := p.Type != nil && p.Required != nil; given != typed || (p.Type != nil) != (p.Required != nil) {
		return Parameter{}, fmt.Errorf("%w: type and required of a parameter are asked for: %t", errShape, typed)
	}
	if typed {
		out.Type, out.Required = *p.Type, p.Required
	}
	return out, nil
}
