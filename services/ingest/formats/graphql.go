package formats

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// maxGraphQLTokens bounds the tokens that the parser keeps of a schema: the largest public ones have
// half a million tokens.
const maxGraphQLTokens = 4_000_000

var (
	// rootType begins the part of a schema without which it has no tools.
	rootType = regexp.MustCompile(`(?m)^[ \t]*(?:(?:extend[ \t]+)?type[ \t]+(?:Query|Mutation|Subscription)\b|(?:extend[ \t]+)?schema[ \t]*[@{])`)
	// executable begins a document that is sent to a server.
	executable = regexp.MustCompile(`^(?:query|mutation|subscription|fragment)\b[^:]*\{`)
)

// isSDL recognises a GraphQL schema by the caller's word, its name or its root types.
func isSDL(s *session, text string) bool {
	if !s.opt.mayBe(tooldoc.GraphQL) {
		return false
	}
	kind := fileKind(s.opt.Source)
	return s.opt.Format == tooldoc.GraphQL || kind == tooldoc.GraphQL || kind == "" && extension(s.opt.Source) != ".txt" && rootType.MatchString(text)
}

// splitSDL takes a GraphQL schema as its definition language writes it.
func splitSDL(s *session, text, path string, h head) {
	doc, p := parseSDL(text)
	if p != nil {
		p.ID, p.Path = h.id, path
		s.problem(p)
		return
	}
	splitSchema(s, doc, path, h)
}

func parseSDL(text string) (*ast.SchemaDocument, *Problem) {
	if executable.MatchString(strings.TrimSpace(text)) {
		return nil, &Problem{Reason: NotATool, Detail: "looks like a GraphQL operation: its schema is wanted, in SDL or as introspection answers it"}
	}
	doc, err := parser.ParseSchemaWithLimit(&ast.Source{Input: text}, maxGraphQLTokens)
	if err == nil {
		return doc, nil
	}
	p := &Problem{Reason: InvalidGraphQL, Detail: err.Error()}
	if wrong := (*gqlerror.Error)(nil); errors.As(err, &wrong) {
		if p.Detail = wrong.Message; len(wrong.Locations) > 0 {
			p.Line = wrong.Locations[0].Line
		}
	}
	return nil, p
}

// splitSchema takes a schema that was parsed, of one file or several.
func splitSchema(s *session, doc *ast.SchemaDocument, path string, h head) {
	g := newGraph(append(doc.Definitions, doc.Extensions...))
	for _, d := range append(doc.Schema, doc.SchemaExtension...) {
		for _, root := range d.OperationTypes {
			g.roots[string(root.Operation)] = root.Type
		}
	}
	splitGraph(s, g, path, h)
}

// graph is a GraphQL schema: the types by their names, extensions included, and those
// whose fields are operations.
type graph struct {
	types map[string]*ast.Definition
	roots map[string]string
}

func newGraph(definitions ast.DefinitionList) *graph {
	g := &graph{types: map[string]*ast.Definition{}, roots: map[string]string{"query": "Query", "mutation": "Mutation", "subscription": "Subscription"}}
	for _, d := range definitions {
		known := g.types[d.Name]
		if known == nil {
			g.types[d.Name] = d
			continue
		}
		known.Fields = append(known.Fields, d.Fields...)
		known.EnumValues = append(known.EnumValues, d.EnumValues...)
		known.Types = append(known.Types, d.Types...)
	}
	return g
}

// splitGraph takes each field of the root types as a tool.
func splitGraph(s *session, g *graph, at string, h head) {
	refs := &references{doc: map[string]any{"$defs": g.definitions()}, sizes: map[uintptr]int{}}
	var all []piece
	for _, kind := range []string{"query", "mutation", "subscription"} {
		root := g.types[g.roots[kind]]
		if root == nil {
			continue
		}
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			inputs := make(ast.FieldList, 0, len(f.Arguments))
			for _, a := range f.Arguments {
				inputs = append(inputs, &ast.FieldDefinition{Name: a.Name, Description: a.Description, Type: a.Type, DefaultValue: a.DefaultValue, Directives: a.Directives})
			}
			tool := map[string]any{"name": f.Name, "kind": kind, "inputSchema": fieldsSchema(inputs, true), "outputSchema": typeSchema(f.Type)}
			explain(tool, f.Description, f.Directives)
			p := piece{local: root.Name + "." + f.Name, name: f.Name, at: at, value: tool, refs: refs}
			if f.Position != nil && at == "" {
				p.line = f.Position.Line
			}
			all = append(all, p)
		}
	}
	s.pieces(h, at, tooldoc.GraphQL, "", all)
}

// explain adds a description, with the reason for a deprecation.
func explain(m map[string]any, description string, directives ast.DirectiveList) {
	text := strings.TrimSpace(description)
	if d := directives.ForName("deprecated"); d != nil {
		m["deprecated"] = true
		if reason := d.Arguments.ForName("reason"); reason != nil && reason.Value != nil {
			text = strings.TrimSpace(text + "\n\nDeprecated: " + reason.Value.Raw)
		}
	}
	if text != "" {
		m["description"] = text
	}
}

// definitions makes a JSON Schema of every type.
func (g *graph) definitions() map[string]any {
	out := make(map[string]any, len(g.types))
	for name, d := range g.types {
		m := map[string]any{}
		switch d.Kind {
		case ast.Enum:
			m = enumSchema(d.EnumValues)
		case ast.Union:
			var members []any
			for _, t := range d.Types {
				members = append(members, typeSchema(ast.NamedType(t, nil)))
			}
			m["anyOf"] = members
		case ast.Scalar:
			m["type"] = name
		default:
			m = fieldsSchema(d.Fields, d.Kind == ast.InputObject)
		}
		explain(m, strings.TrimSpace(d.Description+"\n"+str(m, "description")), d.Directives)
		out[name] = m
	}
	return out
}

// enumSchema lists the values of an enum and their meanings.
func enumSchema(values ast.EnumValueList) map[string]any {
	all, said := []any{}, []string{}
	for _, v := range values {
		all = append(all, v.Name)
		about := map[string]any{}
		if explain(about, v.Description, v.Directives); len(about) > 0 {
			said = append(said, fmt.Sprintf("%s: %s", v.Name, str(about, "description")))
		}
	}
	out := map[string]any{"type": "string", "enum": all}
	if len(said) > 0 {
		out["description"] = strings.Join(said, "\n")
	}
	return out
}

func fieldsSchema(fields ast.FieldList, input bool) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range fields {
		m := typeSchema(f.Type)
		explain(m, f.Description, f.Directives)
		if f.DefaultValue != nil {
			m["default"] = f.DefaultValue.String()
			if v, err := jsondoc.Decode([]byte(f.DefaultValue.String()), jsondoc.Limits{}); err == nil {
				m["default"] = v
			}
		} else if input && f.Type.NonNull && !slices.Contains(required, any(f.Name)) {
			required = append(required, f.Name)
		}
		properties[f.Name] = m
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func typeSchema(t *ast.Type) map[string]any {
	if t.Elem != nil {
		return map[string]any{"type": "array", "items": typeSchema(t.Elem)}
	}
	switch t.NamedType {
	case "Int":
		return map[string]any{"type": "integer"}
	case "Float":
		return map[string]any{"type": "number"}
	case "Boolean":
		return map[string]any{"type": "boolean"}
	case "String", "ID":
		return map[string]any{"type": "string"}
	}
	return map[string]any{"$ref": jsondoc.Pointer("#/$defs", t.NamedType)}
}

// isIntrospection recognises a server's answer to an introspection.
func isIntrospection(m map[string]any) bool {
	if data, ok := m["data"].(map[string]any); ok {
		m = data
	}
	return isObject(m["__schema"])
}

// splitIntrospection takes a GraphQL schema as a server answers it.
func splitIntrospection(s *session, n node, h head) {
	if isObject(n.object()["data"]) {
		n = n.at("data")
	}
	n = n.at("__schema")
	m := n.object()
	types, _ := m["types"].([]any)
	var definitions ast.DefinitionList
	for _, v := range types {
		if t, ok := v.(map[string]any); ok && !strings.HasPrefix(str(t, "name"), "__") {
			definitions = append(definitions, introspected(t))
		}
	}
	g := newGraph(definitions)
	for _, kind := range []string{"query", "mutation", "subscription"} {
		root, _ := m[kind+"Type"].(map[string]any)
		g.roots[kind] = str(root, "name")
	}
	splitGraph(s, g, n.path, h)
}

func introspected(t map[string]any) *ast.Definition {
	d := &ast.Definition{Kind: ast.DefinitionKind(str(t, "kind")), Name: str(t, "name"), Description: str(t, "description")}
	for _, v := range slices.Concat(objects(t["fields"]), objects(t["inputFields"])) {
		f := &ast.FieldDefinition{Name: str(v, "name"), Description: str(v, "description"), Type: introspectedType(v["type"]), DefaultValue: introspectedDefault(v), Directives: introspectedDeprecation(v)}
		for _, a := range objects(v["args"]) {
			f.Arguments = append(f.Arguments, &ast.ArgumentDefinition{Name: str(a, "name"), Description: str(a, "description"), Type: introspectedType(a["type"]), DefaultValue: introspectedDefault(a), Directives: introspectedDeprecation(a)})
		}
		d.Fields = append(d.Fields, f)
	}
	for _, v := range objects(t["enumValues"]) {
		d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: str(v, "name"), Description: str(v, "description"), Directives: introspectedDeprecation(v)})
	}
	if d.Kind == ast.Union {
		for _, v := range objects(t["possibleTypes"]) {
			d.Types = append(d.Types, str(v, "name"))
		}
	}
	return d
}

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// introspectedType reads {"kind","name","ofType"}; how deep it is, JSON bounds.
func introspectedType(v any) *ast.Type {
	m, _ := v.(map[string]any)
	inner := func() *ast.Type { return introspectedType(m["ofType"]) }
	switch str(m, "kind") {
	case "NON_NULL":
		t := *inner()
		t.NonNull = true
		return &t
	case "LIST":
		return ast.ListType(inner(), nil)
	}
	return ast.NamedType(str(m, "name"), nil)
}

func introspectedDefault(m map[string]any) *ast.Value {
	if text := str(m, "defaultValue"); text != "" {
		return &ast.Value{Kind: ast.EnumValue, Raw: text} // a literal, which is written as it stands
	}
	return nil
}

func introspectedDeprecation(m map[string]any) ast.DirectiveList {
	if m["isDeprecated"] != true {
		return nil
	}
	reason := &ast.Argument{Name: "reason", Value: &ast.Value{Kind: ast.StringValue, Raw: str(m, "deprecationReason")}}
	return ast.DirectiveList{{Name: "deprecated", Arguments: ast.ArgumentList{reason}}}
}
