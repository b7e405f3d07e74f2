package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/toolstream/toolstream/internal/llm"
)

// chatForm is a way to phrase a request. The zero value is the best: servers
// differ in which members they know, and some refuse what they do not know.
// max_tokens comes first because who does not know it says so, while some who
// do not know max_completion_tokens take no notice of it.
type chatForm struct {
	shape         shape
	completion    bool // the bound is called max_completion_tokens
	noTemperature bool
	noSeed        bool
	fixed         bool // the shape is set: no other is tried
}

// shape is how the endpoint is told the shape of an answer, best first.
type shape int

const (
	strict shape = iota
	object
	prompt
)

func bestForm(s Schemas) (chatForm, error) {
	switch s {
	case SchemaAuto, "":
		return chatForm{}, nil
	case SchemaStrict:
		return chatForm{shape: strict, fixed: true}, nil
	case SchemaObject:
		return chatForm{shape: object, fixed: true}, nil
	case SchemaPrompt:
		return chatForm{shape: prompt, fixed: true}, nil
	}
	return chatForm{}, fmt.Errorf("openai: schema %q is not auto, strict, object or prompt", s)
}

// seed makes answers as repeatable as the endpoint can.
const seed = 1

// inPrompt tells the model the shape where the endpoint does not.
const inPrompt = "\n\nAnswer with one JSON object and nothing else: no explanation, no code fence. It has to fit this JSON Schema:\n"

func (f chatForm) request(model string, r llm.Request) sdk.ChatCompletionNewParams {
	system := r.System
	if f.shape != strict {
		system += inPrompt + string(r.Schema.JSON)
	}
	p := sdk.ChatCompletionNewParams{
		Model:          model,
		Messages:       []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(system), sdk.UserMessage(r.User)},
		ResponseFormat: f.format(r.Schema),
	}
	if !f.noTemperature {
		p.Temperature = param.NewOpt(0.0)
	}
	if !f.noSeed {
		p.Seed = param.NewOpt(int64(seed))
	}
	switch {
	case r.MaxTokens == 0:
	case f.completion:
		p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
	default:
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
	}
	return p
}

func (f chatForm) format(s llm.Schema) (u sdk.ChatCompletionNewParamsResponseFormatUnion) {
	switch f.shape {
	case strict:
		u.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: s.Name, Strict: param.NewOpt(true), Schema: s.JSON,
		}}
	case object:
		u.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return u
}

// without is the form without the member that a refusal names; false: it names
// none that could be left out.
func (f chatForm) without(said string) (chatForm, bool) {
	names := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case !f.completion && names("max_tokens", "max_completion_tokens"):
		f.completion = true
	case !f.noTemperature && names("temperature"):
		f.noTemperature = true
	case !f.noSeed && names("seed"):
		f.noSeed = true
	case !f.fixed && f.shape < prompt && names("response_format", "json_schema", "json_object", "structured output", "grammar"):
		f.shape++
	default:
		return f, false
	}
	return f, true
}

// simpler is the form that a refusal may be avoided by that does not say what
// it is about; false: there is none.
func (f chatForm) simpler() (chatForm, bool) {
	if !f.fixed && f.shape < prompt {
		f.shape++
		return f, true
	}
	plain := chatForm{shape: f.shape, fixed: f.fixed, completion: f.completion, noTemperature: true, noSeed: true}
	return plain, plain != f
}

const (
	// tryAnew is how long a lesser shape is used before the best is tried again:
	// servers are updated.
	tryAnew = time.Hour
	// maxMisses is the number of answers in a row that take no notice of the
	// schema before it is told another way.
	maxMisses = 3
)

// formMemory remembers which form the endpoint understands.
type formMemory struct {
	best chatForm

	mu      sync.Mutex // guards what follows
	current chatForm
	settled bool      // an answer came in the current form
	misses  int       // answers in a row that take no notice of the schema
	since   time.Time // when the current form was chosen
}

// choose returns the form of the next request.
func (m *formMemory) choose(now time.Time) chatForm {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.current
	if f.shape != m.best.shape && now.Sub(m.since) > tryAnew {
		m.since = now // one caller tries; the others go on as before
		f.shape = m.best.shape
	}
	return f
}

// judge remembers what came of a request, and says how to ask again.
func (m *formMemory) judge(now time.Time, f chatForm, r llm.Request, a llm.Answer, err error) (next chatForm, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := asProblem(err); ok {
		return m.refused(f, p)
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Kind == llm.Refused {
		return f, false
	}
	known := m.settled && f == m.current
	if m.current != f {
		m.current, m.misses, m.since = f, 0, now
	}
	m.settled = true
	return m.missed(now, f, known, ignored(f, r.Schema, a, err))
}

// refused says how to ask again after a refusal. Once a form is known to be
// understood, a refusal that names no member is a matter of the request.
func (m *formMemory) refused(f chatForm, p *problem) (chatForm, bool) {
	if p.kind != refused {
		return f, false
	}
	if m.settled && f.shape == m.best.shape && m.current.shape != m.best.shape {
		return m.current, true // it was tried whether the best is understood now
	}
	if next, ok := f.without(blamed(p.said)); ok {
		return next, true
	}
	if m.settled {
		return f, false
	}
	return f.simpler()
}

// forget makes sure that the form is found out anew, if it is the one that is used.
func (m *formMemory) forget(f chatForm) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f == m.current {
		m.current, m.settled, m.misses = m.best, false, 0
	}
}

// missed counts answers that take no notice of the schema. The first one is
// asked for again; later ones may be a mood of the model.
func (m *formMemory) missed(now time.Time, f chatForm, known, ignores bool) (chatForm, bool) {
	if !ignores {
		m.misses = 0
		return f, false
	}
	m.misses++
	if f.fixed || known && m.misses < maxMisses {
		return f, false
	}
	next := f
	next.shape = object
	m.current, m.settled, m.misses, m.since = next, false, 0, now
	return next, !known
}

// ignored reports whether an answer shows that the endpoint does not hold the
// model to a schema that it was given: no object, or one without a member that
// has to be there.
func ignored(f chatForm, s llm.Schema, a llm.Answer, err error) bool {
	if f.shape != strict {
		return false
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		return errors.Is(e.Err, errNoJSON)
	}
	var root struct {
		Required []string `json:"required"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(s.JSON, &root) != nil || json.Unmarshal(a.JSON, &members) != nil {
		return false
	}
	return slices.ContainsFunc(root.Required, func(name string) bool { _, ok := members[name]; return !ok })
}

// blamed is where a refusal names what it does not take: the member that it
// gives, else its words, else all of it where it is no JSON. Servers that
// repeat the request in it must not seem to blame every member.
func blamed(said string) string {
	var a struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(alone([]byte(said)), &a) != nil {
		return said
	}
	var error struct {
		Param string `json:"param"`
	}
	if json.Unmarshal(a.Error, &error) == nil && error.Param != "" {
		return error.Param
	}
	var details []struct {
		Place []any `json:"loc"`
	}
	if json.Unmarshal(a.Detail, &details) == nil && len(details) > 0 && len(details[0].Place) > 0 {
		return fmt.Sprint(details[0].Place...)
	}
	return explanation([]byte(said), "")
}
