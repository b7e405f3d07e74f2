package catalogue

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Connections knows which tools can be called from here. It makes no requests.
type Connections interface {
	// Connections returns a function that says, during one request, whether a caller can call a
	// tool now.
	Connections(caller identity.Caller) func(e *schema.Entity, raw json.RawMessage) schema.Connection
}

// Known is an entity with its raw document.
type Known struct {
	schema.Entity
	Raw json.RawMessage
}

// Detailed is a tool of an answer, with its details to fill in.
type Detailed struct {
	Known
	*schema.Details
	schemas toolschema.Schemas
}

// ConnectionOf returns a function that says whether a caller can call a tool. It returns nil for
// providers, and for every tool if connections is nil.
func ConnectionOf(connections Connections, caller identity.Caller) func(*Known) *schema.Connection {
	if connections == nil {
		return func(*Known) *schema.Connection { return nil }
	}
	connection := connections.Connections(caller)
	return func(e *Known) *schema.Connection {
		if e.Kind != schema.KindTool {
			return nil
		}
		c := connection(&e.Entity, e.Raw)
		return &c
	}
}

// SetConnection says in details whether the tool can be called, if that is known.
func SetConnection(d *schema.Details, c *schema.Connection) {
	if c != nil {
		d.Connected, d.Why, d.Destructive, d.Health = &c.Connected, c.Why, c.Destructive, c.Health
	}
}

// Detail fills in the requested parts of the tools of an answer, best first, and returns the
// tools in the requested form. It omits schemas once ctx has ended.
func Detail(ctx context.Context, w *schema.Wanted, tools []Detailed) schema.InForm {
	if len(w.Include) == 0 && w.As == "" && w.TokenBudget == nil {
		return schema.InForm{}
	}
	budget := &budget{bytes: maxDetails}
	if w.TokenBudget != nil {
		budget.bytes, budget.counted, budget.left = min(maxDetails, 2*bytesOfToken**w.TokenBudget), true, *w.TokenBudget
	}
	for i := range tools {
		if d := &tools[i]; ctx.Err() == nil {
			d.describe(w)
			if w.As == "" && budget.counted { // it is in the answer in any case, even if the budget is exhausted
				budget.take(CountTokens(d.CallableName + " " + d.Signature + " " + d.Document.Description))
			}
		}
	}
	forms := []json.RawMessage{}
	for i := range tools {
		d := &tools[i]
		counts := string(d.Schema) + string(d.OutputSchema) // without a form its schemas
		var form json.RawMessage
		if w.As != "" {
			form = encoded(d.as(w.As))
			counts = string(form)
		}
		switch {
		case ctx.Err() != nil || !budget.fits(counts):
			d.Schema, d.OutputSchema, d.SchemaOmitted = nil, nil, true
		case w.As != "":
			forms = append(forms, form)
		}
	}
	var out schema.InForm
	if w.As != "" {
		out.Tools = together(w, forms)
	}
	if budget.counted {
		out.Tokens, out.Tokenizer = budget.spent, Tokenizer
	}
	return out
}

// describe fills in the parts that are wanted of a tool.
func (d *Detailed) describe(w *schema.Wanted) {
	wants := func(part schema.Include) bool { return slices.Contains(w.Include, part) }
	if wants(schema.IncludeExamples) {
		d.Examples = d.Document.Examples
	}
	if wants(schema.IncludeParameters) {
		d.Parameters = d.Document.Parameters
	}
	budgeted := w.TokenBudget != nil
	if budgeted || wants(schema.IncludeSchema) || wants(schema.IncludeOutputSchema) || wants(schema.IncludeSignature) || w.As != "" && w.As != schema.FormToolReference {
		d.schemas = toolschema.Of(d.Format, d.Raw, &d.Document)
	}
	if budgeted || wants(schema.IncludeSignature) {
		d.Signature = toolschema.Signature(d.CallableName, d.schemas.Input, d.schemas.Output)
	}
	if wants(schema.IncludeSchema) || budgeted && w.As == "" {
		d.Schema = d.schemas.Input
	}
	if wants(schema.IncludeOutputSchema) {
		d.OutputSchema = d.schemas.Output
	}
}

// The forms of tools, as their consumers document them.
type (
	// mcpTool is a tool of tools/list, https://modelcontextprotocol.io/specification, server/tools.
	mcpTool struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  json.RawMessage `json:"annotations,omitempty"`
	}
	// openAIFunction is a function of the Responses API, https://platform.openai.com/docs/guides/function-calling.
	// Strict schemas list all properties as required; schemas of tools do not.
	openAIFunction struct {
		Type         string          `json:"type"`
		Name         string          `json:"name"`
		Description  string          `json:"description,omitempty"`
		Parameters   json.RawMessage `json:"parameters"`
		Strict       bool            `json:"strict"`
		DeferLoading bool            `json:"defer_loading,omitempty"`
	}
	// anthropicTool is a tool of the Messages API, https://platform.claude.com/docs/en/agents-and-tools/tool-use.
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	// toolReference is a block of a tool_result, tool-search-tool there.
	toolReference struct {
		Type     string `json:"type"`
		ToolName string `json:"tool_name"`
	}
	// toolSearchOutput is an item of the input of the Responses API, https://developers.openai.com/api/docs/guides/tools-tool-search.
	toolSearchOutput struct {
		Type      string            `json:"type"`
		CallID    *string           `json:"call_id"`
		Execution string            `json:"execution"`
		Status    string            `json:"status"`
		Tools     []json.RawMessage `json:"tools"`
	}
)

// as returns a tool in a form.
func (d *Detailed) as(form schema.Form) any {
	if form == schema.FormToolReference {
		return toolReference{"tool_reference", d.CallableName}
	}
	of, about := d.schemas, d.Document.Description
	switch form {
	case schema.FormMCP:
		t := mcpTool{Name: d.CallableName, Title: d.Document.Title, Description: about, InputSchema: of.Input, Annotations: annotations(d.Format, d.Raw)}
		if string(jsondoc.Member(of.Output, "type")) == `"object"` { // revisions before 2026-07-28 take no others
			t.OutputSchema = of.Output
		}
		return t
	case schema.FormAnthropic:
		return anthropicTool{d.CallableName, about, of.Input}
	}
	return openAIFunction{"function", d.CallableName, about, of.Input, false, form == schema.FormToolSearchOutput}
}

// hints are the hints among MCP's annotations.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// annotations returns the hints of a tool in MCP's form, nil if its source gives none. Other
// annotations are left out: they are not scanned for instructions to models, and clients may not
// be able to parse them.
func annotations(format string, raw json.RawMessage) json.RawMessage {
	switch format {
	case tooldoc.MCP:
		given, said := jsondoc.Member(raw, "annotations"), map[string]bool{}
		for _, hint := range hints {
			if value := string(jsondoc.Member(given, hint)); value == "true" || value == "false" {
				said[hint] = value == "true"
			}
		}
		if len(said) > 0 {
			return encoded(said)
		}
	case tooldoc.OpenAPI:
		h := toolschema.HintsOf(format, raw)
		return encoded(map[string]bool{"readOnlyHint": h.ReadOnly, "destructiveHint": h.Destructive, "idempotentHint": h.Idempotent})
	}
	return nil
}

// together returns tools in a form as one JSON value.
func together(w *schema.Wanted, forms []json.RawMessage) json.RawMessage {
	if w.As != schema.FormToolSearchOutput {
		return encoded(forms)
	}
	out := toolSearchOutput{Type: "tool_search_output", Execution: "client", Status: "completed", Tools: forms}
	if w.CallID != "" {
		out.CallID = &w.CallID
	}
	return encoded(out)
}

// encoded returns a value as JSON that a model reads: without escapes for HTML.
func encoded(v any) json.RawMessage {
	out, err := jsondoc.Plain(v)
	if err != nil {
		return json.RawMessage("null") // a schema is JSON, and the rest are strings
	}
	return out
}

// budget is the room that is left in an answer.
type budget struct {
	bytes       int  // of schemas, or of tools in a form
	counted     bool // there is a budget of tokens
	left, spent int  // tokens
}

const (
	maxDetails   = 8 << 20 // bytes of tools in an answer
	bytesOfToken = 16      // of text or JSON in a token at most; longer texts do not fit and are not counted
)

func (b *budget) take(n int) { b.left, b.spent = b.left-n, b.spent+n }

// fits spends the tokens of a text if there is enough left. Every text reduces the bytes that
// may still be counted, so that counting ends.
func (b *budget) fits(text string) bool {
	if len(text) > b.bytes || b.counted && len(text) > bytesOfToken*b.left {
		return false
	}
	b.bytes -= len(text)
	if !b.counted {
		return true
	}
	n := CountTokens(text)
	if n > b.left {
		return false
	}
	b.take(n)
	return true
}
