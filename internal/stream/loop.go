package stream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// Defaults of a Stage.
const (
	DefaultBatch   = 128
	DefaultDrain   = 20 * time.Second
	DefaultTimeout = 5 * time.Minute
)

// Stage describes one consumer.
type Stage struct {
	Name    string // of the consumer group, and of the stage in metrics, logs and dead letters
	Topic   events.Topic
	Handler Handler
	Batch   int           // most messages in a batch
	Drain   time.Duration // how long a started batch may go on once a shutdown began
	Timeout time.Duration // for one call of the handler; what exceeds it is tried again
}

// Loop is the consume loop: fetch a batch, handle it, publish what follows,
// wait until that is durable, commit, repeat.
type Loop struct {
	worker
	stage  Stage
	groups Groups
}

// New checks the stage and registers its metrics. It starts nothing.
func New(s Stage, d Deps) (*Loop, error) {
	if s.Handler == nil || d.Groups == nil {
		return nil, fmt.Errorf("stream: stage %q needs a handler and groups", s.Name)
	}
	w, err := newWorker(s.Name, s.Topic, d)
	if err != nil {
		return nil, err
	}
	if s.Batch <= 0 {
		s.Batch = DefaultBatch
	}
	if s.Drain <= 0 {
		s.Drain = DefaultDrain
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	return &Loop{worker: w, stage: s, groups: d.Groups}, nil
}

// Run consumes until ctx ends and the batches that were started then are done,
// or their drain time is over; it then returns nil. Only an error of the bus
// that can not mend by itself ends it early.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.groups.Consume(ctx, l.topic, l.name, l.consume); err != nil {
		return fmt.Errorf("stage %s: consume %s: %w", l.name, l.topic, err)
	}
	return nil
}

// consume works on one partition until it is taken away. How far behind it is then
// is its next owner's to say.
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
			err = l.process(ctx, p, msgs)
		}
		if ctx.Err() != nil {
			return nil // what is not committed is read again by the next owner
		}
		if err != nil {
			return err
		}
	}
}

// process takes one batch through to its commit.
func (l *Loop) process(ctx context.Context, p Partition, msgs []Message) error {
	start := time.Now()
	l.metrics.batches.Observe(float64(len(msgs)))
	work, cancel := draining(ctx, l.stage.Drain)
	defer cancel()
	work, spans := l.trace(work, msgs)
	b := newBatch(l, p, msgs)
	// The wait between two tries ends with ctx; a try that has begun has the
	// drain time to come to its commit.
	err := l.retry(spans.log(ctx), func() error {
		err := b.step(work)
		spans.tried(err)
		return err
	})
	spans.end(err)
	if err != nil {
		return err
	}
	l.metrics.duration.Observe(time.Since(start).Seconds())
	l.observeLag(work, msgs[len(msgs)-1])
	return nil
}

// observeLag compares a position with the end of its topic.
func (w *worker) observeLag(ctx context.Context, at Message) {
	if w.ends == nil {
		return
	}
	ends, err := w.ends.End(ctx, w.topic)
	if err != nil {
		return // the lag is unknown; reading will say why
	}
	behind := max(ends[at.Partition], at.Offset) - at.Offset
	w.metrics.lag.WithLabelValues(strconv.Itoa(at.Partition)).Set(float64(behind))
}

// draining returns a context that ends grace after ctx does.
func draining(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-work.Done():
		}
		cancel()
	})
	return work, func() { stop(); cancel() }
}
