package rules

import (
	"github.com/toolstream/toolstream/pkg/schema"
)

// card reads a model card as Gorilla's collections of HuggingFace, TensorFlow
// Hub and Torch Hub write them. Its example is code, which nobody asks for in
// these words.
func card(m map[string]any) schema.Document {
	d := schema.Document{Name: str(first(m, "api_name", "name", "model_name", "api_call"))}
	for _, k := range []string{"domain", "framework", "task", "provider"} {
		d.Tags = append(d.Tags, texts(m[k])...)
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
