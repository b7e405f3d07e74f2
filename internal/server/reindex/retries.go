package reindex

import (
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// maxRetry is the longest pause before failed work is tried again.
const maxRetry = 30 * time.Second

// retries paces work that fails. It is used by the goroutine that reconciles.
type retries struct {
	log      *slog.Logger
	attempts map[string]*attempt // by the name of the work
}

// attempt is work that failed.
type attempt struct {
	pace   *backoff.ExponentialBackOff
	next   time.Time
	logged string // the last error in the log
}

func newRetries(log *slog.Logger) *retries {
	return &retries{log: log, attempts: map[string]*attempt{}}
}

// try does work unless it failed a moment ago, and reports whether it succeeded. The pause
// after a failure is at least twice as long as the work took. An error is logged unless it
// equals the last one.
func (r *retries) try(name, failed string, work func() error) bool {
	a := r.attempts[name]
	begin := time.Now()
	if a != nil && begin.Before(a.next) {
		return false
	}
	err := work()
	if err == nil {
		delete(r.attempts, name)
		return true
	}
	if a == nil {
		a = &attempt{pace: backoff.NewExponentialBackOff(backoff.WithMaxInterval(maxRetry), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))}
		r.attempts[name] = a
	}
	a.next = time.Now().Add(max(a.pace.NextBackOff(), 2*time.Since(begin)))
	if a.logged != err.Error() {
		a.logged = err.Error()
		r.log.Error(failed, "about", name, "error", err)
	}
	return false
}
