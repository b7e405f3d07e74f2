package embedder

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// BenchmarkStage embeds batches of documents that share their parameters, as
// the tools of one owner do, and little else.
func BenchmarkStage(b *testing.B) {
	model, err := static.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	e, err := NewEncoder(Config{Parallel: 2}, model, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	h := &handler{Encoder: e}
	msgs := make([]stream.Message, stream.DefaultBatch)
	round := 0
	b.ReportAllocs()
	for b.Loop() {
		round++
		for i := range msgs {
			doc := weather()
			doc.Name = fmt.Sprintf("operation%dOf%d", i, round)
			doc.Description = fmt.Sprintf("Returns part %d of the things that were asked for in round %d, with all that is known of each.", i, round)
			doc.Parameters = append(doc.Parameters, schema.Parameter{Name: fmt.Sprintf("special_%d_%d", i, round), Type: "string", Description: "what only this one takes"})
			msgs[i] = message(b, events.ToolsStandardized, upsert(fmt.Sprint(i), uint64(round), doc))
		}
		for _, o := range h.Handle(context.Background(), msgs) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(msgs))/b.Elapsed().Seconds(), "docs/s")
}
