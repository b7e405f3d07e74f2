package stream

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

const (
	// DefaultBatch is how many messages a batch has at most.
	DefaultBatch = 128

	// DrainTime is how long a batch that has begun may go on after a shutdown began.
	DrainTime = 20 * time.Second

	// handleTimeout bounds one call of a handler. A batch that exceeds it is tried again.
	handleTimeout = 5 * time.Minute
)

// Stage describes one consumer.
type Stage struct {
	Name    string // of the consumer group, and of the stage in metrics, logs and dead letters
	Topic   events.Topic
	Handler Handler
	Batch   int // most messages in a batch; DefaultBatch when 0
}

// Loop is the consume loop: fetch a batch, handle it, publish the results, wait until they are
// durable, commit, repeat.
type Loop struct {
	worker
	stage  Stage
	groups Groups
}

// New returns a loop and registers its metrics. It starts nothing.
func New(s Stage, d Deps) *Loop {
	s.Batch = cmp.Or(s.Batch, DefaultBatch)
	return &Loop{worker: newWorker(s.Name, s.Topic, d.Groups, d), stage: s, groups: d.Groups}
}

// Run consumes until ctx ends and the batches that were started then are done,
// or their drain time is over; it then returns nil. Only an error of the bus
// that cannot mend by itself ends it early.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.groups.Consume(ctx, l.topic, l.name, l.consume); err != nil {
		return fmt.Errorf("stage %s: consume %s: %w", l.name, l.topic, err)
	}
	return nil
}

// consume works on one partition until it is taken away. From then on its next owner reports its
// lag.
func (l *Loop) consume(ctx context.Context, p Partition) error {
	var label string
	defer func() { l.metrics.lag.DeleteLabelValues(label) }()
	for {
		var msgs []Message
		err := l.retry(ctx, func() (err error) {
			msgs, err = p.Fetch(ctx, l.stage.Batch)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return l.bus("fetch", err)
		})
		if err == nil {
			label = strconv.Itoa(msgs[0].Partition)
			err = l.process(ctx, msgs, func() func(context.Context) error { return newBatch(l, p, msgs).step })
		}
		if ctx.Err() != nil {
			return nil // the next owner reads uncommitted messages again
		}
		if err != nil {
			return err
		}
	}
}
