package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

const (
	// heartbeat is the interval of a member's heartbeats. The answer announces a rebalance.
	heartbeat = time.Second
	// rejoin is how long a member waits after a failed join: the coordinator of a new
	// cluster is not available at first.
	rejoin = 250 * time.Millisecond
	// handOver is how long the others wait for a member to finish its work when
	// partitions change hands.
	handOver = 30 * time.Second
	// watchPartitions is how often to look for added partitions.
	watchPartitions = 3 * time.Second
)

// Consume hands each partition that the group assigns to this member to handle. While the
// topic is missing, or it cannot join the group, it waits and logs that. If a handler returns
// before its partition is revoked, the partition stays unread until then.
func (b *Bus) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	m := &member{bus: b, topic: topic, group: group, handle: handle, stop: stop}
	if err := m.awaitTopic(work); err != nil {
		return stream.OrDone(ctx, err)
	}
	cg, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID: b.cfg.group(topic, group), Brokers: b.cfg.Brokers, Dialer: b.dialer, Topics: []string{b.cfg.topic(topic)},
		HeartbeatInterval: min(heartbeat, b.cfg.Session/3), SessionTimeout: b.cfg.Session, RebalanceTimeout: max(b.cfg.Session, handOver),
		JoinGroupBackoff: rejoin, Timeout: requestTimeout,
		WatchPartitionChanges: true, PartitionWatchInterval: watchPartitions,
		// A new group reads records that were published before its first member came.
		StartOffset: kafkago.FirstOffset,
	})
	if err != nil {
		return fmt.Errorf("kafka: group %s: %w", group, err)
	}
	m.run(work, cg)
	stop()
	cg.Close() // ends the generation once the handlers are done, and leaves the group
	m.handlers.Wait()
	return m.err
}

// member is this process in a group.
type member struct {
	bus      *Bus
	topic    events.Topic
	group    string
	handle   func(context.Context, stream.Partition) error
	stop     context.CancelFunc
	handlers sync.WaitGroup

	once sync.Once
	err  error // of the first handler that failed
}

// awaitTopic returns once the topic exists. Without it the library would join and leave the
// group endlessly.
func (m *member) awaitTopic(ctx context.Context) error {
	for tries := 0; ; tries++ {
		_, err := m.bus.partitions(ctx, m.topic)
		if err == nil || ctx.Err() != nil || errors.Is(err, errUnknownTopic) {
			return err
		}
		if tries == 0 {
			m.bus.log.Warn("waiting for the topic", "group", m.group, "error", err)
		}
		m.bus.metrics.retries.WithLabelValues(opJoin).Inc()
		if !pause(ctx, retryMax) {
			return ctx.Err()
		}
	}
}

// run handles one generation of the group after the other until ctx ends.
func (m *member) run(ctx context.Context, cg *kafkago.ConsumerGroup) {
	failures, told := 0, false
	began := time.Now()
	for {
		gen, err := cg.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil { // the library waits before it tries again
			if failures == 0 {
				began = time.Now()
			}
			failures++
			if !told && time.Since(began) > quiet {
				told = true
				m.bus.log.Warn("cannot join the group yet", "topic", string(m.topic), "group", m.group, "error", err)
			}
			m.bus.metrics.retries.WithLabelValues(opJoin).Inc()
			continue
		}
		held := gen.Assignments[m.bus.cfg.topic(m.topic)]
		m.bus.metrics.rebalances.WithLabelValues(string(m.topic), m.group).Inc()
		m.bus.log.Info("joined the group", "topic", string(m.topic), "group", m.group, "generation", gen.ID, "partitions", len(held), "failures", failures)
		failures, told = 0, false
		for _, a := range held {
			m.handlers.Add(1)
			gen.Start(func(lost context.Context) {
				defer m.handlers.Done()
				m.hold(ctx, lost, gen, a)
			})
		}
	}
}

// hold runs the handler of one partition until the generation loses it or work ends. The
// generation lasts until every handler has returned, so that they can finish and commit.
func (m *member) hold(work, lost context.Context, gen *kafkago.Generation, a kafkago.PartitionAssignment) {
	ctx, cancel := context.WithCancel(work)
	defer cancel()
	defer context.AfterFunc(lost, cancel)()
	if lost.Err() != nil || work.Err() != nil {
		return
	}
	p := &partition{member: m, generation: gen, lost: lost}
	if err := p.locate(ctx, a); err != nil {
		m.bus.log.Warn("joining the group again", "topic", string(m.topic), "group", m.group, "error", err)
		return // which ends the generation
	}
	err := m.handle(ctx, p)
	if err := stream.OrDone(ctx, err); err != nil && !errors.Is(err, errRevoked) {
		m.once.Do(func() { m.err = err })
		m.stop()
	}
	<-ctx.Done()
}

// errRevoked is in the error of a commit that the coordinator refused because the partition
// has another owner, or is about to get one.
var errRevoked = errors.New("the partition is taken away")

// partition is one handler's hold on a partition. Its methods are called one
// at a time.
type partition struct {
	member     *member
	generation *kafkago.Generation
	lost       context.Context // ends with the generation
	*reader
	committed uint64
}

// locate starts the reader at the committed offset. The library reports an error of the
// coordinator like a partition without a commit, so it asks again about such a partition:
// otherwise a short outage of the coordinator would repeat the whole partition.
func (p *partition) locate(ctx context.Context, a kafkago.PartitionAssignment) error {
	m := p.member
	if a.Offset < 0 {
		committed, err := m.bus.Committed(ctx, m.topic, m.group)
		if err != nil {
			return err
		}
		a.Offset = nextAfter(committed[a.ID])
	}
	p.committed = uint64(a.Offset) // Kafka's next offset is the port's last
	p.reader = m.bus.reader(m.topic, a.ID, p.committed)
	return nil
}

// Commit implements stream.Partition. The coordinator refuses it after the generation.
func (p *partition) Commit(_ context.Context, through uint64) error {
	if through <= p.committed {
		return nil
	}
	m, at := p.member, p.at
	err := p.generation.CommitOffsets(map[string]map[int]int64{m.bus.cfg.topic(at.topic): {at.partition: nextAfter(through)}})
	if err != nil && (p.lost.Err() != nil || refusesMember(err)) {
		err = fmt.Errorf("%w: %w", errRevoked, err)
	}
	if err != nil {
		return fmt.Errorf("kafka: commit partition %d of %s at %d for %s: %w", at.partition, at.topic, through, m.group, err)
	}
	p.committed = through
	return nil
}

// refusesMember reports whether the coordinator is in another generation.
func refusesMember(err error) bool {
	return errors.Is(err, kafkago.RebalanceInProgress) || errors.Is(err, kafkago.IllegalGeneration) || errors.Is(err, kafkago.UnknownMemberId)
}

// pause waits; it returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
