package prompts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Answer is a model's answer about one tool. A text is empty if the source does not tell.
type Answer struct {
	Description string
	Parameters  []Parameter
	Response    string
	Examples    []string
}

// Parameter is a model's answer about one parameter. Type and Required are requested only if
// the source does not state them.
type Parameter struct {
	Name        string
	Type        string
	Required    *bool
	Description string
	Example     string // a value, as JSON text or, if it is a string, bare
}

// Problem is a part of an answer that does not have its shape.
type Problem struct {
	Where string // "parameters/city"
	What  string
}

// errShape is in every error of Decode.
var errShape = errors.New("the answer is not one JSON object")

// Decode reads an answer part by part. A part that does not fit the shape is dropped and
// reported as a problem; an absent part is empty. The error means that the answer is not a
// JSON object.
func (s Shape) Decode(raw []byte) (*Answer, []Problem, error) {
	if _, err := jsondoc.Decode(raw, jsondoc.Limits{}); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errShape, err)
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || parts == nil {
		return nil, nil, errShape
	}
	var d decoder
	a := &Answer{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		part := parts[name]
		switch name {
		case "description":
			read(&d, name, part, &a.Description)
		case "response":
			read(&d, name, part, &a.Response)
		case "examples":
			read(&d, name, part, &a.Examples)
		case "parameters":
			a.Parameters = s.parameters(&d, part)
		default:
			d.problem(name, "not requested")
		}
	}
	return a, d.problems, nil
}

type decoder struct{ problems []Problem }

func (d *decoder) problem(where, what string) {
	d.problems = append(d.problems, Problem{where, what})
}

// read decodes a part into to if it has the same type.
func read[T any](d *decoder, where string, raw json.RawMessage, to *T) {
	var v *T
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		d.problem(where, "not of the requested type")
		return
	}
	*to = *v
}

func (s Shape) parameters(d *decoder, raw json.RawMessage) (out []Parameter) {
	if s.Find {
		var all []json.RawMessage
		read(d, "parameters", raw, &all)
		for i, one := range all {
			var named struct{ Name string }
			if json.Unmarshal(one, &named) != nil || named.Name == "" {
				d.problem(fmt.Sprintf("parameters/%d", i), "without a name")
				continue
			}
			out = append(out, s.parameter(d, named.Name, one))
		}
		return out
	}
	var all map[string]json.RawMessage
	read(d, "parameters", raw, &all)
	names := slices.DeleteFunc(slices.Clone(s.Parameters), func(n string) bool { return all[n] == nil })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(s.Parameters, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		out = append(out, s.parameter(d, name, all[name]))
	}
	return out
}

func (s Shape) parameter(d *decoder, name string, raw json.RawMessage) Parameter {
	var said struct {
		Type        string
		Required    *bool
		Description string
		Example     json.RawMessage
	}
	p := Parameter{Name: name}
	read(d, "parameters/"+name, raw, &said)
	p.Description = said.Description
	if json.Unmarshal(said.Example, &p.Example) != nil {
		p.Example = string(said.Example) // any other value is JSON text already
	}
	if s.Types {
		p.Type, p.Required = said.Type, said.Required
	}
	return p
}

// Empty reports whether an answer says nothing.
func (a *Answer) Empty() bool {
	return a.Description == "" && a.Response == "" && len(a.Examples) == 0 && len(a.Parameters) == 0
}

// Complete fills the empty parts of an answer from another answer.
func (a *Answer) Complete(other *Answer) {
	a.Description = cmp.Or(a.Description, other.Description)
	a.Response = cmp.Or(a.Response, other.Response)
	if len(a.Examples) == 0 {
		a.Examples = other.Examples
	}
	for _, p := range other.Parameters {
		i := slices.IndexFunc(a.Parameters, func(q Parameter) bool { return q.Name == p.Name })
		if i < 0 {
			a.Parameters = append(a.Parameters, p)
			continue
		}
		have := &a.Parameters[i]
		have.Type, have.Required = cmp.Or(have.Type, p.Type), cmp.Or(have.Required, p.Required)
		have.Description, have.Example = cmp.Or(have.Description, p.Description), cmp.Or(have.Example, p.Example)
	}
}

// JSON writes an answer in the shape, as a model does.
func (s Shape) JSON(a *Answer) (json.RawMessage, error) {
	type described struct {
		Description string `json:"description"`
		Example     string `json:"example"`
	}
	type typed struct {
		Type     string `json:"type"`
		Required bool   `json:"required"`
		described
	}
	type named struct {
		Name string `json:"name"`
		typed
	}
	var list []any
	byName := map[string]any{}
	for _, p := range a.Parameters {
		d := described{p.Description, p.Example}
		t := typed{p.Type, p.Required == nil || *p.Required, d}
		list = append(list, named{p.Name, t})
		if byName[p.Name] = d; s.Types {
			byName[p.Name] = t
		}
	}
	out := map[string]any{}
	if s.Description {
		out["description"] = a.Description
	}
	if s.Response {
		out["response"] = a.Response
	}
	if s.Examples {
		out["examples"] = append([]string{}, a.Examples...)
	}
	switch {
	case s.Find:
		out["parameters"] = append([]any{}, list...)
	case len(s.Parameters) > 0:
		out["parameters"] = byName
	}
	return jsondoc.Plain(out)
}
