package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/tracing"
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
// deadlines, retries and limits are those of llm.Client. It may be used
// concurrently.
type Chat struct {
	endpoint
	cfg   ChatConfig
	forms []chatForm   // best first
	form  atomic.Int32 // index of the form that is used

	turn       chan struct{} // holds a value while another form is looked for
	negotiated atomic.Pointer[negotiation]
}

var _ llm.Model = (*Chat)(nil)

// NewChat returns a model that asks through the transport; nil is Go's default.
// It sends nothing.
func NewChat(cfg ChatConfig, transport http.RoundTripper) (*Chat, error) {
	if cfg.Name == "" {
		return nil, errors.New("openai: no name of a model")
	}
	u, err := parseAddress(cfg.URL, "http://host:port/v1")
	if err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(path, "/api/chat") || strings.HasSuffix(path, "/api/generate") {
		return nil, nativeAPI(u)
	}
	u.Path, u.RawPath = strings.TrimSuffix(path, "/chat/completions")+"/chat/completions", ""
	forms, err := chatForms(cfg.Schema)
	if err != nil {
		return nil, err
	}
	cfg.MaxAnswer = cmp.Or(cfg.MaxAnswer, 1<<20)
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Chat{
		endpoint: newEndpoint(u, cfg.Key, transport, cfg.Parallel), cfg: cfg, forms: forms, turn: make(chan struct{}, 1),
	}, nil
}

// Name identifies the model.
func (c *Chat) Name() string { return c.cfg.Name }

// Complete asks the model. Where the endpoint does not take the form of the
// request, another form is negotiated, and the model is asked again. Usage is
// that of all requests.
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
	used := c.form.Load()
	answer, err := c.once(ctx, r, c.forms[used], false)
	if !mayBeForm(err) {
		return answer, c.explain(ctx, err)
	}
	spent, failed := c.negotiate(ctx, used)
	switch {
	case failed != nil:
		err = failed
	case c.form.Load() != used:
		answer, err = c.once(ctx, r, c.forms[c.form.Load()], false)
	}
	answer.Usage = sum(spent, answer.Usage)
	return answer, c.explain(ctx, err)
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{Prompt: a.Prompt + b.Prompt, Completion: a.Completion + b.Completion}
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
