package rules

import (
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/text"
)

// Bounds of the prose about a response.
const (
	maxExplained = 16  // properties whose description is told too
	maxGloss     = 256 // bytes of such a description
)

// toldAt is how many properties are named of an object, by how deep it is. The
// names further down say less of what a tool is for, and drown the rest.
var toldAt = [...]int{32, 8, 4}

// response tells in prose what a document says of its result, in any of the
// common shapes: prose, a JSON Schema, OpenAPI responses, a map or a list of
// described fields.
func response(v any) string {
	switch v := embedded(v).(type) {
	case string:
		return v
	case []any:
		return describeSchema(v, map[string]any{"properties": fieldSchemas(v)})
	case map[string]any:
		switch {
		case success(v) != nil:
			return openapiResponse(v)
		case isSchema(v):
			return describeSchema(v, v)
		}
		return describeSchema(v, map[string]any{"properties": fieldSchemas(v)})
	}
	return ""
}

// fieldSchemas makes schemas of described fields: {name: {type, description}},
// {name: "description"} or [{name, …}].
func fieldSchemas(v any) map[string]any {
	out := map[string]any{}
	for _, item := range list(v) {
		if name := itemName(object(item)); name != "" {
			out[name] = item
		} else if s, ok := item.(string); ok {
			out[s] = true
		}
	}
	for name, item := range object(v) {
		if object(item) == nil {
			item = fromValue(item)
		}
		out[name] = item
	}
	return out
}

// describeSchema renders a schema of a result as a sentence. References point into
// root.
func describeSchema(root, s any) string {
	w := newWalker(root)
	n := w.node(s)
	what := w.schemaPhrase(n)
	if what == "" {
		return n.description
	}
	return paragraphs("Returns "+what+".", n.description)
}

// schemaPhrase names what a schema describes: "an array of objects with id, name". An
// object without known properties has no phrase.
func (w *walker) schemaPhrase(n node) string {
	inner, suffix := w.inside(n)
	if len(inner.props) > 0 {
		noun := "an object"
		if suffix != "" {
			noun = "an array of objects"
		}
		return noun + " with " + w.fields(inner, 0)
	}
	switch t := n.typeText(w); t {
	case "", "null", "object", "array", "array of object":
		return ""
	default:
		return typePhrase(t)
	}
}

// typePhrase names a type in a sentence. The name of a schema gets no article.
func typePhrase(typ string) string {
	switch typ {
	case "string", "number", "boolean":
		return "a " + typ
	case "integer", "object", "array":
		return "an " + typ
	}
	if item, ok := strings.CutPrefix(typ, "array of "); ok {
		return "an array of " + identifierWords(item)
	}
	return identifierWords(typ)
}

// identifierWords writes an identifier in words: "createdAt" becomes "created at".
func identifierWords(name string) string {
	all := strings.Fields(text.Split(identifier(name, maxTag)))
	for i, w := range all {
		if rest := w[1:]; rest != "" && rest == strings.ToLower(rest) {
			all[i] = strings.ToLower(w)
		}
	}
	return strings.Join(all, " ")
}

// fields lists the names of properties in words, with what they mean or hold.
func (w *walker) fields(n node, level int) string {
	defer w.enter(n.refs)()
	var out []string
	names, told := jsondoc.Keys(n.props), toldAt[level]
	for i, name := range names[:min(len(names), told)] {
		f := w.node(n.props[name])
		if f.never || f.writeOnly {
			continue
		}
		out = append(out, identifierWords(name)+w.aside(f, i, level))
	}
	if len(names) > told {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
}

// aside is what follows a property's name in parentheses.
func (w *walker) aside(f node, i, level int) string {
	inner, _ := w.inside(f)
	switch {
	case len(inner.props) > 0 && level+1 < len(toldAt):
		return " (" + w.fields(inner, level+1) + ")"
	case f.text() != "" && level == 0 && i < maxExplained:
		return " (" + gloss(f.description) + ")"
	}
	return ""
}

// gloss is the first sentence of a description, shortened.
func gloss(s string) string {
	s = line(text.Truncate(s, maxExample), maxExample)
	if all := text.Sentences(s); len(all) > 0 {
		s = all[0]
	}
	if len(s) > maxGloss {
		s = text.Truncate(s, maxGloss)
		if i := strings.LastIndexByte(s, ' '); i > 0 { // not every script has spaces
			s = s[:i]
		}
	}
	return strings.TrimRight(s, ".,;: ")
}

// shape makes a schema of an example.
func shape(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		props := make(map[string]any, min(len(v), maxEnum))
		for k, e := range v {
			if depth > 0 && k != "_list_length" { // ToolBench's word for elements that are left out
				props[k] = shape(e, depth-1)
			}
		}
		return map[string]any{"type": "object", "properties": props}
	case []any:
		if len(v) == 0 || depth == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": shape(v[0], depth-1)}
	}
	return map[string]any{"type": jsonType(v)}
}
