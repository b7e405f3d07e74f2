package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/pkg/schema"
)

// The names of the tools.
const (
	searchName   = "search_tools"
	describeName = "describe_tools"
	callName     = "call_tool"
)

var own = map[string]bool{searchName: true, describeName: true, callName: true}

// alwaysListed prevents clients from hiding a tool behind their own search, and allows results
// as long as call_tool may return.
var alwaysListed = sdk.Meta{"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 200_000}

var readOnly = &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}

var searchTool = &sdk.Tool{
	Name: searchName, Title: "Search tools", Meta: alwaysListed, Annotations: readOnly,
	Description: "Finds tools by what you want to do. Use it before you say that something cannot be done.",
	InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"query": {"type": "string", "minLength": 1, "description": "What you want to do, in a sentence, such as: create an issue in a repository"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many tools, 5 if absent"},
			"providers": {"type": "array", "items": {"type": "string"}, "description": "Only tools of these providers"},
			"tags": {"type": "array", "items": {"type": "string"}, "description": "Only tools with one of these tags"},
			"arguments": {"type": "object", "additionalProperties": {"type": "string"}, "description": "What you can give a tool, by name with its meaning (no values), such as {\"city\": \"name of a city\"}"},
			"connected": {"type": "boolean", "description": "Only tools that can be called now"},
			"token_budget": {"type": "integer", "minimum": 0, "description": "How many tokens the answer may take, 1500 if absent: schemas are in it for as many of the best tools as fit"}
		},
		"required": ["query"]
	}`),
}

var describeTool = &sdk.Tool{
	Name: describeName, Title: "Describe tools", Meta: alwaysListed, Annotations: readOnly,
	Description: "Returns the full description and the JSON Schema of the arguments of tools that search_tools has found.",
	InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {"tools": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "string"}, "description": "Names of tools as search_tools gives them"}},
		"required": ["tools"]
	}`),
}

var callTool = &sdk.Tool{
	Name: callName, Title: "Call a tool", Meta: alwaysListed,
	Annotations: &sdk.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)},
	Description: "Calls a tool that search_tools has found, and returns what it returns.",
	InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"tool_name": {"type": "string", "description": "Name of the tool as search_tools gives it"},
			"arguments": {"type": "object", "description": "Arguments of that tool, as its schema says"},
			"search_id": {"type": "string", "description": "The search_id of the answer in which the tool was found"}
		},
		"required": ["tool_name"]
	}`),
}

// maxDomains bounds the names of sources in the description of search_tools, in bytes.
const maxDomains = 600

// catalogue is the answer of GET /v1/catalogue.
type catalogue struct {
	Tools     int `json:"tools"`
	Providers []struct {
		Source string `json:"source"`
	} `json:"providers"`
}

// withDomains returns search_tools with the sources of the largest providers in its description.
// Every model reads it, so it has only names that an operator gave: anyone who sends documents or
// lists servers chooses ids of providers.
func (s *Server) withDomains(ctx context.Context, t *sdk.Tool) *sdk.Tool {
	var there catalogue
	if err := s.api.Get(apart(ctx), "/v1/catalogue", nil, &there); err != nil || there.Tools == 0 {
		return t
	}
	var names []string
	length := 0
	for _, p := range there.Providers {
		if p.Source == "" || slices.Contains(names, p.Source) {
			continue
		}
		if length += len(p.Source) + len(", "); length > maxDomains {
			break
		}
		names = append(names, p.Source)
	}
	with := *t
	with.Description += fmt.Sprintf(" There are %s tools", about(there.Tools))
	if len(names) > 0 {
		with.Description += ", among them from: " + strings.Join(names, ", ")
	}
	with.Description += "."
	return &with
}

// about rounds a number to two digits, so that a description rarely changes: vendors cache the
// beginning of prompts.
func about(n int) string {
	if n < 100 {
		return strconv.Itoa(n)
	}
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return "more than " + strconv.Itoa((n-1)/unit*unit)
}

// described are tools in the form of MCP.
type described struct {
	Tools   []flagged `json:"tools"`
	Unknown []string  `json:"unknown"`
}

// flagged is a tool with the findings about its source text.
type flagged struct {
	*sdk.Tool
	Flags []string `json:"flags,omitempty"`
}

// pinned returns the pinned tools of the tenant.
func (s *Server) pinned(ctx context.Context) []*sdk.Tool {
	var pins struct {
		Tools []string `json:"tools"`
	}
	if err := s.api.Get(apart(ctx), "/v1/pins", nil, &pins); err != nil || len(pins.Tools) == 0 {
		return nil
	}
	answer, err := s.described(ctx, pins.Tools)
	if err != nil {
		return nil
	}
	var out []*sdk.Tool
	for _, t := range answer.Tools {
		if !own[t.Name] {
			out = append(out, t.Tool)
		}
	}
	return out
}

func (s *Server) described(ctx context.Context, names []string) (described, error) {
	answer, err := s.api.Describe(apart(ctx), schema.DescribeRequest{IDs: names, Wanted: schema.Wanted{As: schema.FormMCP}})
	if err != nil {
		return described{}, err
	}
	out := described{Unknown: answer.Unknown}
	if len(answer.Tools) > 0 {
		err = json.Unmarshal(answer.Tools, &out.Tools)
	}
	for i, t := range out.Tools {
		for _, r := range answer.Results {
			if r.CallableName == t.Name {
				out.Tools[i].Flags = r.Flags
			}
		}
	}
	return out, err
}
