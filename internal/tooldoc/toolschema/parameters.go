package toolschema

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxEnum is how many values of an enum a document keeps: an enum of that size may have lost
// values.
const maxEnum = 32

// parameter is a parameter of a document, with the parameters inside it.
type parameter struct {
	own   *schema.Parameter // nil if the name is only a prefix
	props map[string]*parameter
	items *parameter
}

// parametersSchema returns the object schema of the parameters of a document, in words that
// package dialect understands.
func parametersSchema(format string, doc *schema.Document) map[string]any {
	root := &parameter{}
	if doc != nil {
		for i := range doc.Parameters {
			p := &doc.Parameters[i]
			at := root
			for _, name := range steps(format, p.Name) {
				at = at.step(name)
			}
			if at.own == nil {
				at.own = p
			}
		}
	}
	return root.object()
}

// steps splits the name of a parameter: "items[].sku" is "items", "[]", "sku". Names of
// RapidAPI are not split, nor is a name that ends in "[]" or has an empty part.
func steps(format, name string) []string {
	if format == tooldoc.RapidAPI || strings.HasSuffix(name, "[]") {
		return []string{name}
	}
	var out []string
	for part := range strings.SplitSeq(name, ".") {
		plain := strings.TrimRight(part, "[]")
		lists := part[len(plain):]
		if plain == "" || strings.Trim(strings.ReplaceAll(lists, "[]", ""), " ") != "" {
			return []string{name}
		}
		out = append(out, plain)
		for range len(lists) / 2 {
			out = append(out, "[]")
		}
	}
	if len(out) > maxDepth/4 {
		return []string{name}
	}
	return out
}

func (p *parameter) step(name string) *parameter {
	if name == "[]" {
		if p.items == nil {
			p.items = &parameter{}
		}
		return p.items
	}
	inner := p.props[name]
	if inner == nil {
		inner = &parameter{}
		if p.props == nil {
			p.props = map[string]*parameter{}
		}
		p.props[name] = inner
	}
	return inner
}

func (p *parameter) object() map[string]any {
	props, required := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(p.props)) {
		inner := p.props[name]
		props[name] = inner.schema()
		if inner.required() {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required}
}

// required reports whether a parameter must be given. A prefix must be given if one of its
// parts must.
func (p *parameter) required() bool {
	if p.own != nil {
		return p.own.Required
	}
	for _, inner := range p.props {
		if inner.required() {
			return true
		}
	}
	return p.items != nil && p.items.required()
}

func (p *parameter) schema() map[string]any {
	var s map[string]any
	switch {
	case p.items != nil:
		s = map[string]any{"type": "array", "items": p.items.schema()}
	case len(p.props) > 0:
		s = p.object()
	case p.own != nil:
		s = typeSchema(p.own.Type)
		values(s, p.own)
	default:
		s = map[string]any{}
	}
	if p.own != nil && p.own.Description != "" {
		s["description"] = p.own.Description
	}
	return s
}

// values adds the default, the example and the enum.
func values(s map[string]any, p *schema.Parameter) {
	if p.Default != "" {
		s["default"] = value(p.Default)
	}
	if p.Example != "" {
		s["example"] = value(p.Example)
	}
	if len(p.Enum) == 0 || len(p.Enum) >= maxEnum {
		return
	}
	at, t := s, s["type"]
	if items, ok := s["items"].(map[string]any); ok && t == "array" {
		at, t = items, items["type"]
	}
	enum := []any{}
	for _, text := range p.Enum {
		v := value(text)
		_, isText := v.(string)
		if t == "string" || t == nil || isText {
			enum = append(enum, text)
		}
		if t != "string" && !isText {
			enum = append(enum, v)
		}
	}
	at["enum"] = enum
}

// value returns the JSON value that a text is, or the text.
func value(text string) any {
	v, err := jsondoc.Decode([]byte(text), jsondoc.Limits{})
	if err != nil {
		return text
	}
	return v
}

// typeSchema returns the schema of a type as documents have it: "array of string",
// "string (date-time)", "integer or string". An unknown word allows everything.
func typeSchema(text string) map[string]any {
	if alternatives := strings.Split(text, " or "); len(alternatives) > 1 {
		var all []any
		for _, t := range alternatives {
			all = append(all, typeSchema(t))
		}
		return map[string]any{"anyOf": all}
	}
	text = strings.TrimSpace(text)
	if items, ok := strings.CutPrefix(text, "array of "); ok {
		return map[string]any{"type": "array", "items": typeSchema(items)}
	}
	word, format, formatted := strings.Cut(text, " (")
	s := map[string]any{}
	if word != "" {
		s["type"] = word
	}
	if format, ok := strings.CutSuffix(format, ")"); ok && formatted {
		s["format"] = format
	}
	return s
}
