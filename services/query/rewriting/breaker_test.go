package rewriting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/llm"
)

// TestAModelThatIsDownCostsNothing asks through the breaker: after the first
// failures nobody waits any more, and nothing is sent.
func TestAModelThatIsDownCostsNothing(t *testing.T) {
	for name, answer := range map[string]func(context.Context, llm.Request) (llm.Answer, error){
		"hangs":   hangs,
		"refuses": fails(&llm.Error{Kind: llm.Unavailable, Err: errors.New("connection refused")}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const failures = 3
				b := newBench(t, Config{Late: 2 * time.Second}, answer)
				client, err := llm.New(llm.Config{Attempts: 1, Breaker: llm.Breaker{Row: failures, Rest: time.Hour}}, llm.Deps{
					Model: b.model, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
				})
				if err != nil {
					t.Fatal(err)
				}
				b.Rewriter.deps.Model = client
				for i := range 100 {
					ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
					began := time.Now()
					_, err := b.Rewrite(ctx, query(fmt.Sprint("query ", i)))
					cancel()
					waited := time.Since(began)
					if err == nil || waited > 1500*time.Millisecond {
						t.Fatalf("query %d waited %s, %v", i, waited, err)
					}
					time.Sleep(time.Second) // each call is given up before the next query but one
					if i > failures && (waited != 0 || llm.KindOf(err) != llm.Broken) {
						t.Errorf("query %d waited %s, %v", i, waited, err)
					}
				}
				if n := b.model.times(); n < failures || n > failures+1 {
					t.Errorf("%d calls were sent", n)
				}
				b.drain(t)
			})
		})
	}
}
