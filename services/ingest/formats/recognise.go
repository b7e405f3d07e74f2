package formats

import (
	"strings"
)

// recognise says which format a single object has.
func recognise(m map[string]any) string {
	switch {
	case isOperation(m):
		return OpenAPI
	case isFunction(m):
		return Function
	case isCard(m):
		return Card
	case isEndpoint(m):
		return RapidAPI
	case has(m, "name") && has(m, "inputSchema", "outputSchema"):
		return MCP
	case pythonName(str(m, "func_description")) != "":
		return Python
	case str(m, "kind") == "agent":
		return Agent
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
	if f, _ := wrapped(m); f != nil && has(f, "name", "parameters", "inputSchema") {
		return true
	}
	if str(m, "type") == "function" && has(m, "name") {
		return true
	}
	if !has(m, "name") {
		return false
	}
	p, _ := m["parameters"].(map[string]any)
	return has(m, "input_schema") || str(p, "type") == "object" || isObject(p["properties"])
}

// wrapped returns the function that an object wraps, and under what; nil for none.
func wrapped(m map[string]any) (function map[string]any, key string) {
	for _, key := range []string{"function", "toolSpec"} {
		if f, ok := m[key].(map[string]any); ok {
			return f, key
		}
	}
	return nil, ""
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
	return has(m, "api_name") && has(m, "api_description", "tool_name", "category_name")
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
	return str(m, "agent", "server", "server_name", "tool_name", "name", "title")
}

// nameOf returns what the document calls the tool, and the pointer to where
// that stands or should.
func nameOf(format string, m map[string]any) (name, path string) {
	keys := []string{"name", "title", "api_name", "tool_name", "function_name", "operationId", "displayName", "display_name"}
	switch format {
	case MCP:
		keys = []string{"name"}
	case Function:
		if f, key := wrapped(m); f != nil {
			return str(f, "name"), "/" + key + "/name"
		}
		keys = []string{"name"}
	case RapidAPI:
		keys = []string{"api_name", "name"}
	case Card:
		keys = []string{"api_name", "modelId", "model_id", "name", "model_name", "id"}
	case Python:
		keys = []string{"name"}
		if str(m, "name") == "" {
			return pythonName(str(m, "func_description")), "/name"
		}
	case OpenAPI:
		return operationName(m), "/path"
	}
	for _, k := range keys {
		if s, ok := m[k].(string); ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s), "/" + k
		}
	}
	return "", "/" + keys[0]
}

// ownerOf returns the agent that a single document names by itself.
func ownerOf(format string, m map[string]any) string {
	if format == RapidAPI {
		return ownerID(str(m, "tool_name"))
	}
	return ""
}
