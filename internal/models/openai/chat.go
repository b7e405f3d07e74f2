package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/models/llm"
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

	Logger *slog.Logger // nil: nothing is logged
}

// Chat is a language model behind an endpoint, as llm.Model. It asks once:
// llm.Client adds deadlines, retries and limits. It may be used concurrently.
type Chat struct {
	endpoint
	cfg   ChatConfig
	forms []chatForm
	form  atomic.Int32 // index of the form in use
}

var _ llm.Model = (*Chat)(nil)

// NewChat returns a model that asks through the transport; nil is Go's default.
// It sends nothing.
func NewChat(cfg ChatConfig, transport http.RoundTripper) (*Chat, error) {
	if cfg.Name == "" {
		return nil, errors.New("openai: no name of a model")
	}
	u, err := parseAddress(cfg.URL, "/chat/completions", "/api/chat", "/api/generate")
	if err != nil {
		return nil, err
	}
	forms, err := chatForms(cfg.Schema)
	if err != nil {
		return nil, err
	}
	cfg.MaxAnswer = cmp.Or(cfg.MaxAnswer, 1<<20)
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Chat{endpoint: newEndpoint(u, cfg.Key, transport, cfg.Parallel), cfg: cfg, forms: forms}, nil
}

// Name identifies the model.
func (c *Chat) Name() string { return c.cfg.Name }

// Complete asks the model. A refusal counts only if the endpoint still answers a harmless
// question in the same form; else Complete repeats the request in the first form that gets
// an answer. Usage includes all requests.
func (c *Chat) Complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	ctx, span := telemetry.StartClientSpan(ctx, "chat")
	answer, err := c.complete(ctx, r)
	err = c.explain(ctx, err)
	if span.IsRecording() {
		span.SetAttributes(
			telemetry.Operation.String("chat"), telemetry.Model.String(c.cfg.Name), telemetry.Stage.String(string(r.Stage)),
			telemetry.InputTokens.Int(answer.Usage.Prompt), telemetry.OutputTokens.Int(answer.Usage.Completion),
		)
	}
	telemetry.EndSpan(span, err)
	return answer, err
}

func (c *Chat) complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	used := c.form.Load()
	answer, err := c.once(ctx, r, c.forms[used], false)
	if !isKind(err, refused) {
		return answer, err
	}
	spent, form, failed := c.probe(ctx, used)
	switch {
	case failed != nil:
		err = failed
	case form != used:
		c.form.Store(form)
		answer, err = c.once(ctx, r, c.forms[form], false)
	}
	answer.Usage.Prompt += spent.Prompt
	answer.Usage.Completion += spent.Completion
	return answer, err
}

// probe asks a harmless question in the form in use, then in the others, and returns the first
// form that is not refused. An endpoint that refuses all of them wants to be paid or has got a
// wrong key: that is an error of the setup.
func (c *Chat) probe(ctx context.Context, used int32) (spent llm.Usage, form int32, err error) {
	var refusal error
	for i := range int32(len(c.forms)) {
		form = (used + i) % int32(len(c.forms))
		answer, err := c.once(ctx, probeQuestion, c.forms[form], true)
		spent.Prompt += answer.Usage.Prompt
		spent.Completion += answer.Usage.Completion
		switch _, failed := asProblem(err); {
		case isKind(err, refused):
			refusal = cmp.Or(refusal, err)
		case failed:
			return spent, form, err
		default: // even an answer that makes no sense is an answer
			if form != used {
				c.cfg.Logger.InfoContext(ctx, "the language model is asked in another form",
					"llm.schema", c.forms[form].schema, "max_completion_tokens", c.forms[form].reasoning, "because of", refusal)
			}
			return spent, form, nil
		}
	}
	return spent, used, misconfiguredf("even a harmless question is refused: %w", errors.Unwrap(refusal))
}

// once makes one request. probe says that it holds no text of a user.
func (c *Chat) once(ctx context.Context, r llm.Request, f chatForm, probe bool) (llm.Answer, error) {
	raw, err := c.post(ctx, f.request(c.cfg.Name, r), c.cfg.MaxAnswer, probe)
	if errors.Is(err, errTooLong) {
		return llm.Answer{}, malformed(err)
	}
	if err != nil {
		return llm.Answer{}, err
	}
	return read(raw, r)
}

// explain turns an error into a kind of llm, with the address.
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
	if p, ok := asProblem(err); ok && out.Kind == llm.Unavailable {
		out.RetryAfter = p.after
		switch p.kind {
		case misconfigured:
			out.Kind = llm.Setup
		case refused:
			out.Kind = llm.Rejected
		}
	}
	out.Err = fmt.Errorf("%s: %w", redacted(c.url), err)
	return out
}
