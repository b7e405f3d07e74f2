package llmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const maxRequest = 8 << 20

// ServeHTTP answers the two calls of the protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		s.models(w, r)
	case "POST /v1/chat/completions":
		s.chat(w, r)
	default:
		refuse(w, http.StatusNotFound, "", "no such call")
	}
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if !s.known(r) {
		refuse(w, http.StatusUnauthorized, "", "wrong key")
		return
	}
	write(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": s.cfg.Model, "object": "model", "created": 0, "owned_by": "rules"},
	}})
}

func (s *Server) known(r *http.Request) bool {
	return s.cfg.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.cfg.Key || r.Header.Get("Api-Key") == s.cfg.Key
}

// refuse answers with an error in OpenAI's form.
func refuse(w http.ResponseWriter, status int, param, message string) {
	write(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": param, "code": nil,
	}})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// call is the body of a request.
type call struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content text   `json:"content"`
	} `json:"messages"`
	MaxTokens           *int     `json:"max_tokens"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`
	Format              *struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
		Grammar json.RawMessage `json:"schema"` // with json_object
	} `json:"response_format"`
}

// text is a content, which is a string or a list of parts.
type text string

// UnmarshalJSON reads both forms.
func (t *text) UnmarshalJSON(b []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return json.Unmarshal(b, (*string)(t))
	}
	for _, p := range parts {
		*t += text(p.Text)
	}
	return nil
}

// unsupported returns the member that this server does not support, and the
// message of its refusal.
func (c *Config) unsupported(r call) (param, message string) {
	format := ""
	if r.Format != nil {
		format = r.Format.Type
	}
	switch {
	case c.NoSchema && format == "json_schema":
		return "response_format", "'response_format.type' must be 'json_object' or 'text'"
	case c.NoGrammar && format == "json_object" && r.Format.Grammar != nil:
		return "response_format.schema", "Unknown parameter: 'response_format.schema'."
	case c.NoObject && format == "json_object":
		return "response_format", "This model does not support response_format json_object"
	case c.NoMaxTokens && r.MaxTokens != nil:
		return "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	case c.NoTemperature && r.Temperature != nil && *r.Temperature != 1:
		return "temperature", "Unsupported value: 'temperature' does not support 0 with this model."
	}
	return "", ""
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var body call
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&body)
	if err == nil {
		err = body.check(s.cfg.Model)
	}
	param, message := s.cfg.unsupported(body)
	switch {
	case !s.known(r):
		s.count("unauthorized", 0, 0)
		refuse(w, http.StatusUnauthorized, "", "Incorrect API key provided")
	case err != nil:
		s.count("invalid", 0, 0)
		refuse(w, http.StatusBadRequest, "", err.Error())
	case message != "":
		s.count("unsupported", 0, 0)
		refuse(w, cmp.Or(s.cfg.Unsupported, http.StatusBadRequest), param, message)
	default:
		s.answer(r.Context(), w, s.read(body))
	}
}

func (c *call) check(model string) error {
	switch {
	case c.Model != model:
		return fmt.Errorf("the model `%s` does not exist", c.Model)
	case c.Stream:
		return errors.New("this server does not stream")
	case len(c.Messages) == 0:
		return errors.New("no messages")
	}
	if f := c.Format; f != nil && f.Type == "json_schema" {
		return checkSchema(f.Schema.Name, f.Schema.Schema, f.Schema.Strict)
	}
	return nil
}

func (s *Server) read(c call) Request {
	r := Request{Model: c.Model, Format: "text"}
	for _, m := range c.Messages {
		to := &r.User
		if m.Role == "system" || m.Role == "developer" {
			to = &r.System
		}
		*to = strings.TrimPrefix(*to+"\n"+string(m.Content), "\n")
	}
	for _, n := range []*int{c.MaxTokens, c.MaxCompletionTokens} {
		if n != nil {
			r.MaxTokens = *n
		}
	}
	if c.Format != nil && !s.cfg.IgnoreFormat {
		r.Format, r.SchemaName, r.Schema = c.Format.Type, c.Format.Schema.Name, c.Format.Schema.Schema
		if c.Format.Grammar != nil {
			r.Schema = c.Format.Grammar
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.times[r.User]++
	r.Number, r.Times = s.number, s.times[r.User]
	return r
}

// reply returns the reply of the recordings or the rule, with the fault applied.
func (s *Server) reply(r Request) Reply {
	reply := Reply{Content: "{}"}
	recorded, ok := "", false
	if s.cfg.KeyOf != nil {
		recorded, ok = s.cfg.Recordings[s.cfg.KeyOf(r)]
	}
	if ok {
		reply.Content = recorded
	} else if s.cfg.Answer != nil {
		reply = s.cfg.Answer(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.queue) > 0:
		reply.Fault, s.queue = s.queue[0], s.queue[1:]
	case reply.Fault == "":
		reply.Fault = s.cfg.Faults.pick(r.User, r.Times)
	}
	return reply
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r Request) {
	reply := spoil(r, s.reply(r))
	if !s.pause(ctx, s.cfg.Latency) {
		s.count("abandoned", 0, 0)
		return
	}
	switch reply.Fault {
	case TooMany:
		s.count(string(TooMany), 0, 0)
		w.Header().Set("Retry-After", strconv.Itoa(int((s.cfg.RetryAfter+time.Second-1)/time.Second)))
		write(w, http.StatusTooManyRequests, map[string]any{"error": "too many requests"})
	case ServerFail:
		s.count(string(ServerFail), 0, 0)
		http.Error(w, "internal error", http.StatusInternalServerError)
	case Hang:
		s.count(string(Hang), 0, 0)
		select {
		case <-ctx.Done():
		case <-s.stop.Done():
		}
	default:
		s.complete(ctx, w, r, reply)
	}
}

// pause waits; it returns false if the caller went away meanwhile.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stop.Done():
	}
	return false
}

func words(s string) int { return len(strings.Fields(s)) }

// complete sends a completion, whole or not.
func (s *Server) complete(ctx context.Context, w http.ResponseWriter, r Request, reply Reply) {
	prompt, completion := words(r.System)+words(r.User), words(reply.Content)+words(reply.Refusal)
	body, err := json.Marshal(s.completion(r, reply, prompt, completion))
	if err != nil {
		refuse(w, http.StatusInternalServerError, "", err.Error())
		return
	}
	outcome := cmp.Or(string(reply.Fault), "answered")
	if ctx.Err() != nil {
		s.count("abandoned", 0, 0)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch reply.Fault {
	case CutBody:
		s.count(outcome, 0, 0)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2]) // the missing half ends the connection
	case Slow:
		if !s.drip(ctx, w, body) {
			prompt, completion = 0, 0
		}
		s.count(outcome, prompt, completion)
	default:
		s.count(outcome, prompt, completion)
		_, _ = w.Write(body)
	}
}

func (s *Server) completion(r Request, reply Reply, prompt, completion int) map[string]any {
	message := map[string]any{"role": "assistant", "content": reply.Content, "refusal": nil}
	if reply.Refusal != "" {
		message["content"], message["refusal"] = nil, reply.Refusal
	}
	finish := reply.Finish
	if finish == "" {
		finish = "stop"
	}
	choices := []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}}
	if reply.Fault == NoChoices {
		choices = []any{}
	}
	return map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(r.Number), "object": "chat.completion", "created": 0, "model": s.cfg.Model,
		"choices": choices,
		"usage":   map[string]any{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
	}
}

// drip sends the body byte by byte; it returns false if the caller went away.
func (s *Server) drip(ctx context.Context, w http.ResponseWriter, body []byte) bool {
	flush := http.NewResponseController(w)
	for i := range body {
		if !s.pause(ctx, s.cfg.SlowEvery) {
			return false
		}
		if _, err := w.Write(body[i : i+1]); err != nil {
			return false
		}
		if flush.Flush() != nil {
			return false
		}
	}
	return true
}
