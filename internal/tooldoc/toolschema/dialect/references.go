package dialect

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// resolve returns what a reference leads to, nil where that is nothing, and the nearest
// schema around it that has an identifier.
func (w *writer) resolve(ref string, base any) (target, around any) {
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
func (w *writer) anchored(name string) any {
	if w.anchors == nil {
		w.anchors = map[string]any{}
		for _, d := range w.documents {
			w.collect(d)
		}
	}
	return w.anchors[name]
}

func (w *writer) collect(v any) {
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
				w.anchor(name[strings.LastIndexByte(name, '/')+1:], v)
			}
			w.anchor(name, v)
		}
		for _, k := range jsondoc.Keys(v) {
			w.collect(v[k])
		}
	}
}

// anchor notes a name; the first schema that has it stands.
func (w *writer) anchor(name string, v any) {
	if _, taken := w.anchors[name]; !taken && name != "" {
		w.anchors[name] = v
	}
}

// inPlace calls visit with every schema in s, itself included, that is applied to the same
// value as s is.
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

// breakCircles removes references by which a schema would be applied to one value again
// and again. They say nothing.
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

// liftable are the keywords of a part of an object's schema that can stand beside the
// object's own.
var liftable = []string{"type", "properties", "required", "title", "description", "deprecated", "default", "examples"}

// lift puts the properties of the parts of a written object schema beside its own, as far
// as that says the same.
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
