package rules

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

// Bounds of the work on one JSON Schema and everything that it refers to.
const (
	schemaBudget  = 20_000 // schemas that are read
	schemaNesting = 32     // references and compositions inside one another
)

// node is a JSON Schema after its references are followed and its compositions merged.
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
	items       any             // schema of an array's items; nil if unknown
	refs        []string        // references followed on the way
	readOnly    bool
	writeOnly   bool
	never       bool // the schema "false"
}

// reader reads JSON Schemas whose references point into root.
type reader struct {
	root      any
	open      map[string]bool // references being expanded, so that none is inside itself
	budget    int
	truncated bool
}

func newReader(root any) reader {
	return reader{root: root, open: map[string]bool{}, budget: schemaBudget}
}

// node reads a schema; its own keywords override the keywords of a referenced schema.
func (r *reader) node(s any) node {
	n := node{}
	r.resolve(&n, s, schemaNesting)
	return n
}

func (r *reader) resolve(n *node, s any, depth int) {
	if s == false {
		n.never = true
	}
	m := object(s)
	if m == nil {
		return
	}
	if r.budget--; r.budget < 0 || depth == 0 {
		r.truncated = true
		return
	}
	n.keywords(m)
	if ref, ok := m["$ref"].(string); ok {
		r.follow(n, ref, depth)
	}
	for _, part := range list(m["allOf"]) {
		r.resolve(n, part, depth-1)
	}
	r.alternatives(n, list(m["oneOf"]), depth)
	r.alternatives(n, list(m["anyOf"]), depth)
	if m["then"] != nil || m["else"] != nil {
		r.condition(n, m["then"], m["else"], depth)
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		schemas := object(m[k])
		for _, name := range jsondoc.Keys(schemas) {
			r.condition(n, schemas[name], nil, depth)
		}
	}
}

// keywords adopts the keywords of the schema itself, except for facts already known.
func (n *node) keywords(m map[string]any) {
	for _, t := range words(m["type"]) {
		for t := range strings.SplitSeq(TypeName(t), " or ") {
			if t != "null" && t != "" && !slices.Contains(n.types, t) {
				n.types = append(n.types, t)
			}
		}
	}
	n.format = cmpOr(n.format, str(m["format"]))
	n.title = cmpOr(n.title, str(m["title"]))
	n.description = cmpOr(n.description, str(m["description"]))
	n.readOnly = n.readOnly || m["readOnly"] == true
	n.writeOnly = n.writeOnly || m["writeOnly"] == true
	if n.def == nil {
		n.def = m["default"]
	}
	if all := dialect.Examples(m); n.example == nil && len(all) > 0 {
		n.example = all[0]
	}
	if c, ok := m["const"]; ok && n.enum == nil {
		n.enum = []any{c}
	} else if n.enum == nil {
		n.enum = list(m["enum"])
	}
	for _, name := range words(m["required"]) {
		n.require(name)
	}
	for name, s := range dialect.Properties(m["properties"]) {
		n.property(name, s, "allOf")
	}
	for _, k := range []string{"items", "prefixItems"} {
		if n.items != nil {
			break
		}
		switch v := m[k].(type) {
		case map[string]any:
			n.items = v
		case []any:
			n.items = map[string]any{"anyOf": v}
		}
	}
}

func cmpOr(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

func (n *node) require(name string) {
	if n.required == nil {
		n.required = map[string]bool{}
	}
	n.required[name] = true
}

// maxComposed bounds how many schemas of one property are composed.
const maxComposed = 16

// property adds a property; a second schema of the same name is composed with the first.
func (n *node) property(name string, s any, compose string) {
	if n.props == nil {
		n.props = map[string]any{}
	}
	old, ok := n.props[name]
	if !ok {
		n.props[name] = s
		return
	}
	parts := []any{old}
	if m := object(old); len(m) == 1 && list(m[compose]) != nil {
		parts = list(m[compose])
	}
	if len(parts) < maxComposed {
		n.props[name] = map[string]any{compose: append(parts[:len(parts):len(parts)], s)}
	}
}

// alternatives merges the schemas of oneOf or anyOf: the result allows what any of them
// allows and requires what all of them require.
func (r *reader) alternatives(n *node, schemas []any, depth int) {
	var found []node
	for _, s := range schemas {
		a := node{refs: n.refs}
		r.resolve(&a, s, depth-1)
		if !a.never && object(s)["type"] != "null" {
			found = append(found, a)
		}
	}
	for i := range found {
		n.allow(&found[i])
	}
	n.requireCommon(found)
	if len(found) == 1 { // or null
		n.format, n.title = cmpOr(n.format, found[0].format), cmpOr(n.title, found[0].title)
		if n.def == nil {
			n.def = found[0].def
		}
	}
	var descriptions []string
	var values []any // none if an alternative allows more than it lists
	listed := true
	for i := range found {
		s := strings.TrimSpace(found[i].description)
		if len(found) > 1 {
			s = strings.TrimSuffix(s, ".")
		}
		if s != "" && !slices.Contains(descriptions, s) {
			descriptions = append(descriptions, s)
		}
		listed = listed && len(found[i].enum) > 0
		values = append(values, found[i].enum...)
	}
	n.description = cmpOr(n.description, strings.Join(descriptions, "; "))
	if n.enum == nil && listed {
		n.enum = values
	}
}

// condition adds the schemas of both branches of a condition. They change nothing about a
// property that is known without a condition.
func (r *reader) condition(n *node, then, otherwise any, depth int) {
	c := node{refs: n.refs}
	r.alternatives(&c, []any{then, otherwise}, depth)
	maps.DeleteFunc(c.props, func(name string, _ any) bool { return n.props[name] != nil })
	n.allow(&c)
	n.requireCommon([]node{c})
}

// allow adds the values that an alternative allows, but not its descriptions.
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

// requireCommon adds the properties that all alternatives require.
func (n *node) requireCommon(alternatives []node) {
	if len(alternatives) == 0 {
		return
	}
	for name := range alternatives[0].required {
		if !slices.ContainsFunc(alternatives, func(a node) bool { return !a.required[name] }) {
			n.require(name)
		}
	}
}

// follow resolves a reference. A reference that leads nowhere, or into itself, still gives
// the type its name.
func (r *reader) follow(n *node, ref string, depth int) {
	target, ok := jsondoc.Resolve(r.root, ref)
	if !ok || r.open[ref] || slices.Contains(n.refs, ref) {
		if name := refName(ref); name != "" && len(n.types) == 0 {
			n.types = append(n.types, name)
		}
		return
	}
	n.refs = append(n.refs[:len(n.refs):len(n.refs)], ref)
	r.resolve(n, target, depth-1)
}

// refName returns the name that a reference ends in, "" if it ends in the number of an
// alternative.
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

// expand marks references as being expanded until the returned function is called.
func (r *reader) expand(refs []string) func() {
	var added []string
	for _, ref := range refs {
		if !r.open[ref] {
			r.open[ref] = true
			added = append(added, ref)
		}
	}
	return func() {
		for _, ref := range added {
			delete(r.open, ref)
		}
	}
}

// inside returns the object within arrays, and the suffix "[]" for each of them.
func (r *reader) inside(n node) (node, string) {
	suffix := ""
	for range 3 {
		if len(n.props) > 0 || n.items == nil {
			break
		}
		refs := n.refs
		n = r.node(n.items)
		n.refs = append(slices.Clone(refs), n.refs...)
		suffix += "[]"
	}
	return n, suffix
}

// typeText writes the type of a node: "array of string", "string (date-time)", "integer or
// string".
func (r *reader) typeText(n *node) string {
	types := n.types
	if len(types) == 0 {
		types = n.impliedTypes()
	}
	out := make([]string, 0, len(types))
	for _, t := range types {
		switch {
		case t == "array" && n.items != nil:
			item := r.node(n.items)
			item.items = nil // the text goes no deeper than an array in an array
			t = arrayOf(r.typeText(&item))
		case t == "string" && n.format != "":
			t = "string (" + n.format + ")"
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " or ")
}

// impliedTypes returns the type of a schema that does not name it.
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

// isDescribed reports whether a schema describes itself in words.
func (n *node) isDescribed() bool { return strings.TrimSpace(n.description) != "" }

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
