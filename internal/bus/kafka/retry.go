package kafka

import (
	"context"
	"errors"
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

const (
	retryFirst = 50 * time.Millisecond
	retryMax   = time.Second
	// quiet is how long an operation may fail before it is logged: a new topic, and a group
	// without a member so far, need a moment.
	quiet = 3 * time.Second
)

// retrier repeats requests to the cluster.
type retrier struct {
	log     *slog.Logger
	retries *prometheus.CounterVec
	budget  time.Duration

	mu     sync.Mutex // guards states
	states map[operation]*lifecycle.Health
}

// operation is an operation on a topic. It logs its failure once.
type operation struct {
	name  string
	topic events.Topic
}

// do calls fn until it succeeds, fails permanently, or the budget or ctx ends.
func (r *retrier) do(ctx context.Context, name string, topic events.Topic, fn func(context.Context) error) error {
	r.mu.Lock()
	op := operation{name, topic}
	if r.states[op] == nil {
		r.states[op] = &lifecycle.Health{}
	}
	state := r.states[op]
	r.mu.Unlock()
	began := time.Now()
	note := func(err error) {
		state.LogChange(ctx, r.log, err, "kafka: trying again until it succeeds", "kafka: it succeeds again", "operation", name, "topic", string(topic))
	}
	attempt := func() error {
		err := fn(ctx)
		if err != nil && !Mends(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	notify := func(err error, _ time.Duration) {
		if time.Since(began) > quiet {
			note(err)
		}
		r.retries.WithLabelValues(name).Inc()
	}
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(retryFirst), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(retryMax), backoff.WithMaxElapsedTime(r.budget))
	err := backoff.RetryNotify(attempt, backoff.WithContext(policy, ctx), notify)
	if err == nil {
		note(nil)
	}
	return err
}

// Mends reports whether a retry may help: it does unless a broker has refused definitely.
func Mends(err error) bool {
	if _, permanent := stream.AsPermanent(err); permanent {
		return false
	}
	var code kafkago.Error
	if errors.As(err, &code) {
		return code.Temporary() || code == kafkago.Unknown || code == kafkago.BrokerNotAvailable
	}
	return !errors.Is(err, context.Canceled)
}
