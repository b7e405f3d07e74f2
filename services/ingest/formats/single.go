package formats

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// single takes an object that is one tool or agent.
func (s *session) single(n node, h head, format string, several bool) {
	m := n.object()
	name, p := s.named(n, h, format)
	if p == nil {
		p = s.check(format, m)
	}
	if p != nil {
		p.Path = n.path + p.Path
		if p.ID == "" {
			p.ID = h.id
		}
		s.problem(p)
		return
	}
	it := Item{Name: name, Kind: s.kind(h), Format: format, Path: n.path}
	if format == Agent {
		it.Kind = schema.KindAgent
	}
	it.Raw, it.Hash = n.raw(), jsondoc.Hash(n.value)
	if !s.identified(h) {
		it.ID, p = ownID(format, m, name)
	}
	if p != nil {
		p.Path = n.path + p.Path
		s.problem(p)
		return
	}
	o := origin{head: h, local: name, several: several}
	if !h.wrapped {
		o.own = ownerOf(format, m)
	}
	if format == OpenAPI {
		o.local = endpoint(m)
	}
	s.finish(it, o)
}

// named returns the tool's name, which only an explicit id can replace.
func (s *session) named(n node, h head, format string) (string, *Problem) {
	m := n.object()
	name, path := nameOf(format, m)
	if name == "" {
		if s.identified(h) || str(m, "id") != "" {
			return "", nil
		}
		if v, there := m[strings.TrimPrefix(path, "/")]; there && v != nil && v != "" {
			return "", &Problem{Path: path, Reason: WrongType, Detail: "a name is a string"}
		}
		return "", &Problem{Path: path, Reason: Required, Detail: "a tool needs a name or an id"}
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", &Problem{ID: h.id, Path: path, Reason: InvalidName, Detail: "control characters are not allowed"}
	}
	if len(name) > maxName {
		return "", &Problem{ID: h.id, Path: path, Reason: InvalidName, Detail: fmt.Sprintf("%d bytes, at most %d", len(name), maxName)}
	}
	return name, nil
}

// ownID returns the id that the document itself gives, "" if its name and
// agent are to make one: where a format has names of its own they identify,
// elsewhere a member id does.
func ownID(format string, m map[string]any, name string) (string, *Problem) {
	if name != "" && format != JSON && format != Agent {
		return "", nil
	}
	own := str(m, "id")
	if own == "" {
		return "", nil
	}
	id, err := normalID(own)
	if err != nil {
		return "", &Problem{ID: cut(own, schema.MaxID), Path: "/id", Reason: InvalidID, Detail: err.Error()}
	}
	return id, nil
}

// check refuses what the format can not mean, in the parts that say how to
// call the tool. Descriptions may be anything: they are read as text.
func (s *session) check(format string, m map[string]any) *Problem {
	parameters, path := inputOf(format, m)
	switch v := parameters.(type) {
	case nil, []any, map[string]any, bool:
	default:
		if format == MCP || format == Function {
			return &Problem{Path: path, Reason: WrongType, Detail: fmt.Sprintf("a JSON Schema is an object, have %s", schema.Quote(v))}
		}
	}
	if format == MCP || format == Function {
		if p := checkSchema(parameters, path, false); p != nil {
			return p
		}
	}
	if n := countParameters(format, m, parameters); n > s.opt.Limits.Parameters {
		return &Problem{Path: path, Reason: TooManyParameters, Detail: fmt.Sprintf("%d, at most %d", n, s.opt.Limits.Parameters)}
	}
	return nil
}

// inputOf returns the part of a document that describes the tool's parameters.
func inputOf(format string, m map[string]any) (any, string) {
	switch format {
	case MCP:
		return m["inputSchema"], "/inputSchema"
	case Function:
		switch f, key := wrapped(m); key {
		case "function":
			return f["parameters"], "/function/parameters"
		case "toolSpec":
			input, _ := f["inputSchema"].(map[string]any)
			return input["json"], "/toolSpec/inputSchema/json"
		}
		if has(m, "input_schema") {
			return m["input_schema"], "/input_schema"
		}
	case RapidAPI:
		return nil, "/required_parameters"
	case OpenAPI:
		operation, _ := m["operation"].(map[string]any)
		return operation["parameters"], "/operation/parameters"
	}
	return m["parameters"], "/parameters"
}

func countParameters(format string, m map[string]any, parameters any) int {
	switch v := parameters.(type) {
	case []any:
		return len(v)
	case map[string]any:
		if p, ok := v["properties"].(map[string]any); ok {
			return len(p)
		}
		return len(v)
	}
	required, _ := m["required_parameters"].([]any)
	optional, _ := m["optional_parameters"].([]any)
	return len(required) + len(optional)
}

// checkSchema walks a JSON Schema and refuses a type that is no type and
// lengths below zero. In names the keys are names, not keywords.
func checkSchema(v any, path string, names bool) *Problem {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if p := checkSchema(e, fmt.Sprintf("%s/%d", path, i), false); p != nil {
				return p
			}
		}
	case map[string]any:
		for _, k := range jsondoc.Keys(v) {
			at := jsondoc.Pointer(path, k)
			if !names {
				if p := checkKeyword(k, v[k], at); p != nil {
					return p
				}
				if opaque(k) {
					continue
				}
			}
			if p := checkSchema(v[k], at, !names && named(k)); p != nil {
				return p
			}
		}
	}
	return nil
}

func checkKeyword(keyword string, v any, path string) *Problem {
	switch keyword {
	case "type":
		if _, isNumber := v.(json.Number); isNumber {
			return &Problem{Path: path, Reason: InvalidSchema, Detail: "a type is a string or a list of strings"}
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		if n, ok := v.(json.Number); ok && strings.HasPrefix(string(jsondoc.Canonical(n)), "-") {
			return &Problem{Path: path, Reason: InvalidSchema, Detail: fmt.Sprintf("%s is not negative, have %s", keyword, schema.Quote(n))}
		}
	}
	return nil
}

// opaque reports keywords whose values are data, not schemas.
func opaque(keyword string) bool {
	switch keyword {
	case "example", "examples", "default", "const", "enum", "value", "required":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

// named reports keywords whose values are maps from names.
func named(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas",
		"schemas", "responses", "parameters", "requestBodies", "headers", "links", "callbacks",
		"pathItems", "content", "encoding", "variables", "paths", "mapping":
		return true
	}
	return false
}
