package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
)

// BenchmarkTraces measures searches, and batches from acceptance until they can be
// searched, in a process that makes no spans and in one that sends all of them to a
// collector, which throws them away.
func BenchmarkTraces(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer sink.Close()
	for _, traces := range []struct{ name, endpoint string }{{"off", ""}, {"on", sink.URL}} {
		b.Run(traces.name, func(b *testing.B) {
			b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", traces.endpoint)
			e := toMeasure(b)
			batch(b, e, 0, 4000)
			b.Run("search", func(b *testing.B) {
				for b.Loop() {
					if w := e.call("POST", "/v1/search", `{"query":"when is low tide at pier 17 and who rents a boat there"}`); w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
			})
			b.Run("batch", func(b *testing.B) {
				for n := 1; b.Loop(); n++ {
					batch(b, e, n, 256)
				}
			})
		})
	}
}

// toMeasure runs a process on an empty folder until the benchmark ends.
func toMeasure(b *testing.B) *Embedded {
	b.Helper()
	cfg, err := config.Load("", map[string]any{"data": b.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	e, err := OpenEmbedded(b.Context(), cfg, slog.New(slog.DiscardHandler), "test")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return e
}

// batch writes so many tools and returns once they can be searched. The same ones
// come with other words each time.
func batch(b *testing.B, e *Embedded, turn, n int) {
	b.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"name":"tide_%d","description":"Tells when low tide %d is at pier %d."}`+"\n", i, turn, i%100)
	}
	w := e.call("POST", "/v1/tools:batch", lines.String())
	if w.Code != http.StatusOK {
		b.Fatal(w.Body)
	}
	last := strings.Split(strings.TrimSpace(w.Body.String()), "\n")[n-1]
	var answer struct {
		ID       string
		Revision uint64
	}
	if err := json.Unmarshal([]byte(last), &answer); err != nil || answer.Revision == 0 {
		b.Fatal(last)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	body := fmt.Sprintf(`{"changes":[{"id":%q,"revision":%d}]}`, answer.ID, answer.Revision)
	for !strings.Contains(e.call("POST", "/v1/tools:states", body).Body.String(), `"indexed"`) {
		<-tick.C
	}
}
