package rules

import (
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// agentSkill reads a skill of an A2A agent: {"id","name","description","tags","examples",
// "outputModes","agent"}. Its examples are requests in any form.
func agentSkill(m map[string]any) schema.Document {
	d := schema.Document{Name: cmpOr(str(m["name"]), str(m["id"]))}
	d.Tags = append(words(m["tags"]), str(object(m["agent"])["name"]))
	d.Examples = words(m["examples"])
	if modes := words(m["outputModes"]); len(modes) > 0 {
		d.Response = "Answers with " + strings.Join(modes, ", ") + "."
	}
	addDocumentation(&d, str(m["description"]))
	return d
}

// skillFile reads a SKILL.md: {"front_matter","instructions"}. Its front matter comes before
// the instructions.
func skillFile(m map[string]any) schema.Document {
	front := object(m["front_matter"])
	if front == nil {
		return generic(m)
	}
	d := genericObject(front)
	addDocumentation(&d, str(m["instructions"]))
	return d
}
