package mcp

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// What a server asks for goes on to callers, but for addresses that are none of the web.
func TestQuestionsGoOnToCallers(t *testing.T) {
	for asked, passed := range map[string]bool{
		`{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`:              true,
		`{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://id.example.com/login","elicitationId":"1"}}`:        true,
		`{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"javascript:alert(1)","elicitationId":"1"}}`:                 false,
		`{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"file:///etc/passwd","elicitationId":"1"}}`:                  false,
		`{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Read the mail"}}]}}`: true,
		`{"method":"roots/list","params":{}}`: true,
	} {
		var result sdk.CallToolResult
		check.OK(t, json.Unmarshal([]byte(`{"resultType":"input_required","requestState":"s","inputRequests":{"q":`+asked+`}}`), &result))
		answer, err := answerOf(&result)
		var refused *source.CallError
		switch {
		case passed && (err != nil || !answer.NeedsInput || len(answer.InputRequests) == 0):
			t.Errorf("%s: %+v, %v", asked, answer, err)
		case !passed && (!errors.As(err, &refused) || !refused.Refused):
			t.Errorf("%s went on: %s", asked, answer.InputRequests)
		}
	}
}
