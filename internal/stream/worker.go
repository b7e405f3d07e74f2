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

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
)

// Retries wait between these, doubling, with jitter.
const (
	retryFirst = 100 * time.Millisecond
	retryMax   = 15 * time.Second
)

// worker is what a Loop and a Sink have in common: a name, a topic to read,
// patience, and somewhere to put what can not be read.
type worker struct {
	name      string
	topic     events.Topic
	publisher Publisher
	ends      Ends
	log       *slog.Logger
	metrics   *metrics
	tracer    trace.Tracer // nil: no spans are made
}

func newWorker(name string, topic events.Topic, d Deps) (worker, error) {
	switch {
	case name == "" || topic == "":
		return worker{}, errors.New("stream: a stage needs a name and a topic")
	case d.Publisher == nil || d.Logger == nil || d.Registerer == nil:
		return worker{}, fmt.Errorf("stream: stage %s: publisher, logger and registerer are needed", name)
	}
	m, err := newMetrics(name, d.Registerer)
	if err != nil {
		return worker{}, err
	}
	w := worker{
		name: name, topic: topic, publisher: d.Publisher, ends: d.Ends,
		log: d.Logger.With("stage", name, "topic", string(topic)), metrics: m,
	}
	if d.Traces != nil {
		w.tracer = d.Traces.Tracer(tracing.Scope)
	}
	return w, nil
}

// retry calls op until it succeeds, fails permanently or ctx ends. The log
// hears of the first failure and of the recovery, however many lie between.
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

// bury publishes the letters of records that are given up.
func (w *worker) bury(ctx context.Context, letters []events.DeadLetter) error {
	for _, l := range letters {
		err := w.publishLetter(ctx, l)
		if Reason(err) == ReasonTooLarge {
			l.Detail = fmt.Sprintf("%s (the record's %d bytes do not fit into a dead letter)", l.Detail, len(l.Original))
			l.Original = nil
			err = w.publishLetter(ctx, l)
		}
		if err != nil {
			return err
		}
		failed(ctx, l)
		w.metrics.deadLetters.WithLabelValues(l.Reason).Inc()
		w.metrics.errors.WithLabelValues(classPermanent).Inc()
	}
	w.tell(ctx, letters)
	return nil
}

// tell logs a line for each reason, of however many records that were given up
// at once, with the first of their letters.
func (w *worker) tell(ctx context.Context, letters []events.DeadLetter) {
	records := map[string]int{}
	for _, l := range letters {
		records[l.Reason]++
	}
	for _, l := range letters {
		if n := records[l.Reason]; n > 0 {
			w.log.WarnContext(tracing.Of(ctx, l.Headers), "records are given up, `toolstream dlq list` shows why",
				"reason", l.Reason, "records", n, "letter", l.ID, "attempts", l.Attempts)
			delete(records, l.Reason)
		}
	}
}

func (w *worker) publishLetter(ctx context.Context, l events.DeadLetter) error {
	value, err := events.EncodeDeadLetter(&l)
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

// maxDetail bounds what a dead letter says of its error, in bytes: a panic's
// stack is long.
const maxDetail = 4096

// letter describes a record that failed with a permanent error.
func (w *worker) letter(m Message, err error, attempts int) events.DeadLetter {
	reason, detail := ReasonUndecodable, err.Error()
	if p, ok := AsPermanent(err); ok {
		reason, detail = p.Reason, p.Err.Error()
	}
	return events.DeadLetter{
		Schema:    events.DeadLetterSchema,
		ID:        fmt.Sprintf("%s-%s-%d-%d", w.name, m.Topic, m.Partition, m.Offset),
		State:     events.LetterOpen,
		Stage:     w.name,
		Topic:     m.Topic,
		Partition: m.Partition,
		Offset:    m.Offset,
		Key:       m.Key,
		Reason:    reason,
		Detail:    detail[:min(len(detail), maxDetail)],
		Attempts:  attempts,
		Failed:    time.Now().UTC(),
		Headers:   maps.Clone(m.Headers),
		Original:  m.Value,
	}
}

// Ends tells where the topics end.
type Ends interface {
	// End returns each partition's last offset.
	End(ctx context.Context, topic events.Topic) (map[int]uint64, error)
}

// Deps is what a Loop or a Sink works with. Each uses what it needs of the
// three ways to read; Ends is optional and lets it report its lag, Traces lets the
// traces of records go on.
type Deps struct {
	Groups     Groups
	Follower   Follower
	Ends       Ends
	Publisher  Publisher
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider
}
