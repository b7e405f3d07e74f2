package rules

import (
	"maps"
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
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

// function reads a tool as the Model Context Protocol lists it, or as OpenAI,
// Anthropic and Amazon Bedrock describe it to a model, bare or wrapped in
// {"type": "function", "function": …}.
func function(m map[string]any) schema.Document {
	m = toolschema.Unwrapped(m)
	input, output := toolschema.Declared(m)
	d := schema.Document{Name: str(m["name"]), Title: cmpOr(str(m["title"]), str(object(m["annotations"])["title"]))}
	d.Parameters, d.Flags = fromSchema(input)
	d.Response = response(output)
	d.Examples = exampleRequests(first(m, "examples", "input_examples", "example_queries"))
	addDocumentation(&d, str(m["description"]))
	return d
}

// method reads a method of a protobuf service: {"name","inputSchema","outputSchema",
// "service"}. A method without a description has that of its service.
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

// rapidapi reads an endpoint as ToolBench describes the endpoints of RapidAPI.
func rapidapi(m map[string]any) schema.Document {
	d := schema.Document{
		Name: cmpOr(str(m["api_name"]), str(m["name"])),
		Tags: append(texts(first(m, "tool_name")), texts(first(m, "category_name", "category"))...),
	}
	c := newCollector(m)
	for _, group := range []struct {
		key      string
		required bool
	}{{"required_parameters", true}, {"optional_parameters", false}} {
		for _, v := range list(m[group.key]) {
			p := object(v)
			name := itemName(p)
			if name == "" {
				continue
			}
			n := c.node(p)
			if n.example == nil && n.def != "" { // the site fills its form with the default
				n.example = n.def
			}
			n.def = nil
			c.add(name, n, group.required, 1)
		}
	}
	d.Parameters, d.Flags = c.result()
	d.Response = templateResponse(first(m, "template_response", "response"))
	addDocumentation(&d, str(first(m, "api_description", "description")))
	return d
}

var templateKey = regexp.MustCompile(`"([A-Za-z_][\w.-]*)\\*"\s*:`)

// templateResponse names the fields of a sample answer whose values are the names of their
// types. A sample that was cut off is not JSON any more; a text that never was JSON comes
// back as it is.
func templateResponse(v any) string {
	s, isText := jsondoc.Embedded(v).(string)
	if !isText {
		switch v := jsondoc.Embedded(v).(type) {
		case map[string]any, []any:
			s := sampled(v, 3, "_list_length") // ToolBench's word for omitted elements
			return describeSchema(s, s)
		}
		return ""
	}
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

// provider reads an owner of tools: a catalogue entry, the information of an MCP server or
// an API, or an A2A agent card with its skills.
func provider(m map[string]any) schema.Document {
	rest := maps.Clone(m)
	var skills []any
	for _, k := range []string{"skills", "tools", "capabilities"} {
		skills = append(skills, list(m[k])...)
		delete(rest, k)
	}
	about := rest
	for _, wrapper := range []string{"provider", "agent", "server", "serverInfo", "info"} {
		if inner := object(rest[wrapper]); inner != nil && str(rest["name"]) == "" {
			about = inner
			break
		}
	}
	d := generic(about)
	texts := []string{d.Description}
	for _, s := range skills {
		skill := object(s)
		if skill == nil {
			name, _ := s.(string)
			texts = append(texts, name)
			continue
		}
		d.Tags = append(d.Tags, words(skill["tags"])...)
		d.Examples = append(d.Examples, exampleRequests(skill["examples"])...)
		texts = append(texts, strings.Trim(str(skill["name"])+": "+str(skill["description"]), ": "))
	}
	d.Description = paragraphs(texts...)
	return d
}
