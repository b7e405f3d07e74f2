package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// documents are messages of a kilobyte that shrink like JSON.
func documents(n int) []stream.Message {
	random := noise(n * 256)
	out := make([]stream.Message, n)
	for i := range out {
		value := fmt.Sprintf(`{"id":%d,"name":"tool number %d","description":"%x"}`, i, i, random[i*256:(i+1)*256])
		for len(value) < 1024 {
			value += `,{"type":"string","description":"a parameter of the tool","required":true}`
		}
		out[i] = stream.Message{Topic: events.ToolsRaw, Key: fmt.Sprint("default/tool-", i), Value: []byte(value[:1024])}
	}
	return out
}

// BenchmarkProduce compares Publish with the library's own writer, which is set
// alike: all replicas, zstd, murmur2, requests of the same size. An operation is
// a record.
func BenchmarkProduce(b *testing.B) {
	cfg := fresh(b, 6)
	create(b, cfg)
	bus := open(b, cfg)
	defer closeBus(b, bus)
	bare := new(kafkago.Writer)
	bare.Addr, bare.Topic = kafkago.TCP(cfg.Brokers...), cfg.topic(events.ToolsRaw)
	bare.RequiredAcks, bare.Compression = kafkago.RequireAll, kafkago.Zstd
	bare.Balancer = kafkago.Murmur2Balancer{Consistent: true}
	bare.BatchTimeout, bare.BatchSize, bare.BatchBytes = 5*time.Millisecond, maxBatch, maxBatchBytes
	transport := &kafkago.Transport{}
	bare.Transport = transport
	defer transport.CloseIdleConnections()
	defer bare.Close()
	docs := documents(2000)
	records := make([]kafkago.Message, len(docs))
	for i, m := range docs {
		records[i] = kafkago.Message{Key: []byte(m.Key), Value: m.Value}
	}
	ways := []struct {
		name string
		send func(ctx context.Context, from, to int) error
	}{
		{"toolstream", func(ctx context.Context, from, to int) error { return bus.Publish(ctx, docs[from:to]...) }},
		{"bare", func(ctx context.Context, from, to int) error { return bare.WriteMessages(ctx, records[from:to]...) }},
	}
	for _, call := range []struct{ callers, size int }{{1, 2000}, {1, 128}, {16, 1}, {1, 1}} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%d callers/%d records a call/%s", call.callers, call.size, way.name), func(b *testing.B) {
				b.SetBytes(1024)
				var callers errgroup.Group
				for c := range call.callers {
					callers.Go(func() error {
						for done := c * call.size; done < b.N; done += call.callers * call.size {
							from := done % (len(docs) - call.size + 1)
							if err := way.send(b.Context(), from, from+min(call.size, b.N-done)); err != nil {
								return err
							}
						}
						return nil
					})
				}
				must(b, callers.Wait())
			})
		}
	}
}
