package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Retries wait between these, doubling, with jitter.
const (
	retryFirst = 100 * time.Millisecond
	retryMax   = 15 * time.Second
)

// worker is the common part of a Loop and a Tail: they read a topic, try a batch until it
// succeeds, and publish dead letters.
type worker struct {
	name      string
	topic     events.Topic
	publisher Publisher
	ends      Ends
	log       *slog.Logger
	metrics   *metrics
	tracer    trace.Tracer // nil: no spans are made
}

func newWorker(name string, topic events.Topic, ends Ends, d Deps) worker {
	w := worker{
		name: name, topic: topic, publisher: d.Publisher, ends: ends,
		log: d.Logger.With("stage", name, "topic", string(topic)), metrics: newMetrics(name, d.Registerer),
	}
	if d.Traces != nil {
		w.tracer = d.Traces.Tracer(telemetry.Scope)
	}
	return w
}

// process tries the step that begin returns for a batch until it succeeds or fails for
// good. The wait between two tries ends with ctx; a try that has begun has the drain time.
func (w *worker) process(ctx context.Context, msgs []Message, begin func() (step func(context.Context) error)) error {
	start := time.Now()
	w.metrics.batches.Observe(float64(len(msgs)))
	work, cancel := Draining(ctx)
	defer cancel()
	work, spans := w.trace(work, msgs)
	step := begin()
	err := w.retry(spans.log(ctx), func() error {
		err := step(work)
		spans.tried(err)
		return err
	})
	spans.end(err)
	if err != nil {
		return err
	}
	w.metrics.duration.Observe(time.Since(start).Seconds())
	w.observeLag(work, msgs[len(msgs)-1])
	return nil
}

// observeLag compares a position with the end of its topic.
func (w *worker) observeLag(ctx context.Context, at Message) {
	ends, err := w.ends.End(ctx, w.topic)
	if err != nil {
		return // the lag is unknown; reading will report the error
	}
	behind := max(ends[at.Partition], at.Offset) - at.Offset
	w.metrics.lag.WithLabelValues(strconv.Itoa(at.Partition)).Set(float64(behind))
}

// Draining returns a context that ends DrainTime after ctx does.
func Draining(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(DrainTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-work.Done():
		}
		cancel()
	})
	return work, func() { stop(); cancel() }
}

// retry calls op until it succeeds, fails permanently or ctx ends. It logs the first failure
// and the recovery, regardless of the failures in between.
func (w *worker) retry(ctx context.Context, op func() error) error {
	failures := 0
	attempt := func() error {
		err := op()
		if _, permanent := AsPermanent(err); permanent {
			return backoff.Permanent(err)
		}
		return err
	}
	notify := func(err error, _ time.Duration) {
		if failures == 0 {
			w.log.WarnContext(ctx, "retrying until it succeeds", "error", err)
		}
		failures++
		w.metrics.retries.Inc()
	}
	// The policy has state, so each call has its own.
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(retryFirst), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(retryMax), backoff.WithMaxElapsedTime(0))
	err := backoff.RetryNotify(attempt, backoff.WithContext(policy, ctx), notify)
	if err == nil && failures > 0 {
		w.log.InfoContext(ctx, "recovered", "failures", failures)
	}
	return err
}

// bus counts a failed call on the bus and names it.
func (w *worker) bus(op string, err error) error {
	if err == nil {
		return nil
	}
	w.metrics.errors.WithLabelValues(classBus).Inc()
	return fmt.Errorf("stage %s: %s: %w", w.name, op, err)
}

// giveUp publishes dead letters.
func (w *worker) giveUp(ctx context.Context, letters []events.DeadLetter) error {
	for _, l := range letters {
		err := w.publishDeadLetter(ctx, l)
		if Reason(err) == ReasonTooLarge {
			l.Detail = fmt.Sprintf("%s (the record's %d bytes do not fit into a dead letter)", l.Detail, len(l.Original))
			l.Original = nil
			err = w.publishDeadLetter(ctx, l)
		}
		if err != nil {
			return err
		}
		failed(ctx, l)
		w.metrics.deadLetters.WithLabelValues(l.Reason).Inc()
		w.metrics.errors.WithLabelValues(classPermanent).Inc()
	}
	w.logGivenUp(ctx, letters)
	return nil
}

// logGivenUp logs a line for each reason, with the first of its dead letters.
func (w *worker) logGivenUp(ctx context.Context, letters []events.DeadLetter) {
	records := map[string]int{}
	for _, l := range letters {
		records[l.Reason]++
	}
	for _, l := range letters {
		if n := records[l.Reason]; n > 0 {
			w.log.WarnContext(telemetry.Linked(ctx, l.Headers), "records are given up, `toolstream dlq list` shows why",
				"reason", l.Reason, "records", n, "dead_letter", l.ID, "attempts", l.Attempts)
			delete(records, l.Reason)
		}
	}
}

func (w *worker) publishDeadLetter(ctx context.Context, l events.DeadLetter) error {
	value, err := events.Encode(&l)
	if err != nil {
		return fmt.Errorf("stage %s: %w", w.name, err)
	}
	headers := map[string]string{events.HeaderSchema: strconv.Itoa(events.DeadLetterSchema)}
	for _, h := range []string{events.HeaderTraceparent, events.HeaderTracestate} {
		if v, ok := l.Headers[h]; ok {
			headers[h] = v
		}
	}
	return w.bus("publish dead letter", w.publisher.Publish(ctx, Message{Topic: events.DLQ, Key: l.ID, Value: value, Headers: headers}))
}

// maxDetail bounds the error text in a dead letter, in bytes: the stack of a panic is long.
const maxDetail = 4096

// deadLetter describes a record that failed with a permanent error.
func (w *worker) deadLetter(m Message, err error, attempts int) events.DeadLetter {
	reason, detail := ReasonUndecodable, err.Error()
	if p, ok := AsPermanent(err); ok {
		reason, detail = p.Reason, p.Err.Error()
	}
	path := ""
	if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
		path = invalid.Path[:min(len(invalid.Path), maxDetail)]
	}
	return events.DeadLetter{
		Schema:    events.DeadLetterSchema,
		ID:        fmt.Sprintf("%s-%s-%d-%d", w.name, m.Topic, m.Partition, m.Offset),
		State:     events.DeadLetterOpen,
		Stage:     w.name,
		Topic:     m.Topic,
		Partition: m.Partition,
		Offset:    m.Offset,
		Key:       m.Key,
		Reason:    reason,
		Detail:    detail[:min(len(detail), maxDetail)],
		Path:      path,
		Attempts:  attempts,
		Failed:    time.Now().UTC(),
		Headers:   maps.Clone(m.Headers),
		Original:  m.Value,
	}
}

// Deps are the dependencies of a Loop or a Tail. A Loop reads through Groups, a Tail through
// Follower. With Traces, the traces of records continue.
type Deps struct {
	Groups     Groups
	Follower   Follower
	Publisher  Publisher
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider
}
