package formats

import "regexp"

// dated are the types of Anthropic's server and client tools, which end in the day of
// their version: "web_search_20250305".
var dated = regexp.MustCompile(`^[a-z][a-z0-9]*(?:_[a-z0-9]+)*_20\d{6}$`)

// hosted are the types of OpenAI's tools, some with a version.
var hosted = regexp.MustCompile(`^(?:web_search|web_search_preview|file_search|code_interpreter|computer|computer_use|computer_use_preview|image_generation|` +
	`local_shell|shell|apply_patch|tool_search)(?:_20\d\d_\d\d_\d\d)?$`)

// isHosted recognises the tools that Anthropic and OpenAI define themselves: they are
// told by their type alone and describe nothing.
func isHosted(m map[string]any) bool {
	if has(m, "description", "parameters", "inputSchema", "input_schema", "function") {
		return false
	}
	t := str(m, "type")
	return dated.MatchString(t) && str(m, "name") != "" || hosted.MatchString(t)
}
