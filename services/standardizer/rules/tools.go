package rules

import (
	"maps"
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// first returns the value of the first key that has one.
func first(m map[string]any, keys ...string) any {
	for _, k := range keys {
		if v := m[k]; v != nil {
			return v
		}
	}
	return nil
}

// unwrapped returns the tool inside {"type": "function", "function": …} and its like.
func unwrapped(m map[string]any) map[string]any {
	for _, wrapper := range []string{"function", "toolSpec", "tool"} {
		if inner := object(m[wrapper]); inner != nil {
			return inner
		}
	}
	return m
}

// function reads a tool as the Model Context Protocol lists it, or as OpenAI,
// Anthropic and Amazon Bedrock describe it to a model, bare or wrapped in
// {"type": "function", "function": …}.
func function(m map[string]any) schema.Document {
	m = unwrapped(m)
	input := first(m, "inputSchema", "input_schema", "parameters", "parametersJsonSchema")
	if wrapped := object(object(input)["json"]); wrapped != nil {
		input = wrapped
	}
	d := schema.Document{Name: str(m["name"]), Title: cmpOr(str(m["title"]), str(object(m["annotations"])["title"]))}
	d.Parameters, d.Flags = fromSchema(input)
	d.Response = response(first(m, "outputSchema", "output_schema", "returns", "response", "responses", "results"))
	d.Examples = exampleRequests(first(m, "examples", "input_examples", "example_queries"))
	addDocumentation(&d, str(m["description"]))
	return d
}

// method reads a method of a protobuf service: {"name","inputSchema","outputSchema",
// "service"}. Of one that nothing is said of, the service tells what it is for.
func method(m map[string]any) schema.Document {
	d := function(m)
	service := object(m["service"])
	name := str(service["name"])
	d.Tags = append(d.Tags, name[strings.LastIndexByte(name, '.')+1:])
	if d.Description == "" {
		addDocumentation(&d, str(service["description"]))
	}
	return d
}

// rapidapi reads an endpoint as ToolBench writes those of RapidAPI.
func rapidapi(m map[string]any) schema.Document {
	d := schema.Document{
		Name: cmpOr(str(m["api_name"]), str(m["name"])),
		Tags: append(texts(first(m, "tool_name")), texts(first(m, "category_name", "category"))...),
	}
	w := newWalker(m)
	for _, group := range []struct {
		key      string
		required bool
	}{{"required_parameters", true}, {"optional_parameters", false}} {
		for _, p := range list(m[group.key]) {
			w.endpointParameter(object(p), group.required)
		}
	}
	d.Parameters, d.Flags = w.result()
	d.Response = templateResponse(first(m, "template_response", "response"))
	addDocumentation(&d, str(first(m, "api_description", "description")))
	return d
}

// endpointParameter takes the group's word for what is required. The default
// is what the site's form is filled with, so it is an example.
func (w *walker) endpointParameter(p map[string]any, required bool) {
	name := itemName(p)
	if name == "" {
		return
	}
	n := w.node(p)
	if n.example == nil && n.def != "" {
		n.example = n.def
	}
	n.def = nil
	w.add(name, n, required, 1)
}

// templateResponse tells the fields of a sample answer whose values are the
// names of their types.
func templateResponse(v any) string {
	switch v := embedded(v).(type) {
	case map[string]any, []any:
		s := shape(v, 3)
		return describeSchema(s, s)
	case string:
		return templateKeys(v)
	}
	return ""
}

var templateKey = regexp.MustCompile(`"([A-Za-z_][\w.-]*)\\*"\s*:`)

// templateKeys tells the fields of a template that was cut off and is no JSON
// any more, or gives back what never was any.
func templateKeys(s string) string {
	if s = strings.Trim(s, "\" "); s == "" || scalarType(s) != "" {
		return ""
	}
	if !strings.ContainsRune("{[", rune(s[0])) {
		return s
	}
	props := map[string]any{}
	for _, m := range templateKey.FindAllStringSubmatch(s, maxEnum) {
		props[m[1]] = true
	}
	return describeSchema(nil, map[string]any{"properties": props})
}

// provider reads what owns tools: a catalogue entry, an MCP server's or an API's
// information, or an A2A agent card with its skills.
func provider(m map[string]any) schema.Document {
	rest := maps.Clone(m)
	var skills []any
	for _, k := range []string{"skills", "tools", "capabilities"} {
		skills = append(skills, list(m[k])...)
		delete(rest, k)
	}
	d := generic(information(rest))
	told := []string{d.Description}
	for _, s := range skills {
		told = append(told, skill(&d, s))
	}
	d.Description = paragraphs(told...)
	return d
}

// information returns the part that describes the provider, where that stands
// apart.
func information(m map[string]any) map[string]any {
	for _, wrapper := range []string{"provider", "agent", "server", "serverInfo", "info"} {
		if inner := object(m[wrapper]); inner != nil && str(m["name"]) == "" {
			return inner
		}
	}
	return m
}

// skill returns "Name: description", and adds the skill's tags and examples.
func skill(d *schema.Document, v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	m := object(v)
	d.Tags = append(d.Tags, words(m["tags"])...)
	d.Examples = append(d.Examples, exampleRequests(m["examples"])...)
	parts := []string{str(m["name"]), str(m["description"])}
	return strings.Trim(strings.Join(parts, ": "), ": ")
}
