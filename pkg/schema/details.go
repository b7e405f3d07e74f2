package schema

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Include is an optional part of a tool in an answer.
type Include string

// The parts of tools.
const (
	IncludeSchema       Include = "schema"        // JSON Schema 2020-12 of the arguments
	IncludeOutputSchema Include = "output_schema" // JSON Schema of the result, if the source states it
	IncludeExamples     Include = "examples"      // requests that the tool answers
	IncludeParameters   Include = "parameters"    // as they are searched
	IncludeSignature    Include = "signature"     // the tool in a line
)

// Form is a form of tools for a language model.
type Form string

// The forms of tools.
const (
	FormMCP              Form = "mcp"                // as an MCP server lists them
	FormOpenAI           Form = "openai"             // functions of OpenAI's Responses API
	FormAnthropic        Form = "anthropic"          // tools of Anthropic's Messages API
	FormToolReference    Form = "tool_reference"     // content of the tool_result of a client's own search, for tools in its request (Anthropic)
	FormToolSearchOutput Form = "tool_search_output" // the item that answers a tool_search_call (OpenAI)
)

// The limits of requests for parts of tools.
const (
	MaxTokenBudget = 100_000
	MaxCallID      = 256
	MaxDescribed   = 50
)

// Wanted selects the parts of the tools in an answer.
type Wanted struct {
	Include     []Include `json:"include,omitempty"`      // The parts of each tool to include.
	As          Form      `json:"as,omitempty"`           // Also return the tools in this form.
	CallID      string    `json:"call_id,omitempty"`      // The id of the tool_search_call that a tool_search_output answers.
	TokenBudget *int      `json:"token_budget,omitempty"` // Return each tool with its signature, and the schemas or the form of as many of the first tools as fit into the budget.
}

func (w *Wanted) check(c *checks) {
	parts := []Include{IncludeSchema, IncludeOutputSchema, IncludeExamples, IncludeParameters, IncludeSignature}
	if c.count("/include", len(w.Include), len(parts)) {
		for i, part := range w.Include {
			c.must(slices.Contains(parts, part), fmt.Sprintf("/include/%d", i), string(part), "must be one of %v", parts)
		}
	}
	forms := []Form{FormMCP, FormOpenAI, FormAnthropic, FormToolReference, FormToolSearchOutput}
	c.must(w.As == "" || slices.Contains(forms, w.As), "/as", string(w.As), "must be one of %v", forms)
	c.text("/call_id", w.CallID, MaxCallID)
	c.must(w.CallID == "" || w.As == FormToolSearchOutput, "/call_id", w.CallID, "must be absent unless as is %q", FormToolSearchOutput)
	if w.TokenBudget != nil {
		c.must(*w.TokenBudget >= 0 && *w.TokenBudget <= MaxTokenBudget, "/token_budget", *w.TokenBudget, "must be 0 to %d", MaxTokenBudget)
	}
}

// Details are the requested parts of a tool, and whether it can be called.
type Details struct {
	Signature     string          `json:"signature,omitempty"`      // The tool in one line: its name, its parameters (required ones with a star) and its result.
	Schema        json.RawMessage `json:"schema,omitempty"`         // The JSON Schema 2020-12 of the arguments, of an object.
	OutputSchema  json.RawMessage `json:"output_schema,omitempty"`  // The JSON Schema 2020-12 of the result, if the source states it.
	SchemaOmitted bool            `json:"schema_omitted,omitempty"` // Whether the token budget had no room for the schemas of the tool, or for the tool in tools.
	Examples      []string        `json:"examples,omitempty"`       // Requests that the tool answers.
	Parameters    []Parameter     `json:"parameters,omitempty"`     // The parameters as they are searched.
	Connected     *bool           `json:"connected,omitempty"`      // Whether the caller can call the tool now, on a server that calls tools.
	Why           string          `json:"why,omitempty"`            // The reason why the tool cannot be called.
	Unchecked     string          `json:"unchecked,omitempty"`      // The reason why no arguments are checked against the schema before a call.
	Destructive   bool            `json:"destructive,omitempty"`    // Whether a call may change or delete existing things.
	Health        *Health         `json:"health,omitempty"`         // The health of recent calls.
}

// InForm has the tools of an answer in the requested form.
type InForm struct {
	Tools     json.RawMessage `json:"tools,omitempty"`     // The tools in the form of as: a list, or the single item of tool_search_output.
	Tokens    int             `json:"tokens,omitempty"`    // With a budget: the tokens of tools or, without a form, of names, signatures, descriptions and schemas.
	Tokenizer string          `json:"tokenizer,omitempty"` // The tokenizer that counted the tokens.
}

// DescribeRequest asks for tools by their ids or callable names.
type DescribeRequest struct {
	IDs []string `json:"ids" maxItems:"50"` // 1 to 50 ids or callable names.
	Wanted
}

// Validate checks a request, and adds schemas if it asks for nothing. The error is an
// *Invalid.
func (r *DescribeRequest) Validate() error {
	var c checks
	c.must(len(r.IDs) > 0 && len(r.IDs) <= MaxDescribed, "/ids", len(r.IDs), "must be 1 to %d", MaxDescribed)
	c.texts("/ids", r.IDs, MaxDescribed, MaxID*4)
	r.Wanted.check(&c)
	if len(r.Include) == 0 && r.As == "" {
		r.Include = []Include{IncludeSchema, IncludeOutputSchema}
	}
	return c.err
}

// DescribeResponse answers a DescribeRequest.
type DescribeResponse struct {
	Results []Described `json:"results"` // The tools in the order of the request.
	Unknown []string    `json:"unknown"` // The names of no tool, of several tools, or of a tool that the caller may not see; never null.
	InForm
}

// Described is one tool.
type Described struct {
	ID           string   `json:"id"`
	Provider     string   `json:"provider,omitempty"`
	CallableName string   `json:"callable_name,omitempty"` // The name by which a language model calls the tool.
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description"`
	Flags        []string `json:"flags,omitempty"` // Findings about the source text, as in Document.
	Details
}
