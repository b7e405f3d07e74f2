package formats

// recognise says which format a single object has.
func recognise(m map[string]any) string {
	switch {
	case isOperation(m):
		return OpenAPI
	case isFunction(m):
		return Function
	case isLangChain(m):
		return LangChain
	case isHosted(m):
		return Hosted
	case isCard(m):
		return Card
	case isEndpoint(m):
		return RapidAPI
	case has(m, "name") && has(m, "inputSchema", "outputSchema"):
		return MCP
	case pythonName(str(m, "func_description")) != "":
		return Python
	case str(m, "kind") == "provider", str(m, "kind") == "agent":
		return Provider
	}
	return JSON
}

// isOperation recognises one operation that stands by itself.
func isOperation(m map[string]any) bool {
	return has(m, "method") && has(m, "path") && isObject(m["operation"])
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
// collection's list too, where they say only name, url and parameters.
func isEndpoint(m map[string]any) bool {
	if has(m, "required_parameters", "optional_parameters") {
		return has(m, "api_name", "name")
	}
	return has(m, "api_name") && has(m, "tool_name", "category_name") && !has(m, "parameters", "responses")
}

// isDocument recognises whole OpenAPI and Swagger documents, also those that
// forgot their version.
func isDocument(m map[string]any) bool {
	if has(m, "openapi", "swagger") {
		return has(m, "paths", "info", "webhooks", "components") || !has(m, "name", "id")
	}
	return isObject(m["paths"]) && isObject(m["info"])
}

// list is an object that holds tools: the member that lists them and what the
// collection calls itself.
type list struct {
	key   string
	owner string
}

// isList recognises lists of tools.
func isList(m map[string]any) (list, bool) {
	for _, key := range []string{"tools", "functions", "functionDeclarations", "function_declarations", "api_list"} {
		tools, ok := m[key].([]any)
		if ok && (len(tools) == 0 || isObject(tools[0])) {
			return list{key, ownerID(collection(m))}, true
		}
	}
	return list{}, false
}

// collection returns the name of the server or collection that a list of tools
// is of.
func collection(m map[string]any) string {
	for _, key := range []string{"serverInfo", "server", "server_info"} {
		if s, ok := m[key].(map[string]any); ok && str(s, "name") != "" {
			return str(s, "name")
		}
	}
	return str(m, "provider", "agent", "server", "server_name", "tool_name", "name", "title")
}
