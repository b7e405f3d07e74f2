package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// EmbedSubject and SearchSubject are where the services answer.
const (
	EmbedSubject  = "toolstream.embed"
	SearchSubject = "toolstream.search"
)

// maxTexts bounds the texts of one embed request.
const maxTexts = 512

// ErrModel is in the error for vectors of another model than the one that is
// expected: they compare with nothing that is in the index.
var ErrModel = errors.New("vectors of another embedding model")

// EmbedderConfig says which embedder is asked.
type EmbedderConfig struct {
	Subject    string        // EmbedSubject when empty
	Model      string        // whose vectors are wanted; any when empty
	Dimensions int           // of the vectors, so that answers fit a message; 0 where they are not known
	Timeout    time.Duration // where the context has no deadline; 10 s when 0
}

// Embedder asks the embedder service for vectors. Its methods may be called
// concurrently.
type Embedder struct {
	cfg    EmbedderConfig
	client *Client
}

// NewEmbedder returns an embedder; nobody needs to answer yet.
func NewEmbedder(cfg EmbedderConfig, conn *nats.Conn) (*Embedder, error) {
	if cfg.Subject == "" {
		cfg.Subject = EmbedSubject
	}
	if cfg.Dimensions < 0 {
		return nil, fmt.Errorf("nats: embedder: %d dimensions", cfg.Dimensions)
	}
	client, err := NewClient(ClientConfig{Subject: cfg.Subject, Timeout: cfg.Timeout}, conn)
	if err != nil {
		return nil, err
	}
	return &Embedder{cfg: cfg, client: client}, nil
}

// embedRequest and embedResponse are the messages of the embed subject, in
// JSON. A vector is the base64 text of its little-endian float32 values.
type (
	embedRequest struct {
		Texts []string `json:"texts"`
	}
	embedResponse struct {
		Model   string          `json:"model"`
		Vectors []events.Vector `json:"vectors"`
	}
)

// Embed returns a unit vector for each text, in order; an empty one where the
// text holds nothing to embed. Texts that are too many for one message go in
// several, one after the other. Errors are those of Client.Request and ErrModel.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := e.fitting(texts)
		vectors, err := e.embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
		texts = texts[n:]
	}
	return out, nil
}

// fitting returns how many of the texts go into a message, and their vectors
// into the answer; at least one, for the service to refuse.
func (e *Embedder) fitting(texts []string) int {
	room := e.client.maxRequest()
	if each := e.cfg.Dimensions*16/3 + 8; room > 0 && e.cfg.Dimensions > 0 {
		texts = texts[:min(len(texts), max(room/each, 1))]
	}
	texts = texts[:min(len(texts), maxTexts)]
	size := 0
	for i, text := range texts {
		size += escaped(text) + len(`"",`)
		if size > min(room, maxBatch) && i > 0 {
			return i
		}
	}
	return len(texts)
}

// maxBatch bounds the texts of one request in bytes, below what a service
// takes.
const maxBatch = 512 << 10

// escaped returns a bound on the length of a text in JSON.
func escaped(text string) int {
	n := len(text)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\\' || c >= 0x80 {
			n += 5 // at most \u00XX
		}
	}
	return n
}

// embed asks once, and for the halves where the answer was too large.
func (e *Embedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.ask(ctx, texts)
	var refusal *Refusal
	if len(texts) == 1 || !errors.As(err, &refusal) || refusal.Status != http.StatusRequestEntityTooLarge {
		return vectors, err
	}
	half := len(texts) / 2
	first, err := e.embed(ctx, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := e.embed(ctx, texts[half:])
	return append(first, second...), err
}

func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(embedRequest{texts})
	if err != nil {
		return nil, fmt.Errorf("nats: embed: %w", err)
	}
	answer, err := e.client.Request(ctx, "", body)
	if err != nil {
		return nil, err
	}
	var resp embedResponse
	if err := json.Unmarshal(answer, &resp); err != nil {
		return nil, fmt.Errorf("nats: embed: answer: %w", err)
	}
	if e.cfg.Model != "" && resp.Model != e.cfg.Model {
		return nil, fmt.Errorf("nats: embed: %w: %s, want %s", ErrModel, schema.Quote(resp.Model), e.cfg.Model)
	}
	return e.checked(texts, resp.Vectors)
}

// checked returns the vectors if there is one of the right length for each text.
func (e *Embedder) checked(texts []string, vectors []events.Vector) ([][]float32, error) {
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("nats: embed: %d vectors for %d texts", len(vectors), len(texts))
	}
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		if e.cfg.Dimensions > 0 && len(v) > 0 && len(v) != e.cfg.Dimensions {
			return nil, fmt.Errorf("nats: embed: %w: %d dimensions, want %d", ErrModel, len(v), e.cfg.Dimensions)
		}
		out[i] = v
	}
	return out, nil
}

// TextEmbedder turns texts into unit vectors, one each and in order.
type TextEmbedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbedHandler returns the other side of Embedder: it answers embed requests
// with the vectors of a model of that name. Bytes that are no request are a
// *schema.Invalid. The tenant makes no difference.
func EmbedHandler(model string, embedder TextEmbedder) Handler {
	return func(ctx context.Context, _ string, request []byte) ([]byte, error) {
		var req embedRequest
		if err := json.Unmarshal(request, &req); err != nil {
			return nil, &schema.Invalid{Reason: `must be {"texts": [...]}: ` + err.Error()}
		}
		if n := len(req.Texts); n == 0 || n > maxTexts {
			return nil, &schema.Invalid{Path: "/texts", Value: fmt.Sprint(n), Reason: fmt.Sprintf("must hold 1 to %d texts", maxTexts)}
		}
		vectors, err := embedder.Embed(ctx, req.Texts)
		if err != nil {
			return nil, err
		}
		resp := embedResponse{Model: model, Vectors: make([]events.Vector, len(vectors))}
		for i, v := range vectors {
			resp.Vectors[i] = v
		}
		return json.Marshal(resp)
	}
}
