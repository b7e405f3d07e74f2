package calls

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/toolstream/toolstream/pkg/schema"
)

// When a breaker opens, and for how long.
const (
	failuresInRow = 5                // without an answer between them
	breakerPause  = 30 * time.Second // then one call tries
)

// breaker is the circuit breaker of a source. While it is open, no calls are made there.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[schema.CallResult]
	until   atomic.Int64 // when it is tried again, Unix nanoseconds; 0: now
}

func newBreaker(name string, pause time.Duration, log *slog.Logger) *breaker {
	b := &breaker{}
	b.circuit = gobreaker.NewCircuitBreaker[schema.CallResult](gobreaker.Settings{
		Name: name, Timeout: pause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= failuresInRow },
		IsSuccessful: sourceAnswered,
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) || ours(err) },
		OnStateChange: func(name string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				b.until.Store(time.Now().Add(pause).UnixNano())
				log.Warn("calls: a source does not answer: its circuit breaker is open", "source", name, "for", pause)
			case gobreaker.StateClosed:
				b.until.Store(0)
				log.Info("calls: a source answers again: its circuit breaker is closed", "source", name)
			}
		},
	})
	return b
}

// sourceAnswered reports whether a call shows that its source is up: answers that the tool is
// unknown, or that a credential is missing, do.
func sourceAnswered(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.answered || e.Outcome != schema.CallProtocolError && e.Outcome != schema.CallTimeout
	}
	return err == nil
}

// ours reports whether this server did not make the call, which says nothing about the source.
func ours(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Outcome == schema.CallRefused || e.Outcome == schema.CallInvalidArguments || e.apart)
}

// try makes a call unless the breaker is open.
func (b *breaker) try(call func() (schema.CallResult, error)) (schema.CallResult, error) {
	result, err := b.circuit.Execute(call)
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return schema.CallResult{}, b.refusal()
	}
	return result, err
}

// refusal returns the error of a call to a source whose breaker is open.
func (b *breaker) refusal() error {
	wait := max(time.Until(time.Unix(0, b.until.Load())), time.Second)
	return busy(http.StatusServiceUnavailable, wait, "the source of this tool did not answer %d calls in a row; it is tried again in %d s", failuresInRow, seconds(wait))
}

// open reports whether no calls are made.
func (b *breaker) open() bool { return b.circuit.State() == gobreaker.StateOpen }

// idle reports whether the breaker is closed and the last call succeeded.
func (b *breaker) idle() bool {
	return b.circuit.State() == gobreaker.StateClosed && b.circuit.Counts().ConsecutiveFailures == 0
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
