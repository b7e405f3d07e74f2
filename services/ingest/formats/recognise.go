package formats

import "github.com/toolstream/toolstream/internal/tooldoc"

// recognise says which format a single object has.
func recognise(m map[string]any) string {
	switch {
	case has(m, "method") && has(m, "path") && isObject(m["operation"]): // without its document
		return tooldoc.OpenAPI
	case isFunction(m):
		return tooldoc.Function
	case isLangChain(m):
		return tooldoc.LangChain
	case isHosted(m):
		return tooldoc.Hosted
	case isCard(m):
		return tooldoc.Card
	case isEndpoint(m):
		return tooldoc.RapidAPI
	case has(m, "name") && has(m, "inputSchema", "outputSchema"):
		return tooldoc.MCP
	case pythonName(str(m, "func_description")) != "":
		return tooldoc.Python
	case str(m, "kind") == "provider", str(m, "kind") == "agent":
		return tooldoc.Provider
	}
	return tooldoc.JSON
}

// isFunction recognises the function schemas of OpenAI, wrapped or bare, of
// Anthropic, and of Amazon Bedrock.
func isFunction(m map[string]any) bool {
	for _, wrapper := range []string{"function", "toolSpec"} {
		if f, ok := m[wrapper].(map[string]any); ok && has(f, "name", "parameters", "inputSchema") {
			return true
		}
	}
	p, _ := m["parameters"].(map[string]any)
	return has(m, "name") && (str(m, "type") == "function" || has(m, "input_schema") || str(p, "type") == "object" || isObject(p["properties"]))
}

// isCard recognises model cards: Gorilla's API cards and what the Hugging Face
// Hub answers.
func isCard(m map[string]any) bool {
	switch {
	case has(m, "api_call") && has(m, "api_name", "functionality", "domain", "framework"):
		return true
	case has(m, "domain") && has(m, "framework", "functionality"):
		return true
	}
	return has(m, "modelId", "model_id", "pipeline_tag") && has(m, "tags", "id", "library_name", "pipeline_tag", "cardData", "description")
}

// isEndpoint recognises RapidAPI's endpoints as ToolBench has them, in a
// collection's list too, with only name, url and parameters.
func isEndpoint(m map[string]any) bool {
	if has(m, "required_parameters", "optional_parameters") {
		return has(m, "api_name", "name")
	}
	return has(m, "api_name") && has(m, "tool_name", "category_name") && !has(m, "parameters", "responses")
}

// isDocument recognises whole OpenAPI and Swagger documents, also without their version.
func isDocument(m map[string]any) bool {
	if has(m, "openapi", "swagger") {
		return has(m, "paths", "info", "webhooks", "components") || !has(m, "name", "id")
	}
	return isObject(m["paths"]) && isObject(m["info"])
}
