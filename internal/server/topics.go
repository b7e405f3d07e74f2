package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
)

// topics creates the topics that are missing before anything reads or writes them.
type topics struct {
	cfg      kafka.Config
	log      *slog.Logger
	created  chan struct{} // closed once all exist
	findings []string      // how they differ from the settings; read once they are created
}

// createTopics has the modules below wait for the topics. The cluster may be away.
func createTopics(_ context.Context, p *Process) (*topics, error) {
	t := &topics{cfg: KafkaConfig(p.cfg.Kafka), log: p.log, created: make(chan struct{})}
	p.ready = append(p.ready, t.ready)
	p.starts("topics", t.run)
	p.begin = t.before
	return t, nil
}

// run creates the topics, then waits for the end of ctx. An error that does not mend by itself,
// such as a wrong password, ends it.
func (t *topics) run(ctx context.Context) error {
	warned := false
	err := backoff.RetryNotify(func() error {
		err := t.apply(ctx)
		if err != nil && !kafka.Mends(err) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			if !warned {
				t.log.Warn("waiting for Kafka", "error", err)
			}
			warned = true
		})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	close(t.created)
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
	t.findings = nil
	for _, f := range findings {
		t.log.Warn("a topic differs from the settings and stays as it is", "finding", f.String())
		t.findings = append(t.findings, f.String())
	}
	return err
}

// found returns how the topics differ from the settings, as of the start.
func (t *topics) found() []string {
	if t == nil || t.ready() != nil {
		return nil
	}
	return t.findings
}

func (t *topics) ready() error {
	select {
	case <-t.created:
		return nil
	default:
		return errors.New("no answer from Kafka yet")
	}
}

// before returns a service that begins once the topics exist.
func (t *topics) before(s lifecycle.Service) lifecycle.Service {
	return lifecycle.NewService(s.Name, func(ctx context.Context) error {
		select {
		case <-t.created:
			return s.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	})
}
