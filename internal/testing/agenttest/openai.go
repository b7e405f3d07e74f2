package agenttest

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// toolSearch is the type of the search tool that the client runs.
const toolSearch = "tool_search"

// function is a function of OpenAI's APIs.
type function struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Execution   string          `json:"execution"` // of tool_search
}

func (f *function) tool() Tool {
	return Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters}
}

// readChat reads a request of chat completions.
func readChat(body []byte) (Turn, error) {
	var in struct {
		Stream   bool `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content text   `json:"content"`
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function function `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Turn{}, err
	}
	if in.Stream {
		return Turn{}, errStream
	}
	var t Turn
	for _, tool := range in.Tools {
		t.Tools = append(t.Tools, tool.Function.tool())
	}
	made := calls{}
	for _, m := range in.Messages {
		for _, c := range m.Calls {
			made[c.ID] = c.Function.Name
		}
		switch m.Role {
		case "user":
			t.Asked = string(m.Content)
		case "tool":
			r, err := made.result(m.CallID, string(m.Content))
			if err != nil {
				return Turn{}, err
			}
			t.Results = append(t.Results, r)
		}
	}
	return t, nil
}

func writeChat(number int, a Action) any {
	message := map[string]any{"role": "assistant", "content": a.Say, "refusal": nil}
	finish := "stop"
	if a.Tool.Name != "" {
		finish = "tool_calls"
		message["content"] = nil
		message["tool_calls"] = []any{map[string]any{"id": callID(number), "type": "function", "function": map[string]any{
			"name": a.Tool.Name, "arguments": string(orEmpty(a.Arguments)),
		}}}
	}
	return map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(number), "object": "chat.completion", "created": 0, "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
		"usage":   map[string]any{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
	}
}

// readResponses reads a request of the Responses API.
func readResponses(body []byte) (Turn, error) {
	var in struct {
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []function      `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Turn{}, err
	}
	if in.Stream {
		return Turn{}, errStream
	}
	var t Turn
	for _, f := range in.Tools {
		switch {
		case f.Type == toolSearch && f.Execution == "client":
			t.Tools = append(t.Tools, Tool{Name: f.Type, Description: f.Description, Schema: f.Parameters, Search: true})
		case f.Type == "function":
			t.Tools = append(t.Tools, f.tool())
		default:
			return Turn{}, fmt.Errorf("tools of the type %q are not known", f.Type)
		}
	}
	if json.Unmarshal(in.Input, &t.Asked) == nil {
		return t, nil
	}
	var items []item
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return Turn{}, err
	}
	made := calls{}
	for _, i := range items {
		if err := i.read(&t, made); err != nil {
			return Turn{}, err
		}
	}
	return t, nil
}

// item is one item of the input of the Responses API.
type item struct {
	Type      string     `json:"type"`
	Role      string     `json:"role"`
	Content   text       `json:"content"`
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Output    text       `json:"output"`
	Execution string     `json:"execution"`
	Status    string     `json:"status"`
	Tools     []function `json:"tools"`
}

func (i *item) read(t *Turn, made calls) error {
	switch i.Type {
	case "", "message":
		if i.Role == "user" {
			t.Asked = string(i.Content)
		}
	case "function_call":
		made[i.CallID] = i.Name
	case "tool_search_call":
		made[i.CallID] = toolSearch
	case "function_call_output", "tool_search_output":
		r, err := made.result(i.CallID, string(i.Output))
		if err != nil {
			return err
		}
		for _, f := range i.Tools {
			r.Found = append(r.Found, f.Name)
			t.Tools = append(t.Tools, f.tool())
		}
		t.Results = append(t.Results, r)
	}
	return nil
}

func writeResponses(number int, a Action) any {
	id := strconv.Itoa(number)
	var out map[string]any
	switch {
	case a.Tool.Search:
		out = map[string]any{"type": "tool_search_call", "id": "tsc_" + id, "call_id": callID(number), "execution": "client", "status": "completed", "arguments": orEmpty(a.Arguments)}
	case a.Tool.Name != "":
		out = map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": callID(number), "status": "completed", "name": a.Tool.Name, "arguments": string(orEmpty(a.Arguments))}
	default:
		out = map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed", "content": []any{
			map[string]any{"type": "output_text", "text": a.Say, "annotations": []any{}, "logprobs": []any{}},
		}}
	}
	return map[string]any{
		"id": "resp_" + id, "object": "response", "created_at": 0, "status": "completed", "model": "scripted", "output": []any{out},
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{},
		"usage": map[string]any{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}},
	}
}

func callID(number int) string { return "call_" + strconv.Itoa(number) }
