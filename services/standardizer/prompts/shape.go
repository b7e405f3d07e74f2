package prompts

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// MaxExamples is how many examples an answer may have; it must have one.
const MaxExamples = 5

// Shape is the request to a model about one document: the fields that the document leaves
// open.
type Shape struct {
	Description bool
	Response    bool
	Examples    bool
	Parameters  []string // names of the parameters to describe
	Find        bool     // name the parameters, too: the document does not list them
	Types       bool     // add the type and the required flag of each parameter
}

// Empty reports whether nothing is requested.
func (s Shape) Empty() bool {
	return !s.Description && !s.Response && !s.Examples && len(s.Parameters) == 0 && !s.Find
}

// Schema returns the JSON Schema of the answer, in the subset that strict structured output
// accepts. It allows only the names of known parameters.
func (s Shape) Schema() json.RawMessage {
	const text = `{"type":"string"}`
	var answer, parameter members
	if s.Find {
		parameter.add("name", text)
	}
	if s.Types {
		parameter.add("type", text)
		parameter.add("required", `{"type":"boolean"}`)
	}
	parameter.add("description", text)
	parameter.add("example", text)

	if s.Description {
		answer.add("description", text)
	}
	switch {
	case s.Find:
		answer.add("parameters", `{"type":"array","items":`+parameter.schema()+`}`)
	case len(s.Parameters) > 0:
		var known members
		for _, name := range s.Parameters {
			known.add(name, parameter.schema())
		}
		answer.add("parameters", known.schema())
	}
	if s.Response {
		answer.add("response", text)
	}
	if s.Examples {
		answer.add("examples", `{"type":"array","minItems":1,"maxItems":5,"items":`+text+`}`)
	}
	return json.RawMessage(answer.schema())
}

// members are the members of an object, all required.
type members struct{ names, properties []string }

func (m *members) add(name, schema string) {
	quoted := string(jsondoc.AppendString(nil, name))
	m.names = append(m.names, quoted)
	m.properties = append(m.properties, quoted+":"+schema)
}

func (m *members) schema() string {
	return `{"type":"object","additionalProperties":false,"required":[` + strings.Join(m.names, ",") +
		`],"properties":{` + strings.Join(m.properties, ",") + `}}`
}

// Again returns the parts of the shape that are worth asking a second time: parts that were
// refused and that the answer taken does not have.
func (s Shape) Again(refused []string, taken *Answer) Shape {
	was := func(field string) bool {
		return slices.ContainsFunc(refused, func(where string) bool {
			return where == field || strings.HasPrefix(where, field+"/")
		})
	}
	described := func(name string) bool {
		return slices.ContainsFunc(taken.Parameters, func(p Parameter) bool { return p.Name == name && p.Description != "" })
	}
	return Shape{
		Description: s.Description && taken.Description == "" && was("description"),
		Response:    s.Response && taken.Response == "" && was("response"),
		Examples:    s.Examples && len(taken.Examples) == 0 && was("examples"),
		Parameters: slices.DeleteFunc(slices.Clone(s.Parameters), func(name string) bool {
			return described(name) || !was("parameters/"+name)
		}),
		Find:  s.Find && len(taken.Parameters) == 0 && was("parameters"),
		Types: s.Types,
	}
}
