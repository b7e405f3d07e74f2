// Package dialect writes the schemas that tools carry as JSON Schema 2020-12.
//
// It reads drafts 3 to 2020-12, the schemas of Swagger 2 and OpenAPI 3, and what people
// write who know none of them. A keyword that 2020-12 does not have, or whose value it
// does not allow, is translated where it has a meaning and left out where it has none, so
// that the result always compiles. References stay references, into $defs of the result;
// one that leads out of the document or nowhere allows everything. Nothing is fetched.
//
// Two things are made weaker than the source says, because a value that the source's own
// author would send must never be refused: oneOf becomes anyOf, and a pattern that Go's
// regular expressions do not know is left out.
package dialect

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Use says which properties a schema is written with.
type Use int

// The uses of a schema.
const (
	Input  Use = iota // without properties that are only read
	Output            // without properties that are only written
)

// writer writes one schema with what it refers to.
type writer struct {
	documents []any // that references may point into, the nearest first
	use       Use
	names     map[uintptr]string // of the objects that $defs has or will have
	taken     map[string]bool
	pending   []definition
	anchors   map[string]any // of the documents, by "#anchor" and identifier; made when first wanted
}

// definition is an object that $defs is to have.
type definition struct {
	name   string
	object map[string]any
	base   any // the nearest schema around it that has an identifier
}

// Write returns the schema v, which stands in the documents that its references point
// into, the nearest first. The value is a decoded JSON schema, or what stands in place
// of one; the result shares no maps or lists with it, but for data such as defaults.
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

// Object returns the schema v as that of an object: it has the type "object" and
// properties, and no reference or list of alternatives in their place where that can be
// avoided. It reports whether the schema allows an object at all.
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
	return &writer{documents: documents, use: use, names: map[uintptr]string{}, taken: map[string]bool{}}
}

// dereferenced returns what a schema that is a reference refers to, with what stands beside
// the reference, and without the leave to be null.
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

// Bounds of what is looked at for one schema.
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
		if t, format := typeWord(v); t != "" {
			return withFormat(map[string]any{"type": t}, format)
		}
		if strings.Contains(v, " ") {
			return map[string]any{"description": v}
		}
	}
	return map[string]any{}
}

func (w *writer) object(v map[string]any, base any) map[string]any {
	if id := identifier(v); id != "" && id[0] != '#' {
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
	bounds(out, v)
	enum(out)
	return orNull(out, v)
}

func identifier(v map[string]any) string {
	if id, ok := v["$id"].(string); ok {
		return id
	}
	id, _ := v["id"].(string)
	return id
}

// keyword writes a keyword that is understood by itself.
func (w *writer) keyword(out, in map[string]any, k string, base any) {
	v := in[k]
	switch k {
	case "title", "description", "format", "contentEncoding", "contentMediaType":
		if s, ok := v.(string); ok && s != "" {
			out[k] = s
		}
	case "pattern":
		if s, ok := v.(string); ok {
			if s = expression(s); isPattern(s) {
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
		if n, ok := number(v); ok && isPositive(n) {
			out["multipleOf"] = n
		}
	case "const", "default":
		if isData(v) {
			out[k] = v
		}
	case "example", "examples":
		examples(out, k, v)
	case "enum":
		if all, ok := v.([]any); ok && len(all) > 0 && isData(v) {
			out[k] = slices.Clone(all)
		}
	default:
		w.applicator(out, in, k, base)
	}
}

// applicator writes a keyword that holds schemas.
func (w *writer) applicator(out, in map[string]any, k string, base any) {
	v := in[k]
	switch k {
	case "properties":
		w.properties(out, v, base)
	case "patternProperties", "dependentSchemas":
		w.named(out, k, v, base)
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

// possible returns the alternatives without those that no value fits, which some libraries
// write for what may be left out, unless there are no others.
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

func isSchema(v any) bool {
	switch v.(type) {
	case map[string]any, bool:
		return true
	}
	return false
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
	props := propertyMap(v)
	written := make(map[string]any, len(props))
	for _, name := range jsondoc.Keys(props) {
		if w.hides(props[name], base) {
			continue
		}
		s := w.schema(props[name], base)
		if m, ok := s.(map[string]any); ok && repeats(m["title"], name) {
			delete(m, "title")
		}
		written[name] = s
	}
	out["properties"] = written
}

func propertyMap(v any) map[string]any {
	props, ok := v.(map[string]any)
	if ok {
		return props
	}
	props = map[string]any{}
	for _, e := range list(v) {
		m, _ := e.(map[string]any)
		if name, _ := m["name"].(string); name != "" {
			props[name] = m
		}
	}
	return props
}

// repeats reports whether a title says no more than the name.
func repeats(title any, name string) bool {
	s, ok := title.(string)
	return ok && len(s) <= 2*len(name) && fold(s) == fold(name)
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(s))
}

// hides reports whether a property is not for this use.
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

// named writes a map from names or patterns to schemas.
func (w *writer) named(out map[string]any, k string, v any, base any) {
	all, _ := v.(map[string]any)
	for _, name := range jsondoc.Keys(all) {
		if isSchema(all[name]) && (k != "patternProperties" || isPattern(name)) {
			member(out, k)[name] = w.schema(all[name], base)
		}
	}
}

// dependencies writes what a property entails: schemas, names, or one name (draft 3).
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

// member returns the object that a member is, made where it is none.
func member(m map[string]any, k string) map[string]any {
	inner, ok := m[k].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[k] = inner
	}
	return inner
}

// items writes the schema of a list's elements, or of the first ones in its old form.
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

// required writes the names of properties that must be there: those listed and those that
// say so themselves (draft 3), but for what is not written of this use, or never may be.
func (w *writer) required(out, in map[string]any, base any) {
	names := list(in["required"])
	props := propertyMap(in["properties"])
	for _, name := range jsondoc.Keys(props) {
		if m, ok := props[name].(map[string]any); ok && m["required"] == true {
			names = append(slices.Clip(names), name)
		}
	}
	written, _ := out["properties"].(map[string]any)
	closed := out["additionalProperties"] == false && out["patternProperties"] == nil
	var hidden map[string]bool // made when first wanted
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

// hidden adds the names of properties that are hidden where a schema or a part of it has
// them. Left bounds how many parts are looked at.
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

// reference writes a reference to the definition of what it leads to.
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
	plain := plainName(ref[strings.LastIndexAny(ref, "/#")+1:])
	name = plain
	for i := 2; w.taken[name]; i++ {
		name = plain + "_" + strconv.Itoa(i)
	}
	w.taken[name], w.names[at] = true, name
	w.pending = append(w.pending, definition{name, object, base})
	return name
}

// plainName returns a name with the characters that need no escape in a reference.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, s)
	s = s[:min(len(s), 64)]
	if strings.Trim(s, "_") == "" {
		return "schema"
	}
	return s
}
