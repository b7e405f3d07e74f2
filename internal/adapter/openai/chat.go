package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/tracing"
)

// Schemas says how the endpoint is told the shape of an answer.
type Schemas string

// The ways.
const (
	SchemaAuto   Schemas = "auto"   // the best way that the endpoint knows
	SchemaStrict Schemas = "strict" // it holds the model to the schema
	SchemaObject Schemas = "object" // it holds the model to JSON, and the prompt has the schema
	SchemaPrompt Schemas = "prompt" // the prompt has the schema, and that is all
)

// ChatConfig says which model is asked, and how.
type ChatConfig struct {
	// URL is the base of an OpenAI-compatible API ("http://localhost:11434/v1"),
	// or the full address of its chat/completions call. One with an api-version
	// is Azure's: the key is then sent as api-key.
	URL    string
	Key    string // sent as a bearer token; may be empty
	Name   string // of the model, as the endpoint calls it
	Schema Schemas

	MaxAnswer int64 // bytes that are read of an answer; 1 MiB
	Parallel  int   // connections that are kept; 8
}

// Chat is a language model behind an endpoint, as llm.Model. It asks once:
// deadlines, retries and limits are those of llm.Client. It may be used
// concurrently.
type Chat struct {
	cfg    ChatConfig
	url    *url.URL
	client *http.Client
	chat   sdk.ChatCompletionService
	form   formMemory
}

var _ llm.Model = (*Chat)(nil)

// NewChat returns a model that asks through the transport; nil is Go's default.
// It sends nothing.
func NewChat(cfg ChatConfig, transport http.RoundTripper) (*Chat, error) {
	if cfg.Name == "" {
		return nil, errors.New("openai: no name of a model")
	}
	if min(cfg.MaxAnswer, int64(cfg.Parallel)) < 0 {
		return nil, errors.New("openai: a limit is negative")
	}
	u, err := chatBase(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.MaxAnswer == 0 {
		cfg.MaxAnswer = 1 << 20
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 8
	}
	c := &Chat{cfg: cfg, url: u, client: newHTTP(transport, cfg.Parallel)}
	best, err := bestForm(cfg.Schema)
	if err != nil {
		return nil, err
	}
	c.form = formMemory{best: best, current: best}
	c.chat = sdk.NewChatCompletionService(c.options()...)
	return c, nil
}

// chatBase returns the address that "chat/completions" is appended to.
func chatBase(raw string) (*url.URL, error) {
	u, err := address(raw, "http://host:port/v1")
	if err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(path, "/api/chat") || strings.HasSuffix(path, "/api/generate") {
		return nil, foreign(u)
	}
	u.Path, u.RawPath = strings.TrimSuffix(path, "/chat/completions")+"/", ""
	return u, nil
}

// options are all that the client is told. The service, unlike a whole client
// of the SDK, reads no environment.
func (c *Chat) options() []option.RequestOption {
	query := c.url.Query()
	base := *c.url
	base.RawQuery = ""
	options := []option.RequestOption{
		option.WithHTTPClient(c.client), option.WithBaseURL(base.String()),
		option.WithMaxRetries(0), option.WithMiddleware(c.heed),
	}
	for name := range query {
		options = append(options, option.WithQuery(name, query.Get(name)))
	}
	switch {
	case c.cfg.Key == "":
	case query.Has("api-version"):
		options = append(options, option.WithHeader("api-key", c.cfg.Key))
	default:
		options = append(options, option.WithAPIKey(c.cfg.Key))
	}
	return options
}

// heed turns whatever is no answer into a problem, before the SDK reads it: it
// knows errors in OpenAI's form alone, and reads them without bound.
func (c *Chat) heed(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	resp, err := next(req)
	if err != nil {
		return nil, failed("%w", withoutAddress(err))
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, ofStatus(resp, c.cfg.Key)
	}
	if err := isJSON(resp.Header.Get("Content-Type")); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	resp.Body = bounded{io.LimitReader(resp.Body, c.cfg.MaxAnswer+1), resp.Body}
	return resp, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// Name identifies the model.
func (c *Chat) Name() string { return c.cfg.Name }

// Close ends idle connections. Calls that are under way go on.
func (c *Chat) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

// Complete asks the model. Where the endpoint does not know a member of the
// request, it is asked again without it; an answer that takes no notice of the
// schema is asked for again too, the first time. Usage is then that of both.
func (c *Chat) Complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	ctx, span := tracing.Ask(ctx, "chat")
	answer, err := c.complete(ctx, r)
	if span.IsRecording() {
		span.SetAttributes(
			tracing.Operation.String("chat"), tracing.Model.String(c.cfg.Name), tracing.Stage.String(string(r.Stage)),
			tracing.InputTokens.Int(answer.Usage.Prompt), tracing.OutputTokens.Int(answer.Usage.Completion),
		)
	}
	tracing.End(span, err)
	return answer, err
}

func (c *Chat) complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	f := c.form.choose(time.Now())
	var spent llm.Usage
	for {
		answer, err := c.once(ctx, r, f)
		spent = sum(spent, answer.Usage)
		next, again := c.form.judge(time.Now(), f, r, answer, err)
		if again {
			f = next
			continue
		}
		if isRefusal(err) {
			var proof llm.Usage
			proof, err = c.prove(ctx, f, err)
			spent = sum(spent, proof)
		}
		answer.Usage = spent
		return answer, c.explain(ctx, err)
	}
}

// harmlessQuestion is one that nobody has a reason to refuse.
var harmlessQuestion = llm.Request{
	System: "Answer with the word that you are given.", User: "yes", MaxTokens: 32,
	Schema: llm.Schema{Name: "answer", JSON: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["word"],"properties":{"word":{"type":"string"}}}`)},
}

// prove returns the refusal of a request if it is about that, as the endpoint answers
// others. Some say with the same status that nothing is paid for, or that a key is
// wrong: they refuse whatever they are asked, and so they do where they do not know
// the form any more. It is found out again then.
func (c *Chat) prove(ctx context.Context, f chatForm, refusal error) (llm.Usage, error) {
	answer, err := c.once(ctx, harmlessQuestion, f)
	switch p, ok := asProblem(err); {
	case isRefusal(err):
		c.form.forget(f)
		return answer.Usage, unfit("even a harmless question is refused: %w", errors.Unwrap(err))
	case ok:
		return answer.Usage, p
	}
	return answer.Usage, refusal
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{Prompt: a.Prompt + b.Prompt, Completion: a.Completion + b.Completion}
}

// once makes one request.
func (c *Chat) once(ctx context.Context, r llm.Request, f chatForm) (llm.Answer, error) {
	var raw []byte
	if _, err := c.chat.New(ctx, f.request(c.cfg.Name, r), option.WithResponseBodyInto(&raw)); err != nil {
		if _, ok := asProblem(err); !ok {
			err = failed("%w", withoutAddress(err))
		}
		return llm.Answer{}, err
	}
	if int64(len(raw)) > c.cfg.MaxAnswer {
		return llm.Answer{}, &llm.Error{Kind: llm.Malformed, Err: fmt.Errorf("the answer is longer than %d bytes", c.cfg.MaxAnswer)}
	}
	return c.read(raw, r)
}

// explain turns an error into what the stages know, with the address.
func (c *Chat) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := &llm.Error{Kind: llm.Unavailable}
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		*out, err = *e, e.Err
	}
	if p, ok := asProblem(err); ok {
		out.RetryAfter, out.Busy = p.after, p.crowd
		switch p.kind {
		case unusable:
			out.Kind = llm.Setup
		case refused:
			out.Kind = llm.Rejected
		}
	}
	out.Err = fmt.Errorf("%s: %w", shown(c.url), err)
	return out
}
