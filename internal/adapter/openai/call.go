package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v4"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/tracing"
)

// harmless is a text that no model has a reason to refuse.
const harmless = "tool"

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
	maxBroken  = 3 // tries of a request that the endpoint breaks on
)

// patiently asks for the vectors of the texts of one request, again and again
// as the problem and the lane's patience allow.
func (m *Model) patiently(ctx context.Context, l *lane, texts []string) ([][]float32, error) {
	if err := m.rest.failed(); l.hasty && err != nil {
		return nil, fmt.Errorf("a moment ago: %w", err)
	}
	var vectors [][]float32
	start := time.Now()
	pause := newPause(l.patience)
	err := backoff.Retry(func() (err error) {
		vectors, err = m.once(ctx, l, texts)
		if isSlow(err) && len(texts) > 1 {
			return backoff.Permanent(err) // fewer at a time are asked for next
		}
		return pause.after(err)
	}, backoff.WithContext(pause, ctx))
	if err == nil {
		m.rest.record(nil, 0)
		return vectors, nil
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	err = fmt.Errorf("%s: %w", shown(m.url), err)
	if p, ok := asProblem(err); ok && p.kind == broken && ctx.Err() == nil {
		err = m.blame(ctx, l, p, err)
	}
	late := isSlow(err) && !l.hasty // one text may be answered in time
	if !isRefusal(err) && !late && !errors.Is(ctx.Err(), context.Canceled) {
		m.rest.record(err, time.Since(start))
	}
	return nil, err
}

// blame turns the error of an endpoint that breaks on these texts into a
// refusal if a harmless text is still answered.
func (m *Model) blame(ctx context.Context, l *lane, p *problem, err error) error {
	if _, probe := m.once(ctx, l, []string{harmless}); probe == nil {
		return &problem{kind: refused, reason: p.reason, err: err}
	}
	return err
}

// prove makes sure that the endpoint refuses a text while it answers others, and
// not whatever it is asked: because a key has expired, or in words that it does not
// know any more since it was replaced. Then its form is found out again.
func (m *Model) prove(ctx context.Context, l *lane) error {
	f := m.form.Load()
	_, err := m.once(ctx, l, []string{harmless})
	if isRefusal(err) {
		m.form.CompareAndSwap(f, nil)
		return fmt.Errorf("%s: %w", shown(m.url), unfit("even a harmless text is refused: %w", errors.Unwrap(err)))
	}
	return err
}

// pause paces the tries of one request.
type pause struct {
	backoff.BackOff
	until  time.Time
	asked  time.Duration
	broken int
}

func newPause(patience time.Duration) *pause {
	return &pause{until: time.Now().Add(patience), BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(maxPause), backoff.WithMaxElapsedTime(0),
	)}
}

// after notes what came of a try, and marks what is not to be tried again.
func (p *pause) after(err error) error {
	problem, ok := asProblem(err)
	if !ok {
		return err
	}
	p.asked = problem.after
	if problem.kind == broken {
		p.broken++
	}
	if problem.kind == unusable || problem.kind == refused || p.broken >= maxBroken {
		return backoff.Permanent(err)
	}
	return err
}

// NextBackOff returns the pause before the next try, or backoff.Stop where it
// would outlast the patience: who asks for more is not worth waiting for.
func (p *pause) NextBackOff() time.Duration {
	next := max(p.BackOff.NextBackOff(), p.asked)
	if time.Now().Add(next).After(p.until) {
		return backoff.Stop
	}
	return next
}

// once makes one request, in the form that the endpoint understands.
func (m *Model) once(ctx context.Context, l *lane, texts []string) ([][]float32, error) {
	f := m.form.Load()
	if f == nil {
		var err error
		if f, err = m.settle(ctx, l); err != nil {
			return nil, err
		}
	}
	return m.request(ctx, l, *f, texts)
}

// settle finds out which form of a request the endpoint understands, by a
// harmless text: once one is accepted, a refusal is a matter of the texts.
func (m *Model) settle(ctx context.Context, l *lane) (*form, error) {
	select {
	case m.settling <- struct{}{}:
		defer func() { <-m.settling }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f := m.form.Load(); f != nil {
		return f, nil
	}
	var err error
	for _, f := range m.forms() {
		if _, err = m.request(ctx, l, f, []string{harmless}); err == nil {
			m.form.Store(&f)
			return &f, nil
		}
		if !isRefusal(err) {
			return nil, err
		}
	}
	return nil, unfit("even a harmless text is refused: %w", errors.Unwrap(err))
}

// request sends one request and reads its answer. Nothing is sent before the
// time that the endpoint asked for.
func (m *Model) request(ctx context.Context, l *lane, f form, texts []string) ([][]float32, error) {
	if wait := time.Until(time.Unix(0, m.asked.Load())); wait > 0 {
		return nil, &problem{kind: busy, after: wait, err: fmt.Errorf("it asked not to be asked for another %s", wait.Round(time.Second))}
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	body, err := m.body(f, texts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, errSlow)
	defer cancel()
	vectors, err := m.exchange(ctx, body, len(texts))
	if err != nil && context.Cause(ctx) == errSlow {
		return nil, &problem{kind: busy, slow: true, err: fmt.Errorf("no answer in %v: %w", l.timeout, context.DeadlineExceeded)}
	}
	return vectors, err
}

// errSlow is why a request ends that has had its time.
var errSlow = errors.New("slow")

func (m *Model) exchange(ctx context.Context, body []byte, n int) ([][]float32, error) {
	resp, err := post(ctx, m.client, m.url, m.cfg.Key, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return m.read(resp, n)
}

// post sends JSON, with a key unless that is empty. An error is a *problem.
func post(ctx context.Context, client *http.Client, to *url.URL, key string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, unfit("%w", withoutAddress(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	ctx, span := tracing.Ask(ctx, "POST "+path.Base(to.Path))
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	resp, err := client.Do(req.WithContext(ctx))
	noteAnswer(span, resp)
	tracing.End(span, err)
	if err != nil {
		return nil, failed("%w", withoutAddress(err))
	}
	return resp, nil
}

// noteAnswer notes the status that came, once all but the body of an answer has.
func noteAnswer(span trace.Span, resp *http.Response) {
	if resp == nil || !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	if resp.StatusCode != http.StatusOK {
		tracing.Fail(span, strconv.Itoa(resp.StatusCode))
	}
}

// refrain remembers for how long the endpoint wants to be left alone.
func (m *Model) refrain(err error) error {
	if p, ok := asProblem(err); ok && p.after > 0 {
		m.asked.Store(time.Now().Add(p.after).UnixNano())
	}
	return err
}

// withoutAddress drops the address from an error of the client: its query may
// hold a key.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// read takes the vectors out of an answer.
func (m *Model) read(resp *http.Response, n int) ([][]float32, error) {
	if resp.StatusCode != http.StatusOK {
		return nil, m.refrain(ofStatus(resp, m.cfg.Key))
	}
	if err := isJSON(resp.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	limit := m.maxAnswer(n)
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, failed("read the answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, unfit("the answer to %d texts is longer than %d bytes", n, limit)
	}
	vectors, err := m.decode(body, n)
	if err != nil {
		return nil, err
	}
	return vectors, m.check(vectors)
}
