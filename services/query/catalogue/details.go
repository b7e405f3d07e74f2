package query

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/tokens"
	"github.com/toolstream/toolstream/internal/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// known is what the catalogue has of an entity.
type known struct {
	schema.Entity
	raw json.RawMessage
}

// detailed is a tool of an answer, with its details to fill in.
type detailed struct {
	known
	*schema.Details
	of toolschema.Schemas
}

// details returns the tools among results. What the catalogue does not know has none.
func details(results []schema.Result, entities []known) []detailed {
	var out []detailed
	for i := range results {
		if e := entities[i]; e.Kind == schema.KindTool && e.CallableName != "" {
			out = append(out, detailed{known: e, Details: &results[i].Details})
		}
	}
	return out
}

// connectionsOf returns what says whether a caller can call a tool; nil for providers, and
// where nothing is called.
func (s *Service) connectionsOf(caller identity.Caller) func(*known) *schema.Connection {
	if s.connections == nil {
		return func(*known) *schema.Connection { return nil }
	}
	connection := s.connections.Connections(caller)
	return func(e *known) *schema.Connection {
		if e.Kind != schema.KindTool {
			return nil
		}
		c := connection(&e.Entity, e.raw)
		return &c
	}
}

func connect(d *schema.Details, c *schema.Connection) {
	if c != nil {
		d.Connected, d.Why, d.Destructive, d.Health = &c.Connected, c.Why, c.Destructive, c.Health
	}
}

// detail fills in what is wanted of the tools of an answer, best first, and returns them in the
// form that is wanted. Schemas are left out once ctx has ended.
func (s *Service) detail(ctx context.Context, w *schema.Wanted, tools []detailed) schema.InForm {
	if len(w.Include) == 0 && w.As == "" && w.TokenBudget == nil {
		return schema.InForm{}
	}
	budget := newBudget(w.TokenBudget)
	for i := range tools {
		if d := &tools[i]; ctx.Err() == nil {
			d.describe(w)
			if w.As == "" {
				budget.spend(d.CallableName + " " + d.Signature + " " + d.Document.Description)
			}
		}
	}
	forms := []json.RawMessage{}
	for i := range tools {
		d := &tools[i]
		form, text := d.inForm(w)
		switch {
		case ctx.Err() != nil || !budget.fits(text):
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
		out.Tokens, out.Tokenizer = budget.spent, tokens.Name
	}
	return out
}

// describe fills in the parts that are wanted of a tool.
func (d *detailed) describe(w *schema.Wanted) {
	wants := func(part schema.Include) bool { return slices.Contains(w.Include, part) }
	if wants(schema.IncludeExamples) {
		d.Examples = d.Document.Examples
	}
	if wants(schema.IncludeParameters) {
		d.Parameters = d.Document.Parameters
	}
	budgeted := w.TokenBudget != nil
	if budgeted || wants(schema.IncludeSchema) || wants(schema.IncludeOutputSchema) || wants(schema.IncludeSignature) || w.As != "" && w.As != schema.FormToolReference {
		d.of = toolschema.Of(d.Format, d.raw, &d.Document)
	}
	if budgeted || wants(schema.IncludeSignature) {
		d.Signature = toolschema.Signature(d.CallableName, d.of.Input, d.of.Output)
	}
	if wants(schema.IncludeSchema) || budgeted && w.As == "" {
		d.Schema = d.of.Input
	}
	if wants(schema.IncludeOutputSchema) {
		d.OutputSchema = d.of.Output
	}
}

// inForm returns a tool in the form that is wanted, and the text of it that counts: without a
// form its schemas.
func (d *detailed) inForm(w *schema.Wanted) (form json.RawMessage, text string) {
	if w.As == "" {
		return nil, string(d.Schema) + string(d.OutputSchema)
	}
	form = encoded(d.as(w.As))
	return form, string(form)
}

// The forms of tools, as those who take them document them.
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
	// Strict schemas list all properties as required, as those of tools do not.
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
func (d *detailed) as(form schema.Form) any {
	if form == schema.FormToolReference {
		return toolReference{"tool_reference", d.CallableName}
	}
	of, about := d.of, d.Document.Description
	switch form {
	case schema.FormMCP:
		t := mcpTool{Name: d.CallableName, Title: d.Document.Title, Description: about, InputSchema: of.Input, Annotations: annotations(d.Format, d.raw)}
		if string(jsondoc.Member(of.Output, "type")) == `"object"` { // revisions before 2026-07-28 take no others
			t.OutputSchema = of.Output
		}
		return t
	case schema.FormAnthropic:
		return anthropicTool{d.CallableName, about, of.Input}
	}
	return openAIFunction{"function", d.CallableName, about, of.Input, false, form == schema.FormToolSearchOutput}
}

// hints are those of the annotations of MCP.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// annotations returns the hints of a tool in the form of MCP, nil where its source gives none.
// What else stands there is no text that was looked at for orders to models, and may not be
// what clients can read.
func annotations(format string, raw json.RawMessage) json.RawMessage {
	switch format {
	case "mcp":
		given, said := jsondoc.Member(raw, "annotations"), map[string]bool{}
		for _, hint := range hints {
			if value := string(jsondoc.Member(given, hint)); value == "true" || value == "false" {
				said[hint] = value == "true"
			}
		}
		if len(said) > 0 {
			return encoded(said)
		}
	case "openapi":
		h := toolschema.HintsOf(format, raw)
		return encoded(map[string]bool{"readOnlyHint": h.ReadOnly, "destructiveHint": h.Destructive, "idempotentHint": h.Idempotent})
	}
	return nil
}

// together returns tools in a form as whoever takes them wants all of them.
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

// budget is what an answer may still take.
type budget struct {
	bytes       int  // of schemas, or of tools in a form
	counted     bool // there is a budget of tokens
	left, spent int  // tokens
}

const (
	maxDetails   = 8 << 20 // bytes of what an answer has of its tools
	bytesOfToken = 16      // that a token has at most in text and JSON; what has more is not counted, and is too long
)

func newBudget(tokens *int) *budget {
	if tokens == nil {
		return &budget{bytes: maxDetails}
	}
	return &budget{bytes: min(maxDetails, 2*bytesOfToken**tokens), counted: true, left: *tokens}
}

// spend counts what is in the answer in any case, which may be more than is left.
func (b *budget) spend(text string) {
	if b.counted {
		b.take(tokens.Count(text))
	}
}

func (b *budget) take(n int) { b.left, b.spent = b.left-n, b.spent+n }

// fits takes what a text needs, where as much is left. Texts that are looked at take from the
// bytes, so that counting ends.
func (b *budget) fits(text string) bool {
	if len(text) > b.bytes || b.counted && len(text) > bytesOfToken*b.left {
		return false
	}
	b.bytes -= len(text)
	if !b.counted {
		return true
	}
	n := tokens.Count(text)
	if n > b.left {
		return false
	}
	b.take(n)
	return true
}
