package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
)

const answerSchema = `{"type":"object","additionalProperties":false,"required":["word"],"properties":{"word":{"type":"string"}}}`

func question(user string) llm.Request {
	return llm.Request{
		Stage: llm.StageRewrite, Tenant: "t", System: "You answer.", User: user, MaxTokens: 100,
		Schema: llm.Schema{Name: "answer", JSON: json.RawMessage(answerSchema)},
	}
}

// scripted starts a server that answers {"word": …} and remembers what it read.
type scripted struct {
	*llmtest.Server
	mu   sync.Mutex
	read []llmtest.Request
}

func newScripted(t *testing.T, cfg llmtest.Config) *scripted {
	t.Helper()
	s := &scripted{}
	rule := cfg.Answer
	cfg.Answer = func(r llmtest.Request) llmtest.Reply {
		if !strings.HasPrefix(r.System, probeQuestion.System) {
			s.mu.Lock()
			s.read = append(s.read, r)
			s.mu.Unlock()
		}
		if rule != nil {
			return rule(r)
		}
		return llmtest.Reply{Content: `{"word":"yes"}`}
	}
	server := check.Value(llmtest.Listen(t.Context(), "", cfg))(t)
	s.Server = server
	t.Cleanup(func() { check.OK(t, server.Close()) })
	return s
}

func (s *scripted) formats() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.read {
		if r.Format == "json_object" && r.Schema != nil {
			r.Format += " with the schema"
		}
		out = append(out, r.Format)
	}
	return out
}

func newChat(t *testing.T, cfg ChatConfig, transport http.RoundTripper) *Chat {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "scripted"
	}
	c := check.Value(NewChat(cfg, transport))(t)
	t.Cleanup(func() { check.OK(t, c.Close()) })
	return c
}

func TestChatAsksInTheFormThatTheEndpointKnows(t *testing.T) {
	tests := map[string]struct {
		server  llmtest.Config
		schema  Schemas
		format  string // of the answered requests
		refused int
		says    string // in the log
	}{
		"all":           {llmtest.Config{}, SchemaAuto, "json_schema", 0, ""},
		"no schema":     {llmtest.Config{NoSchema: true}, SchemaAuto, "json_object", 3, "must be 'json_object' or 'text'"},
		"says 501":      {llmtest.Config{NoSchema: true, Unsupported: 501}, SchemaAuto, "json_object", 3, "must be 'json_object' or 'text'"},
		"says 422":      {llmtest.Config{NoSchema: true, Unsupported: 422}, SchemaAuto, "json_object", 3, "must be 'json_object' or 'text'"},
		"ignores":       {llmtest.Config{IgnoreFormat: true}, SchemaAuto, "text", 0, ""},
		"no max_tokens": {llmtest.Config{NoMaxTokens: true}, SchemaAuto, "json_schema", 2, "Unsupported parameter: 'max_tokens'"},
		"reasons":       {llmtest.Config{NoMaxTokens: true, NoTemperature: true}, SchemaAuto, "json_schema", 2, "Unsupported parameter: 'max_tokens'"},
		"grammar":       {llmtest.Config{NoSchema: true}, SchemaGrammar, "json_object with the schema", 0, ""},
		"object":        {llmtest.Config{NoSchema: true, NoGrammar: true}, SchemaObject, "json_object", 0, ""},
		"prompt":        {llmtest.Config{NoSchema: true, NoObject: true}, SchemaPrompt, "text", 0, ""},
		"knows little":  {llmtest.Config{NoSchema: true, NoObject: true, NoMaxTokens: true}, SchemaPrompt, "text", 2, "Unsupported parameter: 'max_tokens'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t, test.server)
			var log bytes.Buffer
			c := newChat(t, ChatConfig{URL: s.URL(), Key: "sk-secret", Schema: test.schema, Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil)
			for range 2 {
				a, err := c.Complete(t.Context(), question("now?"))
				if err != nil || string(a.JSON) != `{"word":"yes"}` || a.Model != "scripted" {
					t.Fatalf("%s from %s, %v", a.JSON, a.Model, err)
				}
			}
			if got := s.formats(); !slices.Equal(got, []string{test.format, test.format}) {
				t.Errorf("answered were %q", got)
			}
			if got := s.Counts().By["unsupported"].Calls; got != test.refused {
				t.Errorf("%d requests refused, want %d", got, test.refused)
			}
			for _, r := range s.read {
				if r.System != "You answer." || !strings.HasPrefix(r.User, "now?") || !strings.HasSuffix(r.User, answerSchema) {
					t.Errorf("%s: asked %q, %q", r.Format, r.System, r.User)
				}
				if r.MaxTokens != 100 {
					t.Errorf("bounded by %d tokens", r.MaxTokens)
				}
			}
			if !strings.Contains(log.String(), test.says) || strings.Count(log.String(), "\n") != min(test.refused, 1) {
				t.Errorf("logged %s", &log)
			}
		})
	}
}

// handler is a transport that asks a handler, without a network.
type handler struct{ http.Handler }

func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

func TestChatSortsFailures(t *testing.T) {
	s := newScripted(t, llmtest.Config{Key: "sk-secret", Answer: func(r llmtest.Request) llmtest.Reply {
		switch asked, _, _ := strings.Cut(r.User, "\n"); asked {
		case "filtered":
			return llmtest.Reply{Content: `{"word":`, Finish: "content_filter"}
		case "long":
			return llmtest.Reply{Content: `{"word":"` + strings.Repeat("x", 4000) + `"}`}
		case "empty":
			return llmtest.Reply{Content: " \n"}
		case "list":
			return llmtest.Reply{Content: `["word"]`}
		}
		return llmtest.Reply{Content: `{"word":"yes"}`}
	}})
	c := newChat(t, ChatConfig{URL: s.URL(), Key: "sk-secret", MaxAnswer: 3000, Schema: SchemaStrict}, nil)
	check.Value(c.Complete(t.Context(), question("now?")))(t)
	tests := []struct {
		fault llmtest.Fault
		user  string
		kind  llm.Kind
		text  string
		paid  bool
	}{
		{llmtest.TooMany, "", llm.Unavailable, "", false},
		{llmtest.ServerFail, "", llm.Unavailable, "", false},
		{llmtest.CutBody, "", llm.Unavailable, "", false},
		{llmtest.CutJSON, "", llm.Malformed, `{"word"`, true},
		{llmtest.Prose, "", llm.Malformed, "Certainly", true},
		{llmtest.Refusal, "", llm.Refused, "I am sorry", true},
		{llmtest.NoChoices, "", llm.Malformed, "", true},
		{"", "filtered", llm.Refused, `{"word":`, true},
		{"", "empty", llm.Malformed, "", true},
		{"", "list", llm.Malformed, `["word"]`, true},
		{"", "long", llm.Malformed, "", false},
	}
	for _, test := range tests {
		if test.fault != "" {
			s.Inject(test.fault)
		}
		a, err := c.Complete(t.Context(), question(test.user))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != test.kind || !strings.HasPrefix(e.Text, test.text) || (test.text == "") != (e.Text == "") {
			t.Errorf("%s%s: error %v", test.fault, test.user, err)
			continue
		}
		if paid := a.Usage.Prompt > 0; paid != test.paid {
			t.Errorf("%s%s: usage %+v", test.fault, test.user, a.Usage)
		}
		if paced := test.fault == llmtest.TooMany; (e.RetryAfter == time.Second) != paced {
			t.Errorf("%s: again in %s", test.fault, e.RetryAfter)
		}
	}
}

func TestChatSortsStatuses(t *testing.T) {
	tests := []struct {
		status int
		header string
		body   string
		kind   llm.Kind
		says   string
	}{
		{400, "application/json", `{"error":{"message":"private words","code":"context_length_exceeded"}}`, llm.Rejected, "context_length_exceeded"},
		{400, "application/json", `{"error":"private words"}`, llm.Rejected, ""},
		{401, "application/json", `{"error":{"message":"bad key sk-secret"}}`, llm.Setup, "bad key (key)"},
		{404, "application/json", `{"error":{"message":"no such model"}}`, llm.Setup, "no such model"},
		{405, "text/plain", "what?", llm.Setup, "405"},
		{307, "", "", llm.Setup, "moved"},
		{413, "text/plain", "too large", llm.Rejected, "413"},
		{422, "application/json", `{"detail":[{"loc":["body","messages"],"msg":"private words"}]}`, llm.Rejected, ""},
		{429, "text/plain", "slow down", llm.Unavailable, "429"},
		{503, "text/html", "<html>", llm.Unavailable, "503"},
		{200, "text/html", "<html>", llm.Setup, "text/html"},
		{200, "application/json", `{"choices":[`, llm.Unavailable, "not a completion"},
		{200, "application/json", `{"error":{"message":"private words"}}`, llm.Unavailable, "is an error"},
		{200, "application/json", `{}`, llm.Malformed, "no choice"},
	}
	for _, test := range tests {
		requests := 0
		c := newChat(t, ChatConfig{URL: "http://h/v1?key=hidden", Key: "sk-secret"}, transport(func(r *http.Request) (*http.Response, error) {
			requests++
			if isProbe(t, r) {
				return handler{llmtest.New(llmtest.Config{})}.RoundTrip(r)
			}
			return respond(test.status, test.body, "Content-Type", test.header), nil
		}))
		_, err := c.Complete(t.Context(), question("private words"))
		if llm.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%d %s: %v", test.status, test.body, err)
			continue
		}
		for _, secret := range []string{"hidden", "sk-secret", "private"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%d: the error repeats %q: %v", test.status, secret, err)
			}
		}
		if requests > 5 {
			t.Errorf("%d: %d requests", test.status, requests)
		}
	}
}

// isProbe reports whether a request is there to see whether any is answered.
func isProbe(t *testing.T, r *http.Request) bool {
	t.Helper()
	body := check.Value(io.ReadAll(r.Body))(t)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(probeQuestion.System))
}

// Who refuses everything refuses no request: nothing is paid for, or it was replaced
// by one that knows other words.
func TestAChatThatRefusesEverythingIsNotSetUp(t *testing.T) {
	for _, body := range []string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low."}}`,
		`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`,
	} {
		server, refuse := llmtest.New(llmtest.Config{}), false // it answers {}
		c := newChat(t, ChatConfig{URL: "http://h/v1"}, transport(func(r *http.Request) (*http.Response, error) {
			if !refuse {
				return handler{server}.RoundTrip(r)
			}
			return respond(400, body), nil
		}))
		for _, refuse = range []bool{true, false, true, false} {
			_, err := c.Complete(t.Context(), question("q"))
			switch {
			case !refuse && err != nil:
				t.Errorf("it answers again: %v", err)
			case refuse && (llm.KindOf(err) != llm.Setup || !strings.Contains(err.Error(), "even a harmless question is refused") || !strings.Contains(err.Error(), "not valid") && !strings.Contains(err.Error(), "credit")):
				t.Errorf("%s: %v", body, err)
			}
		}
	}
}

// Once the endpoint has answered in a form, a refusal costs one probe, and the
// error repeats no words of the request.
func TestARefusalCostsOneProbe(t *testing.T) {
	server := llmtest.New(llmtest.Config{Answer: func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Content: `{"word":"yes"}`} }})
	requests, refuse := 0, false
	c := newChat(t, ChatConfig{URL: "http://h/v1"}, transport(func(r *http.Request) (*http.Response, error) {
		requests++
		if !refuse || isProbe(t, r) {
			return handler{server}.RoundTrip(r)
		}
		return respond(400, `{"error":{"message":"cannot take: private words","code":"context_length_exceeded"}}`), nil
	}))
	check.Value(c.Complete(t.Context(), question("q")))(t)
	requests, refuse = 0, true
	_, err := c.Complete(t.Context(), question("private words"))
	if llm.KindOf(err) != llm.Rejected || requests != 2 || !strings.HasSuffix(err.Error(), "400 Bad Request: context_length_exceeded") {
		t.Errorf("%d requests, %v", requests, err)
	}
}

// An answer without end is read no further than its bound.
func TestAnEndlessAnswerEnds(t *testing.T) {
	c := newChat(t, ChatConfig{URL: "http://h/v1", MaxAnswer: 1 << 16}, transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(spaces{}), Header: http.Header{"Content-Type": {"application/json"}}}, nil
	}))
	if _, err := c.Complete(t.Context(), question("q")); llm.KindOf(err) != llm.Malformed {
		t.Error(err)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestChatAsksAsConfigured(t *testing.T) {
	tests := []struct{ url, key, asked, bearer, azure string }{
		{"http://h/v1", "", "http://h/v1/chat/completions", "", ""},
		{"http://h/v1/chat/completions", "k", "http://h/v1/chat/completions", "Bearer k", ""},
		{"http://h/openai/deployments/d?api-version=1", "k", "http://h/openai/deployments/d/chat/completions?api-version=1", "", "k"},
	}
	for _, test := range tests {
		c := newChat(t, ChatConfig{URL: test.url, Key: test.key}, transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.String() != test.asked || r.Header.Get("Authorization") != test.bearer || r.Header.Get("Api-Key") != test.azure {
				t.Errorf("asked %s with %v", r.URL, r.Header)
			}
			return nil, errors.New("away")
		}))
		if _, err := c.Complete(t.Context(), question("")); llm.KindOf(err) != llm.Unavailable {
			t.Error(err)
		}
	}
}

func TestChatRefusesWrongSettings(t *testing.T) {
	for _, cfg := range []ChatConfig{
		{URL: "http://h/v1"},
		{URL: "h/v1", Name: "m"},
		{URL: "http://user:pass@h/v1", Name: "m"},
		{URL: "http://h/api/chat", Name: "m"},
		{URL: "http://h/v1", Name: "m", Schema: "loose"},
	} {
		if _, err := NewChat(cfg, nil); err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}
