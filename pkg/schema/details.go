package schema

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Include is a part of a tool that an answer has on request.
type Include string

// The parts of tools.
const (
	IncludeSchema       Include = "schema"        // JSON Schema 2020-12 of the arguments
	IncludeOutputSchema Include = "output_schema" // JSON Schema of what a call returns, where the source states one
	IncludeExamples     Include = "examples"      // requests that the tool answers
	IncludeParameters   Include = "parameters"    // as they are searched
	IncludeSignature    Include = "signature"     // the tool in a line
)

// Form is how somebody wants tools who passes them on to a language model.
type Form string

// The forms of tools.
const (
	FormMCP              Form = "mcp"                // as an MCP server lists them
	FormOpenAI           Form = "openai"             // functions of OpenAI's Responses API
	FormAnthropic        Form = "anthropic"          // tools of Anthropic's Messages API
	FormToolReference    Form = "tool_reference"     // content of the tool_result of a search of one's own, for tools that the request has (Anthropic)
	FormToolSearchOutput Form = "tool_search_output" // the item that answers a tool_search_call (OpenAI)
)

// The limits of what is asked of tools.
const (
	MaxTokenBudget = 100_000
	MaxCallID      = 256
	MaxDescribed   = 50
)

// Wanted is what an answer is to have of its tools.
type Wanted struct {
	Include     []Include `json:"include,omitempty"`      // parts that each tool comes with
	As          Form      `json:"as,omitempty"`           // the answer also has the tools in this form
	CallID      string    `json:"call_id,omitempty"`      // of the tool_search_call that a tool_search_output answers
	TokenBudget *int      `json:"token_budget,omitempty"` // each tool comes with its signature, and as many of the first as fit with their schemas, or in the form
}

// check checks what is wanted.
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
	c.must(w.CallID == "" || w.As == FormToolSearchOutput, "/call_id", w.CallID, "must be absent but for %q", FormToolSearchOutput)
	if w.TokenBudget != nil {
		c.must(*w.TokenBudget >= 0 && *w.TokenBudget <= MaxTokenBudget, "/token_budget", *w.TokenBudget, "must be 0 to %d", MaxTokenBudget)
	}
}

// Details are the parts of a tool that are asked for, and whether it can be called.
type Details struct {
	Signature     string          `json:"signature,omitempty"`      // the tool in a line: its name, what it takes (required with a star) and what it returns
	Schema        json.RawMessage `json:"schema,omitempty"`         // JSON Schema 2020-12 of the arguments, an object
	OutputSchema  json.RawMessage `json:"output_schema,omitempty"`  // JSON Schema 2020-12 of what a call returns, where the source states one
	SchemaOmitted bool            `json:"schema_omitted,omitempty"` // there was no room in the token budget for its schemas, or for it in tools
	Examples      []string        `json:"examples,omitempty"`       // requests that the tool answers
	Parameters    []Parameter     `json:"parameters,omitempty"`     // as they are searched
	Connected     *bool           `json:"connected,omitempty"`      // whether the caller can call it now, through a server that calls tools
	Why           string          `json:"why,omitempty"`            // it cannot be called
	Destructive   bool            `json:"destructive,omitempty"`    // a call may change or delete what is there
	Health        *Health         `json:"health,omitempty"`         // of recent calls
}

// InForm are the tools of an answer in the form that was asked for.
type InForm struct {
	Tools     json.RawMessage `json:"tools,omitempty"`     // in the form of as: a list, or the one item of tool_search_output
	Tokens    int             `json:"tokens,omitempty"`    // with a budget: of tools, else of names, signatures, descriptions and schemas
	Tokenizer string          `json:"tokenizer,omitempty"` // that counted them
}

// DescribeRequest asks for some tools, by their ids or callable names.
type DescribeRequest struct {
	IDs []string `json:"ids" maxItems:"50"` // ids or callable names, 1 to 50
	Wanted
}

// Validate checks a request, and asks for schemas where it asks for nothing. The error is an
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
	Results []Described `json:"results"` // in the order that was asked
	Unknown []string    `json:"unknown"` // what names no tool that answers may show to the caller, or several; never null
	InForm
}

// Described is one tool.
type Described struct {
	ID           string   `json:"id"`
	Provider     string   `json:"provider,omitempty"`
	CallableName string   `json:"callable_name,omitempty"` // by which language models call it
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description"`
	Flags        []string `json:"flags,omitempty"` // findings about the source text, as in Document
	Details
}
