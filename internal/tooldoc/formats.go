package tooldoc

import "slices"

// The formats of tool documents.
const (
	MCP       = "mcp"       // a tool as MCP's tools/list has it
	OpenAPI   = "openapi"   // one operation: {"method","path","operation","api"?,"servers"?}
	Function  = "function"  // a function schema of OpenAI or Anthropic
	RapidAPI  = "rapidapi"  // a RapidAPI endpoint as ToolBench has it
	Card      = "card"      // a model card (Hugging Face, Gorilla)
	A2A       = "a2a"       // a skill of an A2A agent: {"id","name","description","agent"}
	Skill     = "skill"     // a SKILL.md: {"front_matter","instructions"}
	LangChain = "langchain" // a serialised LangChain tool
	Hosted    = "hosted"    // a tool that Anthropic or OpenAI defines: {"type","name"?}
	Postman   = "postman"   // a request of a Postman collection: {"name","request","response","collection","folders"?}
	GraphQL   = "graphql"   // a field of a GraphQL schema's root type: {"name","kind","inputSchema","outputSchema"}
	Protobuf  = "protobuf"  // a method of a protobuf service: {"name","inputSchema","outputSchema","service"}
	Python    = "python"    // a signature or def as a JSON string, or an object that holds one in func_description
	JSON      = "json"      // any other JSON object
	Text      = "text"      // prose as a JSON string
	Provider  = "provider"  // an owner of tools
)

// Format is a row of the table of formats.
type Format struct {
	Name string

	// Only describes the documents of the format if only their content decides: any other document
	// is refused, even if its sender names the format.
	Only string

	// Stated means that the source states its parameters, their types and which are required. In
	// all other formats they are inferred from the text.
	Stated bool

	// Schemas means that an object has JSON Schemas where MCP and the vendors of models put them.
	Schemas bool

	// Names and Inputs are JSON pointers to the tool's name and to descriptions of its
	// parameters, in the order of preference.
	Names, Inputs []string
}

// Formats is the table of all formats.
func Formats() []Format { return slices.Clone(formats) }

// FormatOf returns the row of a format, an empty one for an unknown name.
func FormatOf(name string) Format {
	for _, f := range formats {
		if f.Name == name {
			return f
		}
	}
	return Format{}
}

var anyNames = []string{"/name", "/title", "/api_name", "/tool_name", "/function_name", "/operationId", "/displayName", "/display_name"}

var formats = []Format{
	{Name: MCP, Stated: true, Schemas: true, Names: []string{"/name"}, Inputs: []string{"/inputSchema"}},
	{Name: OpenAPI, Stated: true, Only: "OpenAPI document or operation", Names: []string{"/path"}, Inputs: []string{"/operation/parameters"}},
	{
		Name: Function, Stated: true, Schemas: true,
		Names:  []string{"/function/name", "/toolSpec/name", "/name"},
		Inputs: []string{"/function/parameters", "/toolSpec/inputSchema/json", "/input_schema", "/parameters"},
	},
	{Name: RapidAPI, Stated: true, Names: []string{"/api_name", "/name"}, Inputs: []string{"/required_parameters", "/optional_parameters"}},
	{Name: Card, Names: []string{"/api_name", "/modelId", "/model_id", "/name", "/model_name", "/id"}, Inputs: []string{"/parameters"}},
	{Name: A2A, Only: "A2A agent card", Names: []string{"/name"}},
	{Name: Skill, Only: "SKILL.md: it begins with front matter that has a name and a description", Names: []string{"/front_matter/name"}},
	{
		Name: LangChain, Stated: true, Only: "serialised LangChain tool",
		Names: []string{"/kwargs/name", "/name"}, Inputs: []string{"/kwargs/args_schema", "/args_schema"},
	},
	{Name: Hosted, Stated: true, Only: "server tool of Anthropic or OpenAI", Names: []string{"/name", "/type"}},
	{Name: Postman, Only: "Postman collection", Names: []string{"/name"}},
	{
		Name: GraphQL, Stated: true, Schemas: true, Only: "GraphQL schema, in SDL or as introspection answers it",
		Names: []string{"/name"}, Inputs: []string{"/inputSchema"},
	},
	{
		Name: Protobuf, Stated: true, Schemas: true, Only: "protobuf file or descriptor set",
		Names: []string{"/name"}, Inputs: []string{"/inputSchema"},
	},
	{Name: Python, Stated: true, Schemas: true, Names: []string{"/name"}, Inputs: []string{"/parameters"}},
	{Name: JSON, Schemas: true, Names: anyNames, Inputs: []string{"/parameters"}},
	{Name: Text, Names: anyNames, Inputs: []string{"/parameters"}},
	{Name: Provider, Stated: true, Names: anyNames, Inputs: []string{"/parameters"}},
}
