package embedder

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// BenchmarkStage embeds batches of documents that share their parameters, as
// the tools of one owner do, and little else.
func BenchmarkStage(b *testing.B) {
	model := check.Value(static.Builtin())(b)
	e := check.Value(NewEncoder(Config{Parallel: 2}, model, prometheus.NewRegistry()))(b)
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
		for _, o := range h.handle(context.Background(), msgs) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(msgs))/b.Elapsed().Seconds(), "docs/s")
}
