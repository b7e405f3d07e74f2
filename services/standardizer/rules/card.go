package rules

import (
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// card reads a model card, as Gorilla's collections of HuggingFace, TensorFlow
// Hub and Torch Hub write them or as the HuggingFace Hub answers. Its example
// is code, which nobody asks for in these words.
func card(m map[string]any) schema.Document {
	d := schema.Document{Name: str(first(m, "api_name", "name", "model_name", "modelId", "model_id", "id", "api_call"))}
	for _, k := range []string{"domain", "framework", "task", "provider", "pipeline_tag", "library_name", "tags"} {
		for _, t := range texts(m[k]) {
			if !strings.Contains(t, ":") { // "license:mit", "region:us"
				d.Tags = append(d.Tags, t)
			}
		}
	}
	d.Parameters, d.Flags = parameters(first(m, "api_arguments", "arguments", "parameters"), "input")
	d.Response = response(first(m, "output", "outputs", "returns", "response"))
	d.Examples = asked(first(m, "questions", "queries", "example_queries"))
	documented(&d, paragraphs(str(m["functionality"]), str(first(m, "description", "explanation")), evaluated(m["performance"])))
	return d
}

// evaluated names what a model was measured on.
func evaluated(performance any) string {
	sets := texts(object(performance)["dataset"])
	for _, l := range list(object(performance)["dataset"]) {
		sets = append(sets, str(object(l)["dataset"]))
	}
	out := ""
	for _, s := range sets {
		if substance(s) == "" {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += s
	}
	if out == "" {
		return ""
	}
	return "Evaluated on " + out + "."
}
