package agenttest

import (
	"encoding/json"
	"slices"
	"strings"
)

// The tools of an MCP server that finds tools.
const (
	searchTools   = "search_tools"
	describeTools = "describe_tools"
	callTool      = "call_tool"
)

// Seeker is a scripted model that searches for the requested task, calls the first
// callable tool it finds whose required arguments it knows, and answers with the result.
// Without a search tool, it calls the first tool it is given. It knows values by argument
// name and passes the arguments that the schema of a tool lists; a tool whose schema it has
// not seen is called without arguments.
type Seeker struct {
	Values    map[string]any
	Describes bool // it requests the description of a tool before calling it
}

// Act returns the next step of the model.
func (s Seeker) Act(t Turn) Action {
	if len(t.Results) == 0 {
		return s.begin(&t)
	}
	last := t.Results[len(t.Results)-1]
	tool, _ := t.tool(last.Tool)
	switch {
	case tool.Search || tool.Name == searchTools:
		return s.follow(&t, last)
	case tool.Name == describeTools:
		return s.callDescribed(&t, last)
	}
	return Action{Say: "The tool says: " + last.Text}
}

// begin searches, or calls the first tool.
func (s Seeker) begin(t *Turn) Action {
	for _, tool := range t.Tools {
		if tool.Search || tool.Name == searchTools {
			return Action{Tool: tool, Arguments: encoded(map[string]any{"query": t.Asked})}
		}
	}
	if len(t.Tools) == 0 {
		return Action{Say: "There are no tools."}
	}
	return Action{Tool: t.Tools[0], Arguments: s.fill(t.Tools[0].Schema)}
}

// follow calls a tool from the search results: by name if the model knows it, else by call_tool.
func (s Seeker) follow(t *Turn, search Result) Action {
	if len(search.Found) > 0 {
		tool, _ := t.tool(search.Found[0])
		return Action{Tool: tool, Arguments: s.fill(tool.Schema)}
	}
	answer, _ := readSearch(search.Text)
	for _, tool := range answer.Tools {
		switch {
		case tool.Connected != nil && !*tool.Connected, !s.suffices(tool.InputSchema):
		case s.Describes:
			return use(t, describeTools, map[string]any{"tools": []string{tool.Name}})
		default:
			return s.call(t, answer.SearchID, tool.Name, tool.InputSchema)
		}
	}
	return Action{Say: "The search found nothing: " + search.Text}
}

// suffices reports whether there is a value for everything that a schema requires.
func (s Seeker) suffices(schema json.RawMessage) bool {
	var of struct{ Required []string }
	_ = json.Unmarshal(schema, &of) // without a schema, nothing is known about the tool
	return !slices.ContainsFunc(of.Required, func(name string) bool {
		_, known := s.Values[name]
		return !known
	})
}

// callDescribed calls the tool that was described, which the last search has found.
func (s Seeker) callDescribed(t *Turn, description Result) Action {
	var answer struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if !readText(description.Text, `{"tools"`, &answer) || len(answer.Tools) == 0 {
		return Action{Say: "The tool is not described: " + description.Text}
	}
	search, _ := readSearch(t.Results[len(t.Results)-2].Text)
	return s.call(t, search.SearchID, answer.Tools[0].Name, answer.Tools[0].InputSchema)
}

func (s Seeker) call(t *Turn, search, name string, schema json.RawMessage) Action {
	return use(t, callTool, map[string]any{"tool_name": name, "arguments": s.fill(schema), "search_id": search})
}

// use calls a tool of the request.
func use(t *Turn, name string, arguments map[string]any) Action {
	tool, ok := t.tool(name)
	if !ok {
		return Action{Say: "There is no tool " + name + "."}
	}
	return Action{Tool: tool, Arguments: encoded(arguments)}
}

// found is the answer of search_tools.
type found struct {
	SearchID string `json:"search_id"`
	Tools    []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
		Connected   *bool           `json:"connected"`
	} `json:"tools"`
}

func readSearch(text string) (answer found, ok bool) {
	ok = readText(text, `{"search_id"`, &answer)
	return answer, ok
}

// readText extracts the JSON with this beginning from a text. Like a model, it finds the JSON
// if a framework has wrapped it in other text or in a quoted string.
func readText(text, begin string, to any) bool {
	for _, text := range []string{text, unquote.Replace(text)} {
		at := strings.Index(text, begin)
		if at >= 0 && json.NewDecoder(strings.NewReader(text[at:])).Decode(to) == nil {
			return true
		}
	}
	return false
}

// unquote removes the escapes of a quoted string.
var unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`)

// fill returns the arguments that a schema has a value for.
func (s Seeker) fill(schema json.RawMessage) json.RawMessage {
	var of struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(schema, &of) // without a schema, nothing is known about the tool
	out := map[string]any{}
	for name := range of.Properties {
		if value, ok := s.Values[name]; ok {
			out[name] = value
		}
	}
	return encoded(out)
}

func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of a test are JSON
	}
	return raw
}
