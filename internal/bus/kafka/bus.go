package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/pkg/events"
)

var (
	_ stream.Publisher   = (*Bus)(nil)
	_ stream.Republisher = (*Bus)(nil)
	_ stream.Groups      = (*Bus)(nil)
	_ stream.Follower    = (*Bus)(nil)
)

const (
	// requestTimeout bounds one request, beyond the wait that it asks the broker for.
	requestTimeout = 10 * time.Second
	// metadataTTL is the maximum age of cluster metadata: the leaders and the number of
	// partitions.
	metadataTTL = 3 * time.Second
)

// Deps are the dependencies of a Bus.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Bus is a connection to the cluster. Its methods may be called concurrently.
type Bus struct {
	cfg       Config
	log       *slog.Logger
	metrics   *metrics
	retrier   *retrier
	transport *kafkago.Transport
	dialer    *kafkago.Dialer
	client    *kafkago.Client

	life   context.Context // ends when the bus is closed
	cancel context.CancelFunc
	quit   chan struct{}  // closed by Close
	work   sync.WaitGroup // the writers

	mu      sync.Mutex // guards what follows
	writers map[topicPartition]*stream.Batcher[stream.Message]
	closed  bool
}

// topicPartition is a partition of a topic.
type topicPartition struct {
	topic     events.Topic
	partition int
}

func (p topicPartition) String() string {
	return fmt.Sprintf("partition %d of %s", p.partition, p.topic)
}

// New returns a bus that connects when it is first used. Close ends it.
func New(cfg Config, d Deps) (*Bus, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Bus{
		cfg: cfg, log: d.Logger.With("bus", "kafka"), metrics: newMetrics(d.Registerer), quit: make(chan struct{}),
		writers: map[topicPartition]*stream.Batcher[stream.Message]{},
	}
	b.retrier = &retrier{log: b.log, retries: b.metrics.retries, budget: cfg.RetryBudget, states: map[operation]*lifecycle.Health{}}
	b.life, b.cancel = context.WithCancel(context.Background())
	if b.transport, b.dialer, err = cfg.connect(); err != nil {
		return nil, err
	}
	b.transport.Context = b.life
	b.client = &kafkago.Client{Addr: kafkago.TCP(cfg.Brokers...), Transport: b.transport}
	return b, nil
}

// Close ends the bus. It finishes pending publishes first, and returns an error if ctx ends
// before. No consumer or follower may be running.
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		close(b.quit)
	}
	b.closed = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() { b.work.Wait(); close(done) }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("kafka: close: pending publishes are given up: %w", ctx.Err())
	}
	b.cancel()
	<-done
	b.transport.CloseIdleConnections()
	return err
}

// Ready asks the cluster for all topics. It returns an error as long as one is
// not there, or no broker answers.
func (b *Bus) Ready(ctx context.Context) error {
	for _, t := range events.Topics() {
		if _, err := b.partitions(ctx, t); err != nil {
			return err
		}
	}
	// Metadata may be cached; this request is not.
	_, err := b.offsets(ctx, events.Topics()[0], []int{0})
	return err
}

var errUnknownTopic = errors.New("kafka: unknown topic")

// partitions returns the partitions of a topic, as of a few seconds ago.
func (b *Bus) partitions(ctx context.Context, topic events.Topic) ([]int, error) {
	if !topic.Known() {
		return nil, fmt.Errorf("%w %q", errUnknownTopic, topic)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := b.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{b.cfg.topic(topic)}})
	if err != nil {
		return nil, fmt.Errorf("kafka: partitions of %s: %w", topic, err)
	}
	t := res.Topics[0]
	if t.Error != nil {
		return nil, b.describe(topic, t.Error)
	}
	if len(t.Partitions) == 0 {
		return nil, b.describe(topic, kafkago.UnknownTopicOrPartition)
	}
	out := make([]int, len(t.Partitions))
	for p := range out {
		out[p] = p
	}
	return out, nil
}

// awaitPartitions is partitions, asked again while the cluster does not answer. A
// topic that is not there is not waited for: an operator has to create it.
func (b *Bus) awaitPartitions(ctx context.Context, op string, topic events.Topic) (out []int, err error) {
	err = b.retrier.do(ctx, op, topic, func(ctx context.Context) (err error) {
		out, err = b.partitions(ctx, topic)
		if errors.Is(err, kafkago.UnknownTopicOrPartition) || errors.Is(err, errUnknownTopic) {
			return backoff.Permanent(err)
		}
		return err
	})
	return out, err
}

// describe adds the name of the topic and a remedy to an error of the library.
func (b *Bus) describe(topic events.Topic, err error) error {
	if errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return fmt.Errorf("kafka: topic %s is not there; `toolstream topics apply` creates it: %w", b.cfg.topic(topic), err)
	}
	return fmt.Errorf("kafka: topic %s: %w", b.cfg.topic(topic), err)
}

// offsetRange is the range of Kafka's offsets of a partition, excluding end.
type offsetRange struct{ first, end int64 }

// offsets asks for the ranges of some partitions, in their order.
func (b *Bus) offsets(ctx context.Context, topic events.Topic, partitions []int) ([]offsetRange, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var ask []kafkago.OffsetRequest
	for _, p := range partitions {
		ask = append(ask, kafkago.FirstOffsetOf(p), kafkago.LastOffsetOf(p))
	}
	name := b.cfg.topic(topic)
	res, err := b.client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{name: ask}})
	if err != nil {
		return nil, b.describe(topic, err)
	}
	found := make(map[int]offsetRange, len(partitions))
	for _, p := range res.Topics[name] {
		if p.Error != nil {
			return nil, b.describe(topic, p.Error)
		}
		found[p.Partition] = offsetRange{p.FirstOffset, p.LastOffset}
	}
	out := make([]offsetRange, len(partitions))
	for i, p := range partitions {
		s, ok := found[p]
		if !ok || s.first < 0 || s.end < s.first {
			return nil, fmt.Errorf("kafka: topic %s: no offsets of partition %d in the answer", name, p)
		}
		out[i] = s
	}
	return out, nil
}
