package rewriting

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
)

// scripted returns a Rewriter whose model is a server behind HTTP, within the
// bounds of a client.
func scripted(t *testing.T, cfg llmtest.Config) (*bench, *llmtest.Server) {
	t.Helper()
	cfg.Answer = func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Content: good} }
	server := check.Value(llmtest.Listen(t.Context(), "", cfg))(t)
	transport := &http.Transport{}
	chat := check.Value(openai.NewChat(openai.ChatConfig{URL: server.URL(), Name: "scripted"}, transport))(t)
	first := llm.Request{User: "first", Schema: llm.Schema{Name: "any", JSON: json.RawMessage(`{"type":"object","additionalProperties":false}`)}}
	if _, err := chat.Complete(t.Context(), first); err != nil && cfg.Faults.Chance == nil { // a form of requests is proven
		t.Fatal(err)
	}
	client := check.Value(llm.New(llm.Config{Timeout: 2 * faultBudget, Parallel: 32, Attempts: 2, MaxPause: time.Second, Failures: 1000}, llm.Deps{
		Model: chat, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}))(t)
	b := newBench(t, Config{KeepFailures: time.Nanosecond}, nil)
	b.Rewriter.deps.Model = client
	t.Cleanup(func() {
		b.drain(t)
		check.OK(t, server.Close())
		transport.CloseIdleConnections()
	})
	return b, server
}

// faultBudget is how long each query of these tests waits.
const faultBudget = 300 * time.Millisecond

// TestEveryFault has a server fail in every way it knows. What a search gets is
// what the model would have said or nothing, within its time.
func TestEveryFault(t *testing.T) {
	want, _, err := read([]byte(good), &question{query: "the weather"}, vectors(t))
	check.OK(t, err)
	for _, fault := range llmtest.All() {
		t.Run(string(fault), func(t *testing.T) {
			b, server := scripted(t, llmtest.Config{RetryAfter: 5 * time.Second})
			server.Inject(slices.Repeat([]llmtest.Fault{fault}, 8)...) // attempts, and questions about the form
			ctx, cancel := context.WithTimeout(t.Context(), faultBudget)
			defer cancel()
			began := time.Now()
			got, err := b.Rewrite(ctx, query("the weather"))
			if waited := time.Since(began); waited > 3*faultBudget {
				t.Errorf("waited %s", waited)
			}
			switch fault {
			case llmtest.Invented, llmtest.Missing, llmtest.Echo: // an answer with more or fewer arguments is one; no text of it can be echoed
				if err != nil || !reflect.DeepEqual(got.Needs, want.Needs) {
					t.Errorf("%+v, %v", got, err)
				}
			default:
				if err == nil {
					t.Errorf("%+v", got)
				}
			}
			kept := len(b.Failed("t"))
			if answered := fault == llmtest.CutJSON || fault == llmtest.Prose || fault == llmtest.Refusal || fault == llmtest.WrongShape; answered != (kept > 0) {
				t.Errorf("%d answers are kept", kept)
			}
		})
	}
}
