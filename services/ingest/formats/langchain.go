package formats

import (
	"regexp"
	"slices"
	"strings"
)

// isLangChain recognises tools of LangChain: as its dumps writes them, with what it was
// constructed with or only its Python text, and as an object with an args_schema.
func isLangChain(m map[string]any) bool {
	if !has(m, "lc") {
		return str(m, "name") != "" && isObject(m["args_schema"])
	}
	kwargs, _ := m["kwargs"].(map[string]any)
	if str(kwargs, "name") != "" && has(kwargs, "description", "args_schema") {
		return true
	}
	return langChainName(m) != "" && slices.ContainsFunc(classPath(m), func(s string) bool { return strings.HasPrefix(s, "tools") || strings.HasSuffix(s, "Tool") })
}

func classPath(m map[string]any) []string {
	id, _ := m["id"].([]any)
	var out []string
	for _, v := range id {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// pythonText finds the name in "StructuredTool(name='multiply', description=…)".
var pythonText = regexp.MustCompile(`^\w+\((?:.*, )?name=(?:'([^']*)'|"([^"]*)")`)

// langChainName returns the name in the Python text that stands for a tool which could
// not be written as JSON.
func langChainName(m map[string]any) string {
	if found := pythonText.FindStringSubmatch(str(m, "repr")); found != nil {
		return found[1] + found[2]
	}
	return ""
}
