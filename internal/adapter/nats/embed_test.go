package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/services/embedder"
)

// lengths embeds a text as a unit vector of its length and first byte.
type lengths struct {
	dimensions int

	mu    sync.Mutex // guards calls
	calls []int
}

func (*lengths) Name() string      { return "lengths" }
func (l *lengths) Dimensions() int { return l.dimensions }

func (l *lengths) Embed(_ context.Context, texts []string) ([][]float32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, len(texts))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if text == "" {
			continue
		}
		x, y := float64(len(text)), float64(text[0])
		v := make([]float32, l.dimensions)
		v[0], v[1] = float32(x/math.Hypot(x, y)), float32(y/math.Hypot(x, y))
		out[i] = v
	}
	return out, nil
}

func serveEmbed(t *testing.T, nc *nats.Conn, h Handler) {
	t.Helper()
	serveWith(t, Config{Name: "test", Subject: EmbedSubject}, nc, h)
}

func newEmbedder(t *testing.T, cfg EmbedderConfig, nc *nats.Conn) *Embedder {
	t.Helper()
	cfg.Timeout = patience
	e, err := NewEmbedder(cfg, nc)
	must(t, err)
	return e
}

// The client understands the handler of this package and that of the service.
func TestEmbedThereAndBack(t *testing.T) {
	model := &lengths{dimensions: 4}
	encoder, err := embedder.NewEncoder(embedder.Config{}, model, prometheus.NewRegistry())
	must(t, err)
	bus := streamtest.NewBus()
	service, err := embedder.New(embedder.Config{}, embedder.Deps{
		Model: model, Groups: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	must(t, err)
	texts := []string{"weather", "", "zürich <&>\"\\\x00", strings.Repeat("x", 5000)}
	want, err := encoder.Embed(t.Context(), texts)
	must(t, err)
	for name, handler := range map[string]Handler{"adapter": EmbedHandler("lengths", encoder), "service": service.Handle} {
		t.Run(name, func(t *testing.T) {
			nc := connect(t)
			serveEmbed(t, nc, handler)
			got, err := newEmbedder(t, EmbedderConfig{Model: "lengths", Dimensions: 4}, nc).Embed(t.Context(), texts)
			must(t, err)
			if !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
				t.Errorf("%v, want %v", got, want)
			}
			if none, err := newEmbedder(t, EmbedderConfig{}, nc).Embed(t.Context(), nil); err != nil || len(none) != 0 {
				t.Errorf("no texts: %v, %v", none, err)
			}
		})
	}
}

func TestManyTextsGoInSeveralMessages(t *testing.T) {
	many := make([]string, 600)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for _, tt := range []struct {
		name       string
		payload    int32
		dimensions int // that the client knows
	}{
		{"known dimensions", 1 << 20, 1024},
		{"unknown dimensions", 1 << 20, 0},
		{"small messages", 32 << 10, 1024},
		{"small messages, unknown", 32 << 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := &lengths{dimensions: 1024}
			nc := dial(t, ConnectConfig{URL: startServer(t, server.Options{MaxPayload: tt.payload}).ClientURL()})
			serveEmbed(t, nc, EmbedHandler("lengths", model))
			got, err := newEmbedder(t, EmbedderConfig{Dimensions: tt.dimensions}, nc).Embed(t.Context(), many)
			must(t, err)
			want, err := model.Embed(t.Context(), many)
			must(t, err)
			if !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
				t.Error("other vectors than asked directly")
			}
			if most := slices.Max(model.calls[:len(model.calls)-1]); most > maxTexts {
				t.Errorf("%d texts in one message", most)
			}
		})
	}
}

func TestATextThatFitsNoMessageIsAnError(t *testing.T) {
	nc := dial(t, ConnectConfig{URL: startServer(t, server.Options{MaxPayload: 32 << 10}).ClientURL()})
	serveEmbed(t, nc, EmbedHandler("lengths", &lengths{dimensions: 2}))
	_, err := newEmbedder(t, EmbedderConfig{}, nc).Embed(t.Context(), []string{"a", strings.Repeat("\x00", 20<<10)})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestVectorsOfAnotherModelAreRefused(t *testing.T) {
	nc := connect(t)
	serveEmbed(t, nc, EmbedHandler("lengths", &lengths{dimensions: 2}))
	for _, cfg := range []EmbedderConfig{{Model: "other"}, {Dimensions: 3}} {
		if _, err := newEmbedder(t, cfg, nc).Embed(t.Context(), []string{"a"}); !errors.Is(err, ErrModel) {
			t.Errorf("%+v: %v, want ErrModel", cfg, err)
		}
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	for _, answer := range []string{
		``, `[]`, `{"vectors":[]}`, `{"vectors":["AAAA"]}`, `{"vectors":["AADAfw=="]}`, `{"vectors":["","" ]}`, `{"vectors":"x"}`,
	} {
		nc := connect(t)
		serveEmbed(t, nc, func(context.Context, string, []byte) ([]byte, error) { return []byte(answer), nil })
		if got, err := newEmbedder(t, EmbedderConfig{}, nc).Embed(t.Context(), []string{"a"}); err == nil {
			t.Errorf("%s was taken for %v", answer, got)
		}
	}
}

func TestWrongEmbedRequestsAreRefused(t *testing.T) {
	nc := connect(t)
	serveEmbed(t, nc, EmbedHandler("lengths", &lengths{dimensions: 2}))
	c, err := NewClient(ClientConfig{Subject: EmbedSubject}, nc)
	must(t, err)
	long := `{"texts":["a"` + strings.Repeat(`,"a"`, maxTexts) + `]}`
	for _, request := range []string{``, `{`, `{}`, `{"texts":[]}`, `{"texts":"a"}`, `{"texts":[1]}`, strings.Repeat("[", 100_000), long} {
		var r *Refusal
		if _, err := c.Request(patient(t), "", []byte(request)); !errors.As(err, &r) || r.Status != 422 {
			t.Errorf("%.40s: %v, want 422", request, err)
		}
	}
	down := fmt.Errorf("no model")
	serveWith(t, Config{Name: "down", Subject: "down"}, nc, EmbedHandler("m", failing{down}))
	var r *Refusal
	if _, err := newEmbedder(t, EmbedderConfig{Subject: "down"}, nc).Embed(patient(t), []string{"a"}); !errors.As(err, &r) || r.Status != 503 {
		t.Errorf("%v, want 503", err)
	}
}

type failing struct{ err error }

func (f failing) Embed(context.Context, []string) ([][]float32, error) { return nil, f.err }
