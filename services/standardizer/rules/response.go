package rules

import (
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
)

// Bounds of the prose about a response.
const (
	maxExplained = 16  // properties that are described
	maxGloss     = 256 // bytes of such a description
)

// maxNamed is how many properties of an object are named, by its depth. Deeper names say
// less about the purpose of a tool, and drown the others.
var maxNamed = [...]int{32, 8, 4}

// response describes a result in prose. The result may be in any of the common shapes:
// prose, a JSON Schema, OpenAPI responses, a map or a list of described fields.
func response(v any) string {
	switch v := jsondoc.Embedded(v).(type) {
	case string:
		return v
	case []any:
		return describeSchema(v, map[string]any{"properties": fieldSchemas(v)})
	case map[string]any:
		switch {
		case object(operation.Success(v)) != nil:
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

// describeSchema writes the schema of a result as a sentence. References point into root.
// An object without known properties has no sentence.
func describeSchema(root, s any) string {
	r := newReader(root)
	n := r.node(s)
	what := ""
	inner, suffix := r.inside(n)
	if len(inner.props) > 0 {
		what = "an object"
		if suffix != "" {
			what = "an array of objects"
		}
		what += " with " + r.fields(inner, 0)
	} else {
		switch t := r.typeText(&n); t {
		case "", "null", "object", "array", "array of object":
			return n.description
		default:
			what = typePhrase(t)
		}
	}
	if what == "" {
		return n.description
	}
	return paragraphs("Returns "+what+".", n.description)
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

// fields lists the names of properties in words, each with its own properties or its
// description in parentheses.
func (r *reader) fields(n node, level int) string {
	defer r.expand(n.refs)()
	var out []string
	names, most := jsondoc.Keys(n.props), maxNamed[level]
	for i, name := range names[:min(len(names), most)] {
		f := r.node(n.props[name])
		if f.never || f.writeOnly {
			continue
		}
		field := identifierWords(name)
		if inner, _ := r.inside(f); len(inner.props) > 0 && level+1 < len(maxNamed) {
			field += " (" + r.fields(inner, level+1) + ")"
		} else if f.isDescribed() && level == 0 && i < maxExplained {
			field += " (" + gloss(f.description) + ")"
		}
		out = append(out, field)
	}
	if len(names) > most {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
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
