package formats

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	tooloperation "github.com/toolstream/toolstream/internal/tooldoc/operation"
)

// isDiscovery recognises the discovery documents of Google's APIs.
func isDiscovery(m map[string]any) bool { return str(m, "kind") == "discovery#restDescription" }

// splitDiscovery takes each method of a discovery document as an OpenAPI operation.
func splitDiscovery(s *session, n node, h head) {
	m := n.object()
	doc := map[string]any{
		"servers":    []any{map[string]any{"url": strings.TrimRight(str(m, "rootUrl")+str(m, "servicePath"), "/")}},
		"components": map[string]any{"schemas": openAPISchema(m["schemas"])},
	}
	a := &api{doc: doc, refs: &references{doc: doc, sizes: map[uintptr]int{}}, head: headed(m, "title", "version", "description")}
	splitOperations(s, a, methodsOf(s, m, n.path, h), origin{head: h, own: ownerID(str(m, "name")), several: true}, n.path)
}

// methodsOf lists the methods of a discovery document or of a resource in it.
func methodsOf(s *session, m map[string]any, at string, h head) (out []operation) {
	methods, _ := m["methods"].(map[string]any)
	for _, k := range jsondoc.Keys(methods) {
		method, _ := methods[k].(map[string]any)
		at := jsondoc.Pointer(at, "methods", k)
		if str(method, "httpMethod") == "" || str(method, "path") == "" {
			s.refuse(h, at, Required, "a method needs an httpMethod and a path")
			continue
		}
		path := "/" + strings.ReplaceAll(str(method, "flatPath", "path"), "{+", "{")
		out = append(out, operation{method: str(method, "httpMethod"), path: path, value: methodOperation(method, path), at: at})
	}
	resources, _ := m["resources"].(map[string]any)
	for _, k := range jsondoc.Keys(resources) {
		resource, _ := resources[k].(map[string]any)
		out = append(out, methodsOf(s, resource, jsondoc.Pointer(at, "resources", k), h)...)
	}
	return out
}

// methodOperation returns a method as an OpenAPI operation. A variable of several segments,
// {+parent}, is replaced by the variables that the flat path has for its segments.
func methodOperation(method map[string]any, path string) map[string]any {
	op := map[string]any{"operationId": str(method, "id"), "description": str(method, "description")}
	if method["deprecated"] == true {
		op["deprecated"] = true
	}
	declared, _ := method["parameters"].(map[string]any)
	parameters, missing, about := []any{}, tooloperation.Variables(path), ""
	for _, name := range jsondoc.Keys(declared) {
		p, _ := declared[name].(map[string]any)
		i := slices.Index(missing, name)
		if i < 0 && str(p, "location") == "path" {
			about = str(p, "description")
			continue
		}
		if i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
		schema, _ := openAPISchema(p).(map[string]any)
		maps.DeleteFunc(schema, func(k string, _ any) bool {
			return slices.Contains([]string{"description", "location", "repeated"}, k)
		})
		if p["repeated"] == true {
			schema = map[string]any{"type": "array", "items": schema}
		}
		parameters = append(parameters, map[string]any{
			"name": name, "in": str(p, "location"), "required": p["required"] == true, "description": str(p, "description"), "schema": schema,
		})
	}
	for _, name := range missing {
		parameters = append(parameters, map[string]any{
			"name": name, "in": "path", "required": true, "description": about, "schema": map[string]any{"type": "string"},
		})
	}
	op["parameters"] = parameters
	if request, ok := method["request"].(map[string]any); ok {
		op["requestBody"] = jsonContent(request)
	}
	response := map[string]any{"description": "OK"}
	if answer, ok := method["response"].(map[string]any); ok {
		response = jsonContent(answer)
	}
	op["responses"] = map[string]any{"200": response}
	return op
}

func jsonContent(schema map[string]any) map[string]any {
	return map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": openAPISchema(schema)}}}
}

// openAPISchema returns a schema of a discovery document, or a value in one, as OpenAPI has
// it: its references are names of schemas, and its id and a required that is not a list are no
// keywords.
func openAPISchema(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = openAPISchema(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			text, isText := e.(string)
			_, isBool := e.(bool)
			switch {
			case k == "$ref" && isText:
				out[k] = jsondoc.Pointer("#/components/schemas", text)
			case k == "id" && isText, k == "required" && isBool:
			default:
				out[k] = openAPISchema(e)
			}
		}
		return out
	}
	return v
}
