// Package agenttest is a scripted language model that uses tools, behind the HTTP protocols
// of vendors: POST /v1/chat/completions and POST /v1/responses (OpenAI), and POST /v1/messages
// (Anthropic). Tests run agent frameworks against it. It records the requests, and
// refuses the same tool definitions as the vendors.
package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its arguments
	Search      bool            // it is the tool_search of the Responses API, which the client runs
}

// Result is the result of a tool call by the model.
type Result struct {
	Tool  string // that was called
	Text  string
	Found []string // the tools that it makes known to the model, by name
}

// Turn is one request as the model sees it, whatever its protocol.
type Turn struct {
	Path    string // of the request
	Asked   string // the last text of the user
	Tools   []Tool // that it may call, including tools that results revealed
	Results []Result
	Body    json.RawMessage // as it was sent
}

// tool returns the tool of a name.
func (t *Turn) tool(name string) (Tool, bool) {
	i := slices.IndexFunc(t.Tools, func(tool Tool) bool { return tool.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return t.Tools[i], true
}

// Action is a step of the model: it calls a tool or replies with text.
type Action struct {
	Tool      Tool // without a name: nothing is called
	Arguments json.RawMessage
	Say       string
}

// Model is a running model.
type Model struct {
	URL string // without a path

	script func(Turn) Action
	mu     sync.Mutex // guards turns
	turns  []Turn
}

// Start starts a model, which ends with the test.
func Start(t testing.TB, script func(Turn) Action) *Model {
	m := &Model{script: script}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Turns returns the requests since the last Turns.
func (m *Model) Turns() []Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns := m.turns
	m.turns = nil
	return turns
}

// protocol reads a vendor's requests and writes its answers.
type protocol struct {
	read  func(body []byte) (Turn, error)
	write func(number int, a Action) any
}

// protocols maps paths to the protocols of the model.
var protocols = map[string]protocol{
	"/v1/chat/completions": {readChat, writeChat},
	"/v1/responses":        {readResponses, writeResponses},
	"/v1/messages":         {readMessages, writeMessages},
}

const maxRequest = 8 << 20

// ServeHTTP answers one turn.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := protocols[r.URL.Path]
	if !ok || r.Method != http.MethodPost {
		refuse(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path)
		return
	}
	var body json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	t, err := p.read(body)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	t.Path, t.Body = r.URL.Path, body
	answer(w, http.StatusOK, p.write(m.keep(t), m.script(t)))
}

// keep records a turn and returns the number of turns.
func (m *Model) keep(t Turn) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, t)
	return len(m.turns)
}

// refuse answers with an error in the form common to all vendors.
func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// toolName matches the function names that every vendor accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check refuses tools that no vendor accepts.
func (t *Turn) check() error {
	names := map[string]bool{}
	for _, tool := range t.Tools {
		var schema struct{ Type string }
		switch {
		case tool.Search:
		case !toolName.MatchString(tool.Name):
			return fmt.Errorf("the name of the tool %q does not match %s", tool.Name, toolName)
		case names[tool.Name]:
			return fmt.Errorf("there are two tools %s", tool.Name)
		case json.Unmarshal(tool.Schema, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("the schema of the tool %s is not that of an object: %s", tool.Name, tool.Schema)
		}
		names[tool.Name] = true
	}
	if t.Asked == "" {
		return errors.New("nobody asks for anything")
	}
	return nil
}

// calls are the calls of a conversation, by id.
type calls map[string]string

// result returns the result of a call, which must belong to the conversation.
func (c calls) result(id, text string) (Result, error) {
	name, ok := c[id]
	if !ok {
		return Result{}, fmt.Errorf("there is no call %q that the result is of", id)
	}
	return Result{Tool: name, Text: text}, nil
}

// text is a content, which is a string or a list of parts.
type text string

// UnmarshalJSON reads both forms.
func (t *text) UnmarshalJSON(b []byte) error {
	var parts []struct{ Text string }
	if json.Unmarshal(b, &parts) != nil {
		return json.Unmarshal(b, (*string)(t))
	}
	for _, p := range parts {
		*t += text(p.Text)
	}
	return nil
}

// orEmpty returns arguments, or an empty object instead of none.
func orEmpty(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage(`{}`)
	}
	return arguments
}
