package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

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
		answer, err := answerOf([]byte(`{"resultType":"input_required","requestState":"s","inputRequests":{"q":` + asked + `}}`))
		var refused *source.CallError
		switch {
		case passed && (err != nil || !answer.NeedsInput || len(answer.InputRequests) == 0):
			t.Errorf("%s: %+v, %v", asked, answer, err)
		case !passed && (!errors.As(err, &refused) || !refused.Refused):
			t.Errorf("%s went on: %s", asked, answer.InputRequests)
		}
	}
}

func called(t *testing.T, at source.Place) (source.Answer, error) {
	t.Helper()
	c := check.Value(Connector{Version: "test"}.Open(t.Context(), at))(t)
	t.Cleanup(c.Close)
	return c.Call(t.Context(), source.Call{Tool: "one"})
}

func TestResultsStayAsTheServerWroteThem(t *testing.T) {
	places := map[string]source.Place{}
	for _, kind := range kinds {
		places[kind.name] = place(t, serve(t, kind.serve(newServer("one"))))
	}
	t.Setenv(serveVariable, serveMark)
	places["a command"] = source.Place{Command: []string{os.Args[0]}, Limits: limits()}
	for name, at := range places {
		if a, err := called(t, at); err != nil || string(a.Structured) != exact {
			t.Errorf("%s: %s, %v", name, a.Structured, err)
		}
	}
}

// Events may have other fields, several lines of data, and messages that answer no request of ours.
func TestAResultIsTakenFromItsEvent(t *testing.T) {
	const others = ": comment\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{\"content\":5}}\n\n"
	const ours = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"error\":null,\"id\":%s,\"result\":\ndata: {\"content\":[{\"type\":\"new\",\ndata: \"n\":1.0}],\"_meta\":{\"b\":1}}}\n"
	quiet := scripted(func(string) string { return `{}` })
	a, err := called(t, place(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := check.Value(io.ReadAll(r.Body))(t)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, others+ours, m.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		quiet.ServeHTTP(w, r)
	}))))
	if err != nil || len(a.Content) != 1 || !strings.Contains(string(a.Content[0]), "1.0") || string(a.Other["_meta"]) != `{"b":1}` {
		t.Errorf("%s, %v", a.Content, err)
	}
}

// Readers differ in which of two members of one name they take, so no check would hold for all of them.
func TestAResultThatReadersDifferOnIsRefused(t *testing.T) {
	for _, result := range []string{
		`{"content":[],"content":[]}`, `{"content":[{"type":"text","type":"image"}]}`, `{"content":[{"\u0061":1,"a":2}]}`,
		`{"content":["text"]}`, `{"isError":"no"}`, `[]`, `null`,
	} {
		_, err := called(t, place(t, serve(t, scripted(func(string) string { return result }))))
		var refused *source.CallError
		if !errors.As(err, &refused) || !refused.Refused {
			t.Errorf("%s: %v", result, err)
		}
	}
}
