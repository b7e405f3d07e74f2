package weaviate_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/tests/process"
)

// BenchmarkIngestThroughKafka puts embedded tools on Kafka, from where the
// embedder service carries them into Weaviate, beside a bare loop that writes
// the same objects to the same Weaviate and checks nothing, in turns.
func BenchmarkIngestThroughKafka(b *testing.B) {
	var cluster process.Cluster
	b.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			b.Error(err)
		}
	})
	d := process.Serve(b, &cluster, process.Build(b), config.VectorsWeaviate)
	d.Kill("query-1", "query-2", "trainer", "standardizer-1", "standardizer-2", "ingest", "embedder-2")
	builtin, err := static.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	model := weaviate.Model{Name: builtin.Name(), Dimensions: builtin.Dimensions()}
	bus := newBus(b, cluster.Kafka.Addr, d.Prefix)
	tools := weaviate.MadeTools(model)
	through(b, bus, tools(1)) // the group has its member, the class is there
	bare := weaviate.NewBare(b, "http://"+cluster.Weaviate.Addr, cluster.Weaviate.GRPC, model)
	var ours, barely time.Duration
	written := 0
	for b.Loop() {
		changes := tools(1024)
		ours += through(b, bus, changes)
		barely += bare.Write(b, changes)
		written += len(changes)
	}
	b.ReportMetric(float64(written)/ours.Seconds(), "tools/s")
	b.ReportMetric(float64(written)/barely.Seconds(), "bare-tools/s")
	b.ReportMetric(barely.Seconds()/ours.Seconds(), "ratio")
}

func newBus(b *testing.B, broker, prefix string) *kafka.Bus {
	b.Helper()
	bus, err := kafka.New(kafka.Config{Brokers: []string{broker}, Prefix: prefix}, kafka.Deps{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bus.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	return bus
}

// through publishes changes and returns how long it took until all of them were
// committed by who writes to Weaviate.
func through(b *testing.B, bus *kafka.Bus, changes []events.Change) time.Duration {
	b.Helper()
	var msgs []stream.Message
	for i := range changes {
		value, err := events.EncodeChange(&changes[i])
		if err != nil {
			b.Fatal(err)
		}
		msgs = append(msgs, stream.Message{Topic: events.ToolsEmbedded, Key: events.Key(changes[i].Ref), Value: value})
	}
	began := time.Now()
	if err := bus.Publish(b.Context(), msgs...); err != nil {
		b.Fatal(err)
	}
	ends, err := bus.End(b.Context(), events.ToolsEmbedded)
	if err != nil {
		b.Fatal(err)
	}
	err = process.Until(b.Context(), func() (bool, error) {
		at, err := bus.Committed(b.Context(), events.ToolsEmbedded, "weaviate")
		for partition, end := range ends {
			if at[partition] < end {
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
