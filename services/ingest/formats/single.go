package formats

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// nameOf returns what the document calls the tool, and the pointer to where
// that stands or should.
func nameOf(format string, m map[string]any) (name, path string) {
	if format == tooldoc.OpenAPI {
		return operationName(m), "/path"
	}
	for _, pointer := range tooldoc.FormatOf(format).Names {
		i := strings.LastIndexByte(pointer, '/')
		parent, _ := jsondoc.Resolve(m, "#"+pointer[:i])
		if o, ok := parent.(map[string]any); ok {
			if name = strings.TrimSpace(str(o, pointer[i+1:])); name != "" {
				return name, pointer
			}
			if path == "" {
				path = pointer
			}
		}
	}
	if format == tooldoc.LangChain {
		name = langChainName(m)
	}
	if format == tooldoc.Python {
		name = pythonName(str(m, "func_description"))
	}
	return name, path
}

// readSingle reads an object that is one tool or provider.
func readSingle(s *session, n node, h head, format string, several bool) {
	m := n.object()
	it := Item{Kind: s.kind(h), Format: format, Path: n.path}
	if format == tooldoc.Provider {
		it.Kind = schema.KindProvider
	}
	name, p := checkedName(s, m, h, format)
	if it.Name = name; p == nil {
		p = check(format, m)
	}
	if p == nil && !s.identified(h) {
		it.ID, p = ownID(format, m, name)
	}
	if p != nil {
		p.Path = n.path + p.Path
		if p.ID == "" {
			p.ID = h.id
		}
		s.problem(p)
		return
	}
	it.Raw, it.Hash = n.raw(), jsondoc.Hash(n.value)
	o := origin{head: h, local: name, several: several}
	if !h.wrapped && format == tooldoc.RapidAPI {
		o.own = ownerID(str(m, "tool_name"))
	}
	if !h.wrapped && (format == tooldoc.MCP || format == tooldoc.Function) {
		o.own = rowOwner(m)
	}
	if format == tooldoc.OpenAPI {
		o.local = endpoint(m)
	}
	s.finish(it, o)
}

// checkedName returns the tool's name, which only an explicit id can replace.
func checkedName(s *session, m map[string]any, h head, format string) (string, *Problem) {
	name, path := nameOf(format, m)
	switch v, there := jsondoc.Resolve(m, "#"+path); {
	case name == "" && (s.identified(h) || str(m, "id") != ""):
		return "", nil
	case name == "" && there && v != nil && v != "":
		return "", &Problem{Path: path, Reason: WrongType, Detail: "a name is a string"}
	case name == "":
		return "", &Problem{Path: path, Reason: Required, Detail: "a tool needs a name or an id"}
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", &Problem{Path: path, Reason: InvalidName, Detail: "control characters are not allowed"}
	case len(name) > maxName:
		return "", &Problem{Path: path, Reason: InvalidName, Detail: fmt.Sprintf("%d bytes, at most %d", len(name), maxName)}
	}
	return name, nil
}

// ownID returns the id that the document itself gives, "" if its name and
// provider are to make one: if a format has names of its own they identify,
// elsewhere a member id does.
func ownID(format string, m map[string]any, name string) (string, *Problem) {
	own := str(m, "id")
	if own == "" || name != "" && format != tooldoc.JSON && format != tooldoc.Provider {
		return "", nil
	}
	id, err := normalID(own)
	if err != nil {
		return "", &Problem{ID: cut(own, schema.MaxID), Path: "/id", Reason: InvalidID, Detail: err.Error()}
	}
	return id, nil
}

// check refuses a description of parameters that cannot be one, and more
// parameters than a tool may have. All else is read as it is.
func check(format string, m map[string]any) *Problem {
	n, at := 0, ""
	for _, path := range tooldoc.FormatOf(format).Inputs {
		input, there := jsondoc.Resolve(m, "#"+path)
		if !there {
			continue
		}
		if at == "" {
			at = path
		}
		switch v := input.(type) {
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				v = properties
			}
			n += len(v)
		case []any:
			n += len(v)
		case nil, bool:
		default:
			if format == tooldoc.MCP || format == tooldoc.Function {
				return &Problem{Path: path, Reason: WrongType, Detail: fmt.Sprintf("a JSON Schema is an object, have %s", schema.Quote(v))}
			}
		}
	}
	if n > maxParameters {
		return &Problem{Path: at, Reason: TooManyParameters, Detail: fmt.Sprintf("%d, at most %d", n, maxParameters)}
	}
	return nil
}
