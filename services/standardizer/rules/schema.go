package rules

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of the work on one JSON Schema with everything it refers to.
const (
	schemaBudget  = 20_000 // schemas looked at
	schemaNesting = 32     // references and compositions inside one another
	maxCollected  = 4096   // parameters before the choice of which to keep
)

// walker turns JSON Schemas into parameters. Its root is the document that
// references point into.
type walker struct {
	root      any
	out       []schema.Parameter
	path      map[string]bool // references being expanded, so that none is inside itself
	budget    int
	truncated bool
}

func newWalker(root any) *walker {
	return &walker{root: root, path: map[string]bool{}, budget: schemaBudget}
}

// schemaParameters returns the properties of an object schema; a schema of
// anything else is one parameter with the given name.
func schemaParameters(s any, name string) ([]schema.Parameter, []string) {
	w := newWalker(s)
	w.body(s, name, true)
	return w.result()
}

func (w *walker) result() ([]schema.Parameter, []string) {
	if w.truncated || len(w.out) > maxParameters {
		return w.out, []string{FlagTruncated}
	}
	return w.out, nil
}

// body adds the properties of a schema without a prefix, or the schema as one
// parameter where it is not an object with properties.
func (w *walker) body(s any, name string, required bool) {
	n := w.node(s)
	switch {
	case len(n.props) > 0:
		w.properties(n, "", required, 1)
	case n.never || (name == "" || n.typeText(w) == "object" || n.typeText(w) == "") && n.text() == "":
	default:
		w.add(name, n, required, 1)
	}
}

// properties adds those of an object: the required ones first, each group by
// name.
func (w *walker) properties(n node, prefix string, required bool, depth int) {
	defer w.enter(n.refs)()
	names := jsondoc.Keys(n.props)
	for _, wanted := range []bool{true, false} {
		for _, name := range names {
			if (n.required[name] || draft3Required(n.props[name])) == wanted {
				w.property(prefix+name, n.props[name], required && wanted, depth)
			}
		}
	}
}

// draft3Required reports the "required": true of draft 3, on the property itself.
func draft3Required(s any) bool { return object(s)["required"] == true }

func (w *walker) property(name string, s any, required bool, depth int) {
	if len(w.out) >= maxCollected || w.budget <= 0 {
		w.truncated = true
		return
	}
	if n := w.node(s); !n.never && !n.readOnly {
		w.add(name, n, required, depth)
	}
}

// add adds a parameter, or the parameters inside it: an object that nothing is
// said of is only a prefix.
func (w *walker) add(name string, n node, required bool, depth int) {
	inner, suffix := w.inside(n)
	nested := len(inner.props) > 0 && depth < maxDepth
	if !nested || n.text() != "" {
		w.out = append(w.out, w.parameter(name, n, required))
	}
	if nested {
		defer w.enter(n.refs)()
		w.properties(inner, name+suffix+".", required, depth+1)
	}
}

// inside returns the object within arrays, and how its place is written.
func (w *walker) inside(n node) (node, string) {
	suffix := ""
	for range 3 {
		if len(n.props) > 0 || n.items == nil {
			break
		}
		refs := n.refs
		n = w.node(n.items)
		n.refs = append(slices.Clone(refs), n.refs...)
		suffix += "[]"
	}
	return n, suffix
}

// enter marks references as being expanded until the returned function is
// called.
func (w *walker) enter(refs []string) func() {
	var added []string
	for _, r := range refs {
		if !w.path[r] {
			w.path[r] = true
			added = append(added, r)
		}
	}
	return func() {
		for _, r := range added {
			delete(w.path, r)
		}
	}
}

func (w *walker) parameter(name string, n node, required bool) schema.Parameter {
	p := schema.Parameter{
		Name: name, Type: n.typeText(w), Required: required,
		Description: n.description, Default: shortText(n.def), Example: shortText(n.example),
	}
	if p.Description == "" && fold(n.title) != fold(lastName(name)) {
		p.Description = n.title
	}
	enum := n.enum
	if enum == nil && n.items != nil {
		enum = w.node(n.items).enum
	}
	for _, v := range enum[:min(len(enum), maxEnum)] {
		if s := str(v); s != "" && !slices.Contains(p.Enum, s) {
			p.Enum = append(p.Enum, s)
		}
	}
	return p
}

func lastName(dotted string) string {
	return strings.TrimSuffix(dotted[strings.LastIndexByte(dotted, '.')+1:], "[]")
}
