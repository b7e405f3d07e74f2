package jetstream

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

const benchSize = 1 << 10 // bytes of a value

// benchMessages returns n messages of different keys, and the same as a bare
// client would send them.
func benchMessages(c Config, n, offset int) ([]stream.Message, []*nats.Msg) {
	msgs := make([]stream.Message, n)
	bare := make([]*nats.Msg, n)
	for i := range msgs {
		msgs[i] = stream.Message{
			Topic: events.ToolsRaw, Key: fmt.Sprintf("default/%d", (i+offset)%20_000), Value: make([]byte, benchSize),
			Headers: map[string]string{events.HeaderRevision: "1732190000000000"},
		}
		bare[i], _ = c.encode(msgs[i])
	}
	return msgs, bare
}

// BenchmarkPublish compares calls of many messages with a bare client that
// publishes the same bytes to the same stream and waits for all the
// acknowledgements.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		s := open(b, Config{Dir: b.TempDir()})
		b.Run(fmt.Sprintf("batch=%d/bus", n), func(b *testing.B) {
			b.SetBytes(int64(n * benchSize))
			offset := 0
			for b.Loop() {
				msgs, _ := benchMessages(s.cfg, n, offset)
				offset += n
				if err := s.Publish(b.Context(), msgs...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "msg/s")
		})
		b.Run(fmt.Sprintf("batch=%d/bare", n), func(b *testing.B) {
			b.SetBytes(int64(n * benchSize))
			offset := 0
			for b.Loop() {
				_, bare := benchMessages(s.cfg, n, offset)
				offset += n
				publishBare(b, s.js, bare)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "msg/s")
		})
		closeServer(b, s)
	}
}

func publishBare(b *testing.B, js jetstream.JetStream, msgs []*nats.Msg) {
	acks := make([]jetstream.PubAckFuture, len(msgs))
	for i, m := range msgs {
		var err error
		if acks[i], err = js.PublishMsgAsync(m); err != nil {
			b.Fatal(err)
		}
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			b.Fatal(err)
		}
	}
}

// BenchmarkPublishParallel has many callers with one message each, as ingest
// does.
func BenchmarkPublishParallel(b *testing.B) {
	for _, callers := range []int{8, 64} {
		s := open(b, Config{Dir: b.TempDir()})
		var offset atomic.Int64
		run := func(b *testing.B, publish func([]stream.Message, []*nats.Msg) error) {
			b.SetParallelism(callers)
			b.SetBytes(benchSize)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := publish(benchMessages(s.cfg, 1, int(offset.Add(1)))); err != nil {
						b.Error(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("callers=%d/bus", callers), func(b *testing.B) {
			run(b, func(msgs []stream.Message, _ []*nats.Msg) error { return s.Publish(b.Context(), msgs...) })
		})
		b.Run(fmt.Sprintf("callers=%d/bare", callers), func(b *testing.B) {
			run(b, func(_ []stream.Message, bare []*nats.Msg) error {
				_, err := s.js.PublishMsg(b.Context(), bare[0])
				return err
			})
		})
		closeServer(b, s)
	}
}

// BenchmarkFollow reads a topic from its beginning.
func BenchmarkFollow(b *testing.B) {
	s := open(b, Config{Dir: b.TempDir()})
	defer closeServer(b, s)
	const n = 20_000
	msgs, _ := benchMessages(s.cfg, n, 0)
	if err := s.Publish(b.Context(), msgs...); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n * benchSize)
	for b.Loop() {
		got := 0
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		err := s.Follow(ctx, events.ToolsRaw, nil, func(_ context.Context, msgs []stream.Message) error {
			if got += len(msgs); got >= n {
				cancel()
			}
			return nil
		})
		cancel()
		if err != nil || got < n {
			b.Fatalf("%d of %d messages, %v", got, n, err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "msg/s")
}
