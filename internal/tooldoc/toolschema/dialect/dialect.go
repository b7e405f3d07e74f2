// Package dialect writes the schemas that tools carry as JSON Schema 2020-12.
//
// It reads drafts 3 to 2020-12, the schemas of Swagger 2 and OpenAPI 3, and what people
// write who know none of them. A keyword that 2020-12 lacks, or whose value it does not
// allow, is translated if it has a meaning and dropped otherwise, so that the result always
// compiles. References stay references, into $defs of the result; a reference out of the
// document or to nothing allows everything. Nothing is fetched.
//
// Two things are made weaker than the source says, because a value that the source's own
// author would send must never be refused: oneOf becomes anyOf, and a pattern is dropped if Go's
// regular expressions do not know it, or if the patterns before it took too long to read.
//
// dialect.go writes schemas keyword by keyword, with types and values in values.go.
// forms.go reads the variants of keywords that people write; the rules of the standardizer
// use it, too. references.go resolves references, and tidies the result.
package dialect

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// Use says which properties a schema is written with.
type Use int

// The uses of a schema.
const (
	Input  Use = iota // without read-only properties
	Output            // without write-only properties
)

// writer writes one schema and its definitions.
type writer struct {
	resolver
	use     Use
	names   map[uintptr]string // of the objects that $defs has or will have
	taken   map[string]bool
	pending []definition

	patterns int // left of maxPatterns
}

// definition is an object that will be in $defs.
type definition struct {
	name   string
	object map[string]any
	base   any // the nearest schema around it that has an identifier
}

// Write returns the schema v. Its references point into the documents, the nearest first.
// The value is a decoded JSON schema, or anything else in the place of a schema; the result
// shares no maps or lists with it, except for data such as defaults.
func Write(v any, use Use, documents ...any) map[string]any {
	w := newWriter(use, documents)
	out, _ := w.schema(v, nil).(map[string]any)
	if out == nil { // a boolean
		out = map[string]any{}
		if v == false {
			out["not"] = map[string]any{}
		}
	}
	return w.finish(out)
}

// Object returns the schema v as the schema of an object: it has the type "object" and
// properties, and no reference or alternatives in their place if that can be avoided. It
// reports whether the schema allows an object at all.
func Object(v any, use Use, documents ...any) (map[string]any, bool) {
	w := newWriter(use, documents)
	m, isObject := v.(map[string]any)
	if !isObject && v != nil && v != true {
		return nil, false
	}
	out := w.object(w.dereferenced(m), nil)
	if !allowsObject(out) {
		return nil, false
	}
	out["type"] = "object"
	if _, there := out["properties"].(map[string]any); !there {
		out["properties"] = map[string]any{}
	}
	out = w.finish(out)
	lift(out)
	prune(out)
	return out, true
}

func newWriter(use Use, documents []any) *writer {
	return &writer{resolver: resolver{documents: documents}, use: use, names: map[uintptr]string{}, taken: map[string]bool{}, patterns: maxPatterns}
}

// dereferenced follows the reference that a schema is. Keywords next to the reference win,
// and the result does not allow null.
func (w *writer) dereferenced(m map[string]any) map[string]any {
	m = maps.Clone(m)
	for range maxReferences {
		ref, _ := m["$ref"].(string)
		if ref == "" {
			break
		}
		delete(m, "$ref")
		target, _ := w.resolve(ref, nil)
		t, _ := target.(map[string]any)
		over := m
		m = maps.Clone(t)
		if m == nil {
			m = map[string]any{}
		}
		maps.Copy(m, over)
	}
	for _, k := range append([]string{"$ref"}, nullable...) {
		delete(m, k)
	}
	return m
}

// Bounds of the work on one schema.
const (
	maxReferences = 16 // references to references
	maxParts      = 64 // parts of an object
)

func allowsObject(s map[string]any) bool {
	switch t := s["type"].(type) {
	case nil:
		return true
	case string:
		return t == "object"
	case []any:
		return slices.Contains(t, any("object"))
	}
	return false
}

// finish adds the definitions.
func (w *writer) finish(out map[string]any) map[string]any {
	defs := map[string]any{}
	for len(w.pending) > 0 {
		d := w.pending[0]
		w.pending = w.pending[1:]
		defs[d.name] = w.object(d.object, d.base)
	}
	if len(defs) > 0 {
		out["$defs"] = defs
		breakCircles(out, defs)
	}
	return out
}

// schema writes a schema: an object, a boolean, or a word in place of one.
func (w *writer) schema(v any, base any) any {
	switch v := v.(type) {
	case bool:
		return v
	case map[string]any:
		return w.object(v, base)
	case string:
		if t, format := TypeWord(v); t != "" {
			return withFormat(map[string]any{"type": t}, format)
		}
		if strings.Contains(v, " ") {
			return map[string]any{"description": v}
		}
	}
	return map[string]any{}
}

func (w *writer) object(v map[string]any, base any) map[string]any {
	id, isText := v["$id"].(string)
	if !isText {
		id, _ = v["id"].(string)
	}
	if id != "" && id[0] != '#' {
		base = v
	}
	out := make(map[string]any, len(v))
	for _, k := range jsondoc.Keys(v) {
		w.keyword(out, v, k, base)
	}
	w.reference(out, v, base)
	w.types(out, v, base)
	if w.use == Input && out["format"] == "binary" && out["contentEncoding"] == nil {
		out["contentEncoding"] = "base64" // JSON has no other way to hold it
	}
	w.required(out, v, base)
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if n, there := out[inclusive]; there && v[exclusive] == true { // draft 4
			out[exclusive] = n
			delete(out, inclusive)
		}
	}
	enum(out)
	return orNull(out, v)
}

// keyword writes a keyword whose meaning depends on no other.
func (w *writer) keyword(out, in map[string]any, k string, base any) {
	v := in[k]
	switch k {
	case "title", "description", "format", "contentEncoding", "contentMediaType":
		if s, ok := v.(string); ok && s != "" {
			out[k] = s
		}
	case "pattern":
		if s, ok := v.(string); ok {
			if m := literal.FindStringSubmatch(s); m != nil {
				if s = m[1]; strings.Contains(m[2], "i") {
					s = "(?i)" + s
				}
			}
			if w.isPattern(s) {
				out[k] = s
			}
		}
	case "deprecated", "uniqueItems":
		if v == true {
			out[k] = true
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if n, ok := count(v); ok {
			out[k] = n
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if n, ok := number(v); ok {
			out[k] = n
		}
	case "multipleOf", "divisibleBy":
		if n, ok := number(v); ok {
			if f, _ := n.Float64(); f > 0 {
				out["multipleOf"] = n
			}
		}
	case "const", "default":
		if isData(v) {
			out[k] = v
		}
	case "example", "examples": // in this order
		if all := Examples(map[string]any{k: v}); len(all) > 0 && isData(all) {
			out["examples"] = slices.Clone(all)
		}
	case "enum":
		if all, ok := v.([]any); ok && len(all) > 0 && isData(v) {
			out[k] = slices.Clone(all)
		}
	default:
		w.applicator(out, in, k, base)
	}
}

// applicator writes a keyword whose value has schemas.
func (w *writer) applicator(out, in map[string]any, k string, base any) {
	v := in[k]
	switch k {
	case "properties":
		w.properties(out, v, base)
	case "patternProperties", "dependentSchemas":
		all, _ := v.(map[string]any)
		for _, name := range jsondoc.Keys(all) {
			if isSchema(all[name]) && (k != "patternProperties" || w.isPattern(name)) {
				member(out, k)[name] = w.schema(all[name], base)
			}
		}
	case "dependentRequired", "dependencies":
		w.dependencies(out, v, base)
	case "items":
		w.items(out, in, base)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames", "not", "if", "then", "else":
		if isSchema(v) {
			out[k] = w.schema(v, base)
		}
	case "prefixItems", "allOf":
		if all := w.list(v, base); len(all) > 0 {
			out[k] = append(list(out[k]), all...)
		}
	case "anyOf", "oneOf": // in this order
		all := possible(w.list(v, base))
		switch {
		case len(all) == 0:
		case out["anyOf"] == nil:
			out["anyOf"] = all
		default:
			out["allOf"] = append(list(out["allOf"]), map[string]any{"anyOf": all})
		}
	case "extends": // draft 3
		all := w.list(v, base)
		if m, ok := v.(map[string]any); ok {
			all = []any{w.object(m, base)}
		}
		if len(all) > 0 {
			out["allOf"] = append(list(out["allOf"]), all...)
		}
	}
}

// possible drops alternatives that no value fits, unless all are such. Some libraries write
// one for an optional value.
func possible(all []any) []any {
	out := slices.DeleteFunc(slices.Clone(all), func(v any) bool {
		m, _ := v.(map[string]any)
		not, _ := m["not"].(map[string]any)
		return v == false || not != nil && len(not) == 0
	})
	if len(out) == 0 {
		return all
	}
	return out
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}

func (w *writer) list(v any, base any) []any {
	var out []any
	for _, s := range list(v) {
		if isSchema(s) {
			out = append(out, w.schema(s, base))
		}
	}
	return out
}

// properties writes a map of properties, or a list of them with their names inside.
func (w *writer) properties(out map[string]any, v any, base any) {
	props := Properties(v)
	written := make(map[string]any, len(props))
	for _, name := range jsondoc.Keys(props) {
		if w.hides(props[name], base) {
			continue
		}
		s := w.schema(props[name], base)
		m, _ := s.(map[string]any)
		if title, ok := m["title"].(string); ok && provenance.Fold(title) == provenance.Fold(name) {
			delete(m, "title") // it repeats the name
		}
		written[name] = s
	}
	out["properties"] = written
}

// hides reports whether this use omits a property.
func (w *writer) hides(v any, base any) bool {
	keyword := "readOnly"
	if w.use == Output {
		keyword = "writeOnly"
	}
	for range maxReferences {
		m, _ := v.(map[string]any)
		if m[keyword] == true {
			return true
		}
		ref, _ := m["$ref"].(string)
		if ref == "" {
			return false
		}
		v, base = w.resolve(ref, base)
	}
	return false
}

// dependencies writes the consequences of a property: schemas, names, or one name (draft 3).
func (w *writer) dependencies(out map[string]any, v any, base any) {
	all, _ := v.(map[string]any)
	for _, name := range jsondoc.Keys(all) {
		if s, ok := all[name].(string); ok {
			member(out, "dependentRequired")[name] = []any{s}
		} else if names, ok := all[name].([]any); ok {
			member(out, "dependentRequired")[name] = distinct(names)
		} else if isSchema(all[name]) {
			member(out, "dependentSchemas")[name] = w.schema(all[name], base)
		}
	}
}

// member returns the object at a key of m, adding an empty object if the key is missing.
func member(m map[string]any, k string) map[string]any {
	inner, ok := m[k].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[k] = inner
	}
	return inner
}

// items writes the schema of a list's elements, or of the first elements in its old form.
func (w *writer) items(out, in map[string]any, base any) {
	first, isList := in["items"].([]any)
	if !isList {
		out["items"] = w.schema(in["items"], base)
		return
	}
	if in["prefixItems"] != nil {
		return
	}
	if all := w.list(first, base); len(all) > 0 {
		out["prefixItems"] = all
	}
	if rest := in["additionalItems"]; isSchema(rest) {
		out["items"] = w.schema(rest, base)
	}
}

// required writes the names of required properties: listed ones and properties that have
// the flag themselves (draft 3). It omits properties that are hidden in this use or that a
// closed object does not have.
func (w *writer) required(out, in map[string]any, base any) {
	names := list(in["required"])
	props := Properties(in["properties"])
	for _, name := range jsondoc.Keys(props) {
		if m, ok := props[name].(map[string]any); ok && m["required"] == true {
			names = append(slices.Clip(names), name)
		}
	}
	written, _ := out["properties"].(map[string]any)
	closed := out["additionalProperties"] == false && out["patternProperties"] == nil
	var hidden map[string]bool // nil until first needed
	names = slices.DeleteFunc(distinct(names), func(v any) bool {
		name := v.(string)
		if _, there := written[name]; there {
			return false
		}
		if hidden == nil {
			left := maxParts
			hidden = map[string]bool{}
			w.hidden(in, base, hidden, &left)
		}
		return closed || hidden[name]
	})
	if len(names) > 0 {
		out["required"] = names
	}
}

// hidden adds the names of the hidden properties of a schema and its parts. Left bounds how
// many parts are read.
func (w *writer) hidden(s map[string]any, base any, names map[string]bool, left *int) {
	if *left--; *left < 0 {
		return
	}
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		if w.hides(p, base) {
			names[name] = true
		}
	}
	for _, part := range list(s["allOf"]) {
		if m, ok := part.(map[string]any); ok {
			w.hidden(m, base, names, left)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		target, base := w.resolve(ref, base)
		if m, ok := target.(map[string]any); ok {
			w.hidden(m, base, names, left)
		}
	}
}

// distinct returns the strings of a list, each once.
func distinct(all []any) []any {
	out := []any{}
	seen := make(map[string]bool, len(all))
	for _, v := range all {
		if s, ok := v.(string); ok && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// reference writes a reference to the definition of its target.
func (w *writer) reference(out, in map[string]any, base any) {
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := in[k].(string)
		if !ok {
			continue
		}
		target, base := w.resolve(ref, base)
		switch t := target.(type) {
		case map[string]any:
			out["$ref"] = "#/$defs/" + w.define(ref, t, base)
		case bool:
			if !t {
				out["not"] = map[string]any{}
			}
		}
		return
	}
}

// define returns the name of the definition of an object.
func (w *writer) define(ref string, object map[string]any, base any) string {
	at := reflect.ValueOf(object).Pointer()
	name, known := w.names[at]
	if known {
		return name
	}
	plain := strings.Map(func(r rune) rune { // characters that need no escape in a reference
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, ref[strings.LastIndexAny(ref, "/#")+1:])
	plain = plain[:min(len(plain), 64)]
	if strings.Trim(plain, "_") == "" {
		plain = "schema"
	}
	name = plain
	for i := 2; w.taken[name]; i++ {
		name = plain + "_" + strconv.Itoa(i)
	}
	w.taken[name], w.names[at] = true, name
	w.pending = append(w.pending, definition{name, object, base})
	return name
}
