package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

var errStream = errors.New("this model does not stream")

// block is one block of the content of a message.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ID       string          `json:"id"`          // of tool_use
	Name     string          `json:"name"`        // of its tool
	CallID   string          `json:"tool_use_id"` // of tool_result
	Content  blocks          `json:"content"`     // of tool_result
	ToolName string          `json:"tool_name"`   // of tool_reference
	Input    json.RawMessage `json:"input"`
}

// blocks is the content of a message: blocks or a string.
type blocks []block

// UnmarshalJSON reads both forms.
func (b *blocks) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*b = blocks{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(raw, (*[]block)(b))
}

// deferrable is a tool that may be deferred: the model then sees it once a result refers to it.
type deferrable struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Deferred    bool            `json:"defer_loading"`
}

func (d *deferrable) tool() Tool {
	return Tool{Name: d.Name, Description: d.Description, Schema: d.Schema}
}

// readMessages reads a request of the Messages API.
func readMessages(body []byte) (Turn, error) {
	var in struct {
		Stream   bool         `json:"stream"`
		Tools    []deferrable `json:"tools"`
		Messages []struct {
			Role    string `json:"role"`
			Content blocks `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Turn{}, err
	}
	if in.Stream {
		return Turn{}, errStream
	}
	var t Turn
	hidden := map[string]Tool{}
	for _, tool := range in.Tools {
		if tool.Deferred {
			hidden[tool.Name] = tool.tool()
			continue
		}
		t.Tools = append(t.Tools, tool.tool())
	}
	if len(t.Tools) == 0 && len(hidden) > 0 {
		return Turn{}, errors.New("at least one tool must not be deferred")
	}
	made := calls{}
	for _, m := range in.Messages {
		for _, b := range m.Content {
			if err := b.read(&t, m.Role, made, hidden); err != nil {
				return Turn{}, err
			}
		}
	}
	return t, nil
}

func (b *block) read(t *Turn, role string, made calls, hidden map[string]Tool) error {
	switch {
	case b.Type == "text" && role == "user":
		t.Asked = b.Text
	case b.Type == "tool_use":
		made[b.ID] = b.Name
	case b.Type == "tool_result":
		r, err := made.result(b.CallID, "")
		if err != nil {
			return err
		}
		for _, part := range b.Content {
			r.Text += part.Text
			if part.Type != "tool_reference" {
				continue
			}
			tool, ok := hidden[part.ToolName]
			if !ok {
				return fmt.Errorf("tool reference %q not found in available tools", part.ToolName)
			}
			r.Found = append(r.Found, part.ToolName)
			if _, known := t.tool(part.ToolName); !known {
				t.Tools = append(t.Tools, tool)
			}
		}
		t.Results = append(t.Results, r)
	}
	return nil
}

func writeMessages(number int, a Action) any {
	stop, content := "end_turn", map[string]any{"type": "text", "text": a.Say}
	if a.Tool.Name != "" {
		stop = "tool_use"
		content = map[string]any{"type": "tool_use", "id": "toolu_" + strconv.Itoa(number), "name": a.Tool.Name, "input": orEmpty(a.Arguments)}
	}
	return map[string]any{
		"id": "msg_" + strconv.Itoa(number), "type": "message", "role": "assistant", "model": "scripted", "content": []any{content},
		"stop_reason": stop, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 0, "output_tokens": 0},
	}
}
