package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// probeText is a text that no model has a reason to refuse.
const probeText = "tool"

const (
	firstPause      = 100 * time.Millisecond
	maxPause        = 10 * time.Second
	maxServerErrors = 3 // tries of a request that the endpoint answers with 500
)

// retried asks for the vectors of the texts of one request, and again as the
// problem and the class's retry budget allow. A refusal counts only if the endpoint
// still answers a probe.
func (m *Model) retried(ctx context.Context, c *class, texts []string) ([][]float32, error) {
	if err := c.cooldown.check(); err != nil && c.failFast {
		return nil, fmt.Errorf("%s: %w", redacted(m.url), err)
	}
	var vectors [][]float32
	start, refusedBefore := time.Now(), m.dimensionsRefused.Load()
	pause := &pause{until: start.Add(c.retryBudget), BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(maxPause), backoff.WithMaxElapsedTime(0),
	)}
	err := backoff.Retry(func() (err error) {
		vectors, err = m.request(ctx, c, texts)
		if isSlow(err) && len(texts) > 1 {
			return backoff.Permanent(err) // the caller asks for fewer at a time
		}
		return pause.after(err)
	}, backoff.WithContext(pause, ctx))
	if err == nil {
		return vectors, nil
	}
	if ctx.Err() == nil && (isKind(err, refused) || isKind(err, serverError)) {
		err = m.prove(ctx, c, err)
		if m.dimensionsRefused.Load() != refusedBefore { // the request had a form that the endpoint does not take
			return m.retried(ctx, c, texts)
		}
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	if c.failFast && !isKind(err, refused) && !errors.Is(ctx.Err(), context.Canceled) {
		c.cooldown.failed(err, time.Since(start))
	}
	return nil, fmt.Errorf("%s: %w", redacted(m.url), err)
}

// prove returns err as a refusal of the texts if the endpoint answers a probe. An
// endpoint that refuses the member dimensions is asked without it from then on. An
// endpoint that refuses every probe is misconfigured: its key may have expired.
func (m *Model) prove(ctx context.Context, c *class, err error) error {
	_, failed := m.request(ctx, c, []string{probeText})
	if isKind(failed, refused) && m.cfg.Dimensions > 0 && !m.dimensionsRefused.Load() {
		m.dimensionsRefused.Store(true)
		if _, failed = m.request(ctx, c, []string{probeText}); failed != nil {
			m.dimensionsRefused.Store(false)
		}
	}
	switch p, _ := asProblem(err); {
	case failed == nil:
		return &problem{kind: refused, reason: p.reason, err: p.err}
	case isKind(failed, refused):
		return misconfiguredf("even a harmless text is refused: %w", errors.Unwrap(failed))
	}
	return failed
}

// pause paces the tries of one request.
type pause struct {
	backoff.BackOff
	until        time.Time
	asked        time.Duration
	serverErrors int
}

// after records the outcome of a try, and marks errors that are not retried.
func (p *pause) after(err error) error {
	problem, ok := asProblem(err)
	if !ok {
		return err
	}
	p.asked = problem.after
	if problem.kind == serverError {
		p.serverErrors++
	}
	if problem.kind == misconfigured || problem.kind == refused || p.serverErrors >= maxServerErrors {
		return backoff.Permanent(err)
	}
	return err
}

// NextBackOff returns the pause before the next try, or backoff.Stop if the pause
// would exceed the retry budget.
func (p *pause) NextBackOff() time.Duration {
	next := max(p.BackOff.NextBackOff(), p.asked)
	if time.Now().Add(next).After(p.until) {
		return backoff.Stop
	}
	return next
}

// errSlow ends a request that took its whole time.
var errSlow = errors.New("slow")

// request sends one request and reads its answer, unless the class cools down.
func (m *Model) request(ctx context.Context, c *class, texts []string) ([][]float32, error) {
	if err := c.cooldown.check(); err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSlow)
	defer cancel()
	probe := len(texts) == 1 && texts[0] == probeText
	req := embeddingsRequest{Model: m.cfg.Name, Input: texts}
	if !m.dimensionsRefused.Load() {
		req.Dimensions = m.cfg.Dimensions
	}
	dimensions := cmp.Or(m.Dimensions(), maxDimensions)
	maxAnswer := int64(len(texts))*(int64(dimensions)*bytesPerNumber+1024) + bytesBeside
	body, err := m.post(ctx, req, maxAnswer, probe)
	if err != nil {
		if context.Cause(ctx) == errSlow {
			return nil, &problem{kind: transient, slow: true, err: fmt.Errorf("no answer in %v: %w", c.timeout, context.DeadlineExceeded)}
		}
		if p, _ := asProblem(err); p.after > 0 {
			c.cooldown.start(p.after, err)
		}
		return nil, err
	}
	vectors, err := m.decode(body, len(texts))
	if err != nil {
		return nil, err
	}
	return vectors, m.check(vectors)
}
