package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	"github.com/toolstream/toolstream/internal/rungroup"
)

// topics makes the topics that are missing before anything reads or writes
// them. A cluster that does not answer is waited for.
type topics struct {
	cfg   kafka.Config
	log   *slog.Logger
	there chan struct{} // closed once they are
	wrong []string      // what they are not as wanted in; read once they are there
}

func newTopics(cfg kafka.Config, log *slog.Logger) *topics {
	return &topics{cfg: cfg, log: log, there: make(chan struct{})}
}

// run applies them and lives until ctx ends. What cannot mend by itself, such
// as a wrong password, ends it.
func (t *topics) run(ctx context.Context) error {
	waits := false
	err := backoff.RetryNotify(func() error {
		err := t.apply(ctx)
		if err != nil && !kafka.Mends(err) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			if !waits {
				t.log.Warn("waiting for Kafka", "error", err)
			}
			waits = true
		})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	close(t.there)
	<-ctx.Done()
	return nil
}

func (t *topics) apply(ctx context.Context) error {
	specs, err := kafka.Topics(t.cfg)
	if err != nil {
		return backoff.Permanent(err)
	}
	created, findings, err := kafka.ApplyTopics(ctx, t.cfg, specs...)
	for _, name := range created {
		t.log.Info("created topic", "topic", name)
	}
	for _, f := range findings {
		t.log.Warn("a topic is not as wanted and stays as it is", "finding", f.String())
	}
	t.wrong = nil
	for _, f := range findings {
		t.wrong = append(t.wrong, f.String())
	}
	return err
}

// found returns what the topics are not as wanted in, as they were at the start.
func (t *topics) found() []string {
	if t == nil || t.ready() != nil {
		return nil
	}
	return t.wrong
}

func (t *topics) ready() error {
	select {
	case <-t.there:
		return nil
	default:
		return errors.New("no answer from Kafka yet")
	}
}

// before lets a part begin once the topics are there.
func (t *topics) before(p rungroup.Service) rungroup.Service {
	return rungroup.New(p.Name, func(ctx context.Context) error {
		select {
		case <-t.there:
			return p.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	})
}
