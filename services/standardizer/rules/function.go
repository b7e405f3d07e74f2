package rules

import (
	"github.com/toolstream/toolstream/pkg/schema"
)

// function reads a function as OpenAI and Anthropic describe it to a model,
// bare or wrapped in {"type": "function", "function": …}.
func function(m map[string]any) schema.Document {
	for _, wrapper := range []string{"function", "toolSpec", "tool"} {
		if inner := object(m[wrapper]); inner != nil {
			m = inner
			break
		}
	}
	input := first(m, "parameters", "input_schema", "inputSchema", "parametersJsonSchema")
	if wrapped := object(object(input)["json"]); wrapped != nil {
		input = wrapped
	}
	d := schema.Document{Name: str(m["name"]), Title: str(m["title"])}
	d.Parameters, d.Flags = declared(input)
	d.Response = response(first(m, "returns", "response", "responses", "output_schema", "outputSchema", "results"))
	d.Examples = asked(first(m, "examples", "input_examples", "example_queries"))
	documented(&d, str(m["description"]))
	return d
}
