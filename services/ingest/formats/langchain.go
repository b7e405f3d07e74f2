package formats

import (
	"regexp"
	"slices"
	"strings"
)

// isLangChain recognises LangChain tools: as dumps writes them, with the constructor
// arguments or only the Python text, and as an object with an args_schema.
func isLangChain(m map[string]any) bool {
	if !has(m, "lc") {
		return str(m, "name") != "" && isObject(m["args_schema"])
	}
	kwargs, _ := m["kwargs"].(map[string]any)
	if str(kwargs, "name") != "" && has(kwargs, "description", "args_schema") {
		return true
	}
	class, _ := m["id"].([]any)
	return langChainName(m) != "" && slices.ContainsFunc(class, func(v any) bool {
		s, _ := v.(string)
		return strings.HasPrefix(s, "tools") || strings.HasSuffix(s, "Tool")
	})
}

// pythonText finds the name in "StructuredTool(name='multiply', description=…)".
var pythonText = regexp.MustCompile(`^\w+\((?:.*, )?name=(?:'([^']*)'|"([^"]*)")`)

// langChainName returns the name in the Python text of a tool that could not be written as
// JSON.
func langChainName(m map[string]any) string {
	if found := pythonText.FindStringSubmatch(str(m, "repr")); found != nil {
		return found[1] + found[2]
	}
	return ""
}
