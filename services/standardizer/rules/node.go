package rules

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// node is what a JSON Schema says once its references are followed and its
// compositions merged.
type node struct {
	types       []string // without "null"
	format      string
	title       string
	description string
	enum        []any
	def         any
	example     any
	props       map[string]any  // schema by property name
	required    map[string]bool // of the properties
	items       any             // schema of an array's items; nil where nothing is said
	refs        []string        // references followed on the way
	readOnly    bool
	writeOnly   bool
	never       bool // the schema "false"
}

// node reads a schema; what stands outside wins over what it refers to.
func (w *walker) node(s any) node {
	n := node{}
	w.resolve(&n, s, schemaNesting)
	return n
}

func (w *walker) resolve(n *node, s any, depth int) {
	if s == false {
		n.never = true
	}
	m := object(s)
	if m == nil {
		return
	}
	if w.budget--; w.budget < 0 || depth == 0 {
		w.truncated = true
		return
	}
	n.keywords(m)
	if ref, ok := m["$ref"].(string); ok {
		w.follow(n, ref, depth)
	}
	for _, part := range list(m["allOf"]) {
		w.resolve(n, part, depth-1)
	}
	w.alternatives(n, list(m["oneOf"]), depth)
	w.alternatives(n, list(m["anyOf"]), depth)
	if m["then"] != nil || m["else"] != nil {
		w.condition(n, m["then"], m["else"], depth)
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		schemas := object(m[k])
		for _, name := range jsondoc.Keys(schemas) {
			w.condition(n, schemas[name], nil, depth)
		}
	}
}

// keywords takes over what the schema itself says, where nothing is known yet.
func (n *node) keywords(m map[string]any) {
	n.addTypes(m["type"])
	n.format = cmpOr(n.format, str(m["format"]))
	n.title = cmpOr(n.title, str(m["title"]))
	n.description = cmpOr(n.description, str(m["description"]))
	n.readOnly = n.readOnly || m["readOnly"] == true
	n.writeOnly = n.writeOnly || m["writeOnly"] == true
	if n.def == nil {
		n.def = m["default"]
	}
	if n.example == nil {
		n.example = exampleOf(m)
	}
	if c, ok := m["const"]; ok && n.enum == nil {
		n.enum = []any{c}
	} else if n.enum == nil {
		n.enum = list(m["enum"])
	}
	n.addProperties(m)
	if n.items == nil {
		n.items = itemsOf(m)
	}
}

func cmpOr(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

func (n *node) addTypes(v any) {
	for _, t := range words(v) {
		for t := range strings.SplitSeq(TypeName(t), " or ") {
			if t != "null" && t != "" && !slices.Contains(n.types, t) {
				n.types = append(n.types, t)
			}
		}
	}
}

func (n *node) addProperties(m map[string]any) {
	for _, name := range words(m["required"]) {
		if n.required == nil {
			n.required = map[string]bool{}
		}
		n.required[name] = true
	}
	for name, s := range object(m["properties"]) {
		n.property(name, s, "allOf")
	}
}

// property adds a property; a second schema for the same name is composed with
// the first.
func (n *node) property(name string, s any, compose string) {
	if n.props == nil {
		n.props = map[string]any{}
	}
	if old, ok := n.props[name]; ok {
		s = composed(compose, old, s)
	}
	n.props[name] = s
}

// maxComposed bounds the alternatives of one property that are looked at.
const maxComposed = 16

// composed adds a schema to those that old is composed of already in this way.
func composed(how string, old, s any) any {
	parts := []any{old}
	if m := object(old); len(m) == 1 && list(m[how]) != nil {
		parts = list(m[how])
	}
	if len(parts) >= maxComposed {
		return old
	}
	return map[string]any{how: append(parts[:len(parts):len(parts)], s)}
}

// alternatives merges the schemas of oneOf or anyOf: the result allows what any
// of them allows and requires what all of them require.
func (w *walker) alternatives(n *node, schemas []any, depth int) {
	var found []node
	for _, s := range schemas {
		a := node{refs: n.refs}
		w.resolve(&a, s, depth-1)
		if !a.never && object(s)["type"] != "null" {
			found = append(found, a)
		}
	}
	for i := range found {
		n.allow(&found[i])
	}
	n.require(found)
	if len(found) == 1 { // or null
		n.format, n.title = cmpOr(n.format, found[0].format), cmpOr(n.title, found[0].title)
		if n.def == nil {
			n.def = found[0].def
		}
	}
	n.description = cmpOr(n.description, joinDescriptions(found))
	if n.enum == nil {
		n.enum = joinEnums(found)
	}
}

// condition adds what holds if a condition does, or does not. What is said of a property
// without a condition stands.
func (w *walker) condition(n *node, then, otherwise any, depth int) {
	c := node{refs: n.refs}
	w.alternatives(&c, []any{then, otherwise}, depth)
	maps.DeleteFunc(c.props, func(name string, _ any) bool { return n.props[name] != nil })
	n.allow(&c)
	n.require([]node{c})
}

// allow adds what an alternative allows. What it says about itself holds for it alone.
func (n *node) allow(a *node) {
	types := a.types
	if len(types) == 0 {
		types = a.impliedTypes()
	}
	for _, t := range types {
		if !slices.Contains(n.types, t) {
			n.types = append(n.types, t)
		}
		if t == "string" {
			n.format = cmpOr(n.format, a.format)
		}
	}
	if n.example == nil {
		n.example = a.example
	}
	if n.items == nil {
		n.items = a.items
	}
	for name, s := range a.props {
		n.property(name, s, "anyOf")
	}
	for _, ref := range a.refs {
		if !slices.Contains(n.refs, ref) {
			n.refs = append(n.refs[:len(n.refs):len(n.refs)], ref)
		}
	}
}

// require adds what all alternatives require.
func (n *node) require(alternatives []node) {
	if len(alternatives) == 0 {
		return
	}
	for name := range alternatives[0].required {
		if slices.ContainsFunc(alternatives, func(a node) bool { return !a.required[name] }) {
			continue
		}
		if n.required == nil {
			n.required = map[string]bool{}
		}
		n.required[name] = true
	}
}

// joinDescriptions is what alternatives say of themselves, in one text.
func joinDescriptions(alternatives []node) string {
	var said []string
	for i := range alternatives {
		s := strings.TrimSpace(alternatives[i].description)
		if len(alternatives) > 1 {
			s = strings.TrimSuffix(s, ".")
		}
		if s != "" && !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	return strings.Join(said, "; ")
}

// joinEnums are the values that alternatives allow, nil where one allows more than it
// lists.
func joinEnums(alternatives []node) (values []any) {
	for i := range alternatives {
		if len(alternatives[i].enum) == 0 {
			return nil
		}
		values = append(values, alternatives[i].enum...)
	}
	return values
}

// follow resolves a reference. A reference that leads nowhere, or into itself,
// still gives the type its name.
func (w *walker) follow(n *node, ref string, depth int) {
	target, ok := jsondoc.Resolve(w.root, ref)
	if !ok || w.path[ref] || slices.Contains(n.refs, ref) {
		if name := refName(ref); name != "" && len(n.types) == 0 {
			n.types = append(n.types, name)
		}
		return
	}
	n.refs = append(n.refs[:len(n.refs):len(n.refs)], ref)
	w.resolve(n, target, depth-1)
}

// refName returns the name that a reference ends in. The number of an
// alternative is no name.
func refName(ref string) string {
	name := ref[strings.LastIndexAny(ref, "/#")+1:]
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	if strings.Trim(name, "0123456789") == "" {
		return ""
	}
	return ifShort(name, maxType)
}

func itemsOf(m map[string]any) any {
	for _, k := range []string{"items", "prefixItems"} {
		switch v := m[k].(type) {
		case map[string]any:
			return v
		case []any:
			return map[string]any{"anyOf": v}
		}
	}
	return nil
}

// exampleOf returns the first example in any of the forms in which JSON Schema
// and OpenAPI write them.
func exampleOf(m map[string]any) any {
	if v, ok := m["example"]; ok {
		return v
	}
	switch v := m["examples"].(type) {
	case []any:
		if len(v) > 0 {
			return v[0]
		}
	case map[string]any:
		for _, k := range jsondoc.Keys(v) {
			if named, ok := object(v[k])["value"]; ok {
				return named
			}
		}
	}
	return nil
}

// text is what a schema says about itself in words.
func (n *node) text() string { return strings.TrimSpace(n.description) }

// typeText writes the type: "array of string", "string (date-time)",
// "integer or string".
func (n *node) typeText(w *walker) string {
	types := n.types
	if len(types) == 0 {
		types = n.impliedTypes()
	}
	out := make([]string, 0, len(types))
	for _, t := range types {
		switch {
		case t == "array" && n.items != nil:
			item := w.node(n.items)
			item.items = nil // an array in an array is told as such, no deeper
			t = arrayOf(item.typeText(w))
		case t == "string" && n.format != "":
			t = "string (" + n.format + ")"
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " or ")
}

// impliedTypes is the type of a schema that does not name it.
func (n *node) impliedTypes() []string {
	switch {
	case len(n.props) > 0:
		return []string{"object"}
	case n.items != nil:
		return []string{"array"}
	case len(n.enum) > 0:
		return []string{jsonType(n.enum[0])}
	case n.format != "":
		return []string{"string"}
	}
	return nil
}

// jsonType names the type of a decoded value.
func jsonType(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}
