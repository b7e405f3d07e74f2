package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// embedded opens the embedded bus on disk.
func embedded(b *testing.B) *jetstream.Server {
	b.Helper()
	bus, err := jetstream.Open(context.Background(), jetstream.Config{Dir: b.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bus.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return bus
}

const benchDocument = 1 << 10 // bytes

// benchItems returns a batch of changed documents.
func benchItems(writer, round, n int) []formats.Item {
	items := make([]formats.Item, n)
	for i := range items {
		items[i] = doc(fmt.Sprintf("tool-%d-%d", writer, i), fmt.Sprintf("%d %0*d", round, benchDocument, i))
	}
	return items
}

// BenchmarkAccept compares accepting with publishing the same records bare, on
// the same bus, in the same batches and from as many writers: figures are
// changes a second.
func BenchmarkAccept(b *testing.B) {
	for _, shape := range []struct{ writers, batch int }{{1, 1}, {16, 1}, {1, 256}, {4, 256}} {
		name := fmt.Sprintf("writers=%d/batch=%d", shape.writers, shape.batch)
		b.Run(name+"/bare", func(b *testing.B) {
			bus := embedded(b)
			rounds(b, shape.writers, shape.batch, func(writer, round int) error {
				return bus.Publish(b.Context(), bare(writer, round, shape.batch)...)
			})
		})
		b.Run(name+"/accept", func(b *testing.B) {
			s := running(b, embedded(b))
			rounds(b, shape.writers, shape.batch, func(writer, round int) error {
				_, err := s.Accept(b.Context(), home, benchItems(writer, round, shape.batch))
				return err
			})
		})
	}
}

// BenchmarkUnchanged accepts documents that are known already.
func BenchmarkUnchanged(b *testing.B) {
	s := running(b, streamtest.NewBus())
	items := benchItems(0, 0, 256)
	accept(b, s, items...)
	for b.Loop() {
		if _, err := s.Accept(b.Context(), home, items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(items))/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkLoad reads a bus of known documents into the table.
func BenchmarkLoad(b *testing.B) {
	bus := embedded(b)
	const known = 10_000
	for i := range known / 500 {
		if err := bus.Publish(b.Context(), bare(i, 0, 500)...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s := running(b, bus)
		if s.table.Len() != known {
			b.Fatalf("%d known", s.table.Len())
		}
	}
	b.ReportMetric(float64(b.N*known)/b.Elapsed().Seconds(), "records/s")
}

// bus is what a service needs of one.
type benchBus interface {
	stream.Publisher
	stream.Follower
}

func running(b *testing.B, bus benchBus) *Service {
	b.Helper()
	s, err := New(Config{}, Deps{
		Publisher: bus, Follower: bus, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(func() { cancel(); <-done })
	<-s.Loaded()
	return s
}

// bare returns the records that benchItems become.
func bare(writer, round, n int) []stream.Message {
	msgs := make([]stream.Message, n)
	for i, item := range benchItems(writer, round, n) {
		c := events.Change{Schema: events.ChangeSchema, Op: events.OpUpsert, Format: item.Format, Hash: item.Hash, Accepted: time.Now()}
		c.Tenant, c.Kind, c.ID, c.Revision = home, item.Kind, item.ID, uint64(time.Now().UnixMicro())
		value := encode(&c, item.Raw)
		msgs[i] = stream.Message{Topic: events.ToolsRaw, Key: events.Key(c.Ref), Value: value, Headers: map[string]string{
			events.HeaderSchema: "1", events.HeaderRevision: "1", events.HeaderHash: item.Hash,
		}}
	}
	return msgs
}

// rounds runs the writers side by side until b has had its rounds.
func rounds(b *testing.B, writers, batch int, write func(writer, round int) error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for r := w; r < b.N; r += writers {
				if err := write(w, r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "changes/s")
}
