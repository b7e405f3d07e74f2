package rules

import (
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// agent reads what owns tools: a catalogue entry, an MCP server's or an API's
// information, or an A2A agent card with its skills.
func agent(m map[string]any) schema.Document {
	for _, wrapper := range []string{"agent", "server", "serverInfo", "info"} {
		if inner := object(m[wrapper]); inner != nil && str(m["name"]) == "" {
			return withSkills(generic(inner), m)
		}
	}
	return withSkills(generic(m), m)
}

// withSkills adds what an agent says it can do.
func withSkills(d schema.Document, m map[string]any) schema.Document {
	var told []string
	for _, k := range []string{"skills", "tools", "capabilities"} {
		for _, s := range list(m[k]) {
			told = append(told, skill(&d, s))
		}
	}
	d.Description = paragraphs(append([]string{d.Description}, told...)...)
	return d
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
