package rules

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// langchain reads a serialised LangChain tool: {"lc","id","kwargs"}, the kwargs alone, or
// only the Python text of the tool.
func langchain(m map[string]any) schema.Document {
	if kwargs := object(m["kwargs"]); kwargs != nil {
		m = kwargs
	} else if repr := str(m["repr"]); repr != "" {
		m = map[string]any{"name": keyword(repr, "name"), "description": keyword(repr, "description")}
	}
	d := schema.Document{Name: str(m["name"]), Tags: words(m["tags"])}
	input := object(m["args_schema"])
	if input["lc"] == nil { // otherwise a class that could not be serialised
		d.Parameters, d.Flags = fromSchema(m["args_schema"])
	}
	said := str(m["description"])
	if sig, rest, ok := signed(said, d.Name); ok {
		if said = rest; len(d.Parameters) == 0 {
			d.Parameters = sig.parameters
		}
	}
	addDocumentation(&d, said)
	return d
}

// signed splits "multiply(a: int, b: int) -> int - Multiplies.", as old versions wrote
// the description of the tool multiply.
func signed(said, name string) (sig pythonFunction, rest string, ok bool) {
	if name == "" || !strings.HasPrefix(said, name+"(") {
		return sig, said, false
	}
	head, rest, found := strings.Cut(said, " - ")
	if !found {
		return sig, said, false
	}
	sig, ok = signature(head)
	return sig, rest, ok
}

// keyword returns the value of a keyword argument that is a Python string.
func keyword(repr, name string) string {
	m := regexp.MustCompile(`[(\s]` + name + `=(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`).FindStringSubmatch(repr)
	if m == nil {
		return ""
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\'`, "'", `\"`, `"`, `\\`, `\`).Replace(m[1] + m[2])
}
