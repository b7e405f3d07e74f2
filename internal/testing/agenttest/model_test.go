package agenttest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// send sends a request to a model and returns what it answers.
func send(t *testing.T, m *Model, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+path, strings.NewReader(body))
	check.OK(t, err)
	resp, err := http.DefaultClient.Do(req)
	check.OK(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	check.OK(t, err)
	return fmt.Sprint(resp.StatusCode, " ", string(answer))
}

const search = `"name":"search_tools","description":"d","%s":{"type":"object"}`

func TestTheModelSearchesFirst(t *testing.T) {
	m := Start(t, Seeker{}.Act)
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"sing"}],"tools":[{"type":"function","function":{` + fmt.Sprintf(search, "parameters") + `}}]}`,
		"/v1/responses":        `{"input":"sing","tools":[{"type":"tool_search","execution":"client"}]}`,
		"/v1/messages":         `{"messages":[{"role":"user","content":[{"type":"text","text":"sing"}]}],"tools":[{` + fmt.Sprintf(search, "input_schema") + `}]}`,
	} {
		answer := send(t, m, path, body)
		if !strings.HasPrefix(answer, "200") || !strings.Contains(answer, "search") || !strings.Contains(answer, "sing") {
			t.Errorf("%s: %s", path, answer)
		}
		if turns := m.Turns(); len(turns) != 1 || turns[0].Asked != "sing" || len(turns[0].Tools) != 1 {
			t.Errorf("%s: %+v", path, turns)
		}
	}
}

// A tool that a search has made known is called by its name, with the values that its schema has.
func TestTheModelCallsWhatIsFound(t *testing.T) {
	m := Start(t, Seeker{Values: map[string]any{"song": "hey", "key": "C"}}.Act)
	const schema = `{"type":"object","properties":{"song":{"type":"string"}}}`
	for path, body := range map[string]string{
		"/v1/responses": `{"tools":[{"type":"tool_search","execution":"client"}],"input":[{"role":"user","content":"sing"},{"type":"tool_search_call","call_id":"c"},
			{"type":"tool_search_output","call_id":"c","tools":[{"type":"function","name":"sing","parameters":` + schema + `}]}]}`,
		"/v1/messages": `{"tools":[{` + fmt.Sprintf(search, "input_schema") + `},{"name":"sing","defer_loading":true,"input_schema":` + schema + `}],"messages":[{"role":"user","content":"sing"},
			{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"search_tools"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"tool_reference","tool_name":"sing"}]}]}]}`,
	} {
		if answer := send(t, m, path, body); !strings.Contains(answer, `"name":"sing"`) || !strings.Contains(answer, "hey") || strings.Contains(answer, "key") {
			t.Errorf("%s: %s", path, answer)
		}
	}
}

func TestTheModelRefusesWhatVendorsRefuse(t *testing.T) {
	m := Start(t, Seeker{}.Act)
	for what, request := range map[string][2]string{
		"a name with a dot":            {"/v1/chat/completions", `{"messages":[{"role":"user","content":"sing"}],"tools":[{"type":"function","function":{"name":"a.b","parameters":{"type":"object"}}}]}`},
		"a schema of no object":        {"/v1/chat/completions", `{"messages":[{"role":"user","content":"sing"}],"tools":[{"type":"function","function":{"name":"a","parameters":{}}}]}`},
		"a result of no call":          {"/v1/responses", `{"input":[{"role":"user","content":"sing"},{"type":"function_call_output","call_id":"c","output":"la"}]}`},
		"a reference to no tool":       {"/v1/messages", `{"tools":[{` + fmt.Sprintf(search, "input_schema") + `}],"messages":[{"role":"user","content":"sing"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"search_tools"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"tool_reference","tool_name":"sing"}]}]}]}`},
		"deferred tools and no others": {"/v1/messages", `{"tools":[{"name":"a","defer_loading":true,"input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"sing"}]}`},
		"another path":                 {"/v1/embeddings", `{}`},
	} {
		if answer := send(t, m, request[0], request[1]); !strings.HasPrefix(answer, "4") {
			t.Errorf("%s: %s", what, answer)
		}
	}
}
