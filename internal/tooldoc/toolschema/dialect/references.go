package dialect

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// resolver resolves references into documents.
type resolver struct {
	documents []any          // the nearest first
	anchors   map[string]any // of the documents, by "#anchor" and identifier; nil until first needed
}

// resolve returns the target of a reference, or nil, and the nearest schema around it that
// has an identifier.
func (w *resolver) resolve(ref string, base any) (target, around any) {
	place, fragment, _ := strings.Cut(ref, "#")
	from := w.documents
	if base != nil {
		from = append([]any{base}, from...)
	}
	if place != "" {
		named := w.anchored(place)
		if named == nil {
			return nil, nil
		}
		from, base = []any{named}, named
	}
	if fragment != "" && fragment[0] != '/' {
		return w.anchored("#" + fragment), base
	}
	for _, document := range from {
		if v, ok := jsondoc.Resolve(document, "#"+fragment); ok {
			return v, base
		}
	}
	return nil, nil
}

// anchored returns the schema with an anchor, "#name", or an identifier.
func (w *resolver) anchored(name string) any {
	if w.anchors == nil {
		w.anchors = map[string]any{}
		for _, d := range w.documents {
			w.collect(d)
		}
	}
	return w.anchors[name]
}

// collect adds the anchors and identifiers in v. The first schema with a name keeps it.
func (w *resolver) collect(v any) {
	add := func(name string, v any) {
		if _, taken := w.anchors[name]; !taken && name != "" {
			w.anchors[name] = v
		}
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			w.collect(e)
		}
	case map[string]any:
		for _, k := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
			name, ok := v[k].(string)
			if !ok || name == "" {
				continue
			}
			if strings.HasSuffix(k, "nchor") {
				name = "#" + name
			} else if name[0] != '#' {
				name, _, _ = strings.Cut(name, "#")
				add(name[strings.LastIndexByte(name, '/')+1:], v)
			}
			add(name, v)
		}
		for _, k := range jsondoc.Keys(v) {
			w.collect(v[k])
		}
	}
}

// inPlace calls visit with s and every schema in it that applies to the same value.
func inPlace(s any, visit func(map[string]any)) {
	m, ok := s.(map[string]any)
	if !ok {
		return
	}
	visit(m)
	for _, k := range []string{"allOf", "anyOf"} {
		for _, part := range list(m[k]) {
			inPlace(part, visit)
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		inPlace(m[k], visit)
	}
	dependent, _ := m["dependentSchemas"].(map[string]any)
	for _, name := range jsondoc.Keys(dependent) {
		inPlace(dependent[name], visit)
	}
}

// breakCircles removes references that would apply a schema to the same value endlessly.
// They say nothing.
func breakCircles(root map[string]any, defs map[string]any) {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(s any)
	visit = func(s any) {
		inPlace(s, func(m map[string]any) {
			name, ok := target(m)
			switch {
			case !ok || state[name] == done:
			case state[name] == open:
				delete(m, "$ref")
			default:
				state[name] = open
				visit(defs[name])
				state[name] = done
			}
		})
	}
	visit(root)
	for _, name := range jsondoc.Keys(defs) {
		if state[name] == 0 {
			state[name] = open
			visit(defs[name])
			state[name] = done
		}
	}
}

// target returns the name of the definition that a written schema refers to.
func target(m map[string]any) (string, bool) {
	ref, _ := m["$ref"].(string)
	return strings.CutPrefix(ref, "#/$defs/")
}

// liftable are the keywords of a part of an object's schema that can join the object's own.
var liftable = []string{"type", "properties", "required", "title", "description", "deprecated", "default", "examples"}

// lift moves the properties of the parts of a written object schema to the schema itself if
// that changes no meaning.
func lift(out map[string]any) {
	defs, _ := out["$defs"].(map[string]any)
	props := member(out, "properties")
	var stay []any
	for _, part := range list(out["allOf"]) {
		m, _ := part.(map[string]any)
		if name, ok := target(m); ok && len(m) == 1 {
			m, _ = defs[name].(map[string]any)
		}
		if !canLift(m, props) {
			stay = append(stay, part)
			continue
		}
		own, _ := m["properties"].(map[string]any)
		for name, s := range own {
			props[name] = s
		}
		if names := distinct(append(slices.Clone(list(out["required"])), list(m["required"])...)); len(names) > 0 {
			out["required"] = names
		}
		if out["description"] == nil && m["description"] != nil {
			out["description"] = m["description"]
		}
	}
	delete(out, "allOf")
	if len(stay) > 0 {
		out["allOf"] = stay
	}
}

func canLift(m, props map[string]any) bool {
	if m == nil || !allowsObject(m) {
		return false
	}
	for k := range m {
		if !slices.Contains(liftable, k) {
			return false
		}
	}
	own, _ := m["properties"].(map[string]any)
	for name := range own {
		if _, taken := props[name]; taken {
			return false
		}
	}
	return true
}

// prune removes the definitions that nothing refers to.
func prune(out map[string]any) {
	defs, _ := out["$defs"].(map[string]any)
	used := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			if name, ok := target(v); ok && !used[name] {
				used[name] = true
				visit(defs[name])
			}
			for k, e := range v {
				if k != "$defs" {
					visit(e)
				}
			}
		}
	}
	visit(out)
	for name := range defs {
		if !used[name] {
			delete(defs, name)
		}
	}
	if len(defs) == 0 {
		delete(out, "$defs")
	}
}
