package rules

import (
	"maps"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// agent reads what owns tools: a catalogue entry, an MCP server's or an API's
// information, or an A2A agent card with its skills.
func agent(m map[string]any) schema.Document {
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

// information returns the part that describes the agent, where that stands
// apart.
func information(m map[string]any) map[string]any {
	for _, wrapper := range []string{"agent", "server", "serverInfo", "info"} {
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
	d.Examples = append(d.Examples, asked(m["examples"])...)
	parts := []string{str(m["name"]), str(m["description"])}
	return strings.Trim(strings.Join(parts, ": "), ": ")
}
