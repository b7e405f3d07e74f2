package sources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/services/ingest"
)

// When a source is looked at.
const (
	startWithin    = 5 * time.Second        // of a start, or a takeover: not all at once
	settleFor      = 100 * time.Millisecond // after a source says that it has changed: more may follow
	leastPause     = time.Second            // between two looks at a source that keeps saying so
	askAgain       = 3 * time.Second        // after a loss that is too large to be believed
	firstRetry     = time.Second
	lastRetry      = 5 * time.Minute
	leastFresh     = 30 * time.Second // bounds of the freshness that a source claims
	mostFresh      = time.Hour
	reconcileEvery = time.Hour // everything is compared again, whatever the last listing was
	leastStale     = 3 * time.Minute
	stalePeriods   = 3
)

// errPrivate is the error of a list that is for one credential alone.
var errPrivate = fmt.Errorf("%w: the list is private to the credential (cacheScope): it is not for every caller of this index", source.ErrRefused)

// private reports whether a list is for one credential alone. An answer to a
// request without a credential is not, whatever it claims: some servers claim it of every list.
func private(spec source.Spec, l source.Listing) bool { return l.Private && spec.Auth != nil }

// workerDeps are shared by all workers.
type workerDeps struct {
	*crawler
	metrics   *metrics
	log       *slog.Logger
	inFlight  *inflight.Budget
	answering chan struct{} // a slot for each look at a source whose last look succeeded
	failing   chan struct{} // the same for other sources
}

// worker looks at one source. Fields above mu do not change.
type worker struct {
	workerDeps
	id     id
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{} // the declaration has changed, or the source says that its list has

	mu   sync.Mutex // guards what follows
	rec  *record
	now  Status
	seen time.Time // when the source first said so since the last look; zero: it did not

	// Used by the worker's goroutine alone.
	form    form // that the session is of
	session source.Session
	pace    *backoff.ExponentialBackOff
	asked   time.Time // of the last look that was asked for
	fails   bool      // the last look failed, or the next may
	saved   Status    // as the store has it
	applier applier
}

func newWorker(deps workerDeps, i id, rec *record, last Status, cancel context.CancelFunc) *worker {
	untried := rec.Parent != "" && last.LastSuccess.IsZero() // its parent may name very many sources that hang
	w := &worker{
		workerDeps: deps, id: i, log: deps.log.With("source", i.String()), cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		rec: rec, now: last, saved: last, asked: rec.Asked, fails: untried || last.LastError != "",
		applier: applier{crawler: deps.crawler, id: i},
		pace:    backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstRetry), backoff.WithMultiplier(2), backoff.WithMaxInterval(lastRetry), backoff.WithMaxElapsedTime(0)),
	}
	if last.Held != nil {
		w.applier.indexed.suspected = last.Held.Digest
	}
	if last.LastLook.IsZero() { // another source may have named it
		w.seen = earlier(rec.Told, time.Now())
	}
	return w
}

// update sets another record. Its event may have arrived at another process, by another clock.
func (w *worker) update(rec *record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !rec.Told.Equal(w.rec.Told) && w.seen.IsZero() {
		w.seen = earlier(rec.Told, time.Now())
	}
	w.rec = rec
	w.nudge()
}

// listChanged is called by the session when the source says that its list has changed.
func (w *worker) listChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen.IsZero() {
		w.seen = time.Now()
	}
	w.nudge()
}

func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// run looks at the source until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.endSession()
	due := time.Now()
	if !w.now.LastSuccess.IsZero() {
		due = due.Add(rand.N(startWithin))
	}
	last, resting := time.Time{}, false
	for ctx.Err() == nil {
		rec, seen := w.declaration()
		now := time.Now()
		switch {
		case rec.Removed:
			if w.removeSource(ctx, rec) {
				return
			}
			due = now.Add(w.pace.NextBackOff())
		case rec.Paused:
			w.endSession()
			due = now
			if resting = w.applier.pauseChildren(ctx, true) == nil; !resting {
				due = now.Add(w.pace.NextBackOff())
			}
		case rec.Asked.After(w.asked), w.form.Kind != "" && differ(rec.form(), w.form), !now.Before(due):
			due = w.look(ctx, rec)
			last = time.Now()
		case !seen.IsZero():
			next := seen.Add(settleFor)
			if least := last.Add(leastPause); next.Before(least) {
				next = least
			}
			due = earlier(due, next)
		}
		timer := time.NewTimer(time.Until(due))
		tick := timer.C
		if rec.Paused && !rec.Removed && resting {
			tick = nil
		}
		select {
		case <-w.wake:
		case <-tick:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// differ reports whether a source is another one.
func differ(a, b form) bool {
	x, _ := json.Marshal(a) // texts, numbers and JSON always encode
	y, _ := json.Marshal(b)
	return string(x) != string(y)
}

// declaration returns the record, and when the source said that its list has changed.
func (w *worker) declaration() (*record, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec, w.seen
}

// look looks at the source, sets its status, and returns when to look again.
func (w *worker) look(ctx context.Context, rec *record) time.Time {
	if differ(rec.form(), w.form) {
		w.endSession()
		w.pace.Reset()
		if rec.Endpoint() != w.form.Endpoint() { // the same documents are listed again
			w.applier.indexed.loaded = time.Time{}
		}
		w.form, w.applier.indexed.listed = rec.form(), [sha256.Size]byte{}
	}
	if rec.Asked.After(w.asked) {
		w.asked = rec.Asked
		w.applier.indexed.loaded = time.Time{}
	}
	slot := w.answering
	if w.fails {
		slot = w.failing
	}
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}
	}
	defer func() { <-slot }()
	start := time.Now()
	w.mu.Lock()
	seen := w.seen
	w.seen = time.Time{}
	w.mu.Unlock()
	if seen.IsZero() {
		seen = start
	}
	looking, cancel := context.WithTimeoutCause(ctx, w.cfg.Timeout, errSlow)
	defer cancel()
	memory := w.inFlight.Open(w.id.tenant)
	defer memory.Close()
	fresh, r, err := w.sync(inflight.With(looking, memory), rec, seen)
	if ctx.Err() != nil {
		return time.Time{}
	}
	if full := memory.Refused(); full != nil && err != nil {
		err = &source.RetryError{After: full.After, Err: full}
	}
	if looking.Err() != nil && err != nil {
		err = errors.Join(context.Cause(looking), err)
	}
	outcome := outcomeFailed
	switch {
	case err == nil:
		outcome = outcomeListed
	case errors.Is(err, source.ErrRefused), errors.Is(err, outbound.ErrAddress):
		outcome = outcomeRefused
	case errors.Is(err, source.ErrAuth):
		outcome = outcomeAuth
	}
	w.metrics.looks.WithLabelValues(outcome).Inc()
	w.metrics.duration.Observe(time.Since(start).Seconds())
	return w.conclude(ctx, rec, fresh, r, err)
}

var errSlow = errors.New("the source did not answer in time")

// sync lists the source and publishes its changes. It returns how long the source declares
// its list fresh.
func (w *worker) sync(ctx context.Context, rec *record, seen time.Time) (time.Duration, result, error) {
	revision, err := w.index.Revision(ctx)
	if err != nil {
		return 0, result{}, err
	}
	w.applier.finds = w.finds(rec)
	if w.applier.finds {
		if err := w.applier.pauseChildren(ctx, false); err != nil {
			return 0, result{}, err
		}
	}
	listing, err := w.list(ctx, rec)
	switch {
	case err != nil:
		return 0, result{}, w.hide(rec.Spec, err)
	case private(rec.Spec, listing):
		return 0, result{}, errPrivate
	case len(listing.Documents) > w.cfg.Limits.Tools, len(listing.Found) > w.cfg.Limits.Tools:
		return 0, result{}, errTools
	}
	listing.Owner = about(rec.About, listing.Owner)
	r, err := w.applier.publish(ctx, rec, listing, ingest.Options{Seen: seen, UpTo: revision, Source: w.id.name, Endpoint: rec.Endpoint()})
	if err != nil { // the index may differ from the listing
		w.applier.indexed.loaded = time.Time{}
	}
	if r.hangUp {
		w.endSession()
	}
	return listing.Fresh, r, err
}

// list lists the source, reconnecting once if the connection was lost.
func (w *worker) list(ctx context.Context, rec *record) (source.Listing, error) {
	if w.session != nil {
		listing, err := w.session.List(ctx, !w.applier.indexed.current())
		if err == nil {
			return listing, nil
		}
		w.endSession()
		if ctx.Err() != nil {
			return listing, err
		}
		w.log.Debug("sources: the connection was lost", "error", w.hide(rec.Spec, err))
	}
	session, err := w.connect(ctx, w.id, rec, w.listChanged)
	if err != nil {
		return source.Listing{}, err
	}
	w.session = session
	listing, err := session.List(ctx, true)
	if err != nil {
		w.endSession()
	}
	return listing, err
}

// endSession ends the session, which may take a while, and forgets its list.
func (w *worker) endSession() {
	if w.session != nil {
		w.hangUp(w.session)
		w.session = nil
	}
}

// finds reports whether the source names others, or did.
func (w *worker) finds(rec *record) bool { return source.Finds(rec.Kind) || w.status().Found > 0 }

// conclude sets the status after a look, and returns when to look again.
func (w *worker) conclude(ctx context.Context, rec *record, fresh time.Duration, f result, err error) time.Time {
	now := time.Now().UTC()
	status := w.status()
	status.LastLook = now
	wait := w.pause(err)
	switch {
	case err == nil:
		// The declaration says how long to wait, else the source, within bounds.
		if fresh > 0 {
			fresh = min(max(fresh, leastFresh), mostFresh)
		}
		period := cmp.Or(time.Duration(rec.Every), fresh, w.cfg.Every)
		w.pace.Reset()
		wait = jitter(period)
		if f.again {
			wait = jitter(askAgain)
		}
		status.LastSuccess, status.LastError, status.Problems, status.Held = now, "", f.problems, f.loss
		status.StaleAt = now.Add(max(stalePeriods*period, leastStale))
		status.Tools = len(w.applier.indexed.tools)
		if w.finds(rec) {
			there, _ := w.dir.children(w.id)
			status.Found = len(there)
		}
		if f.changed.Changed != (Changed{}) {
			status.Changed, status.LastChanges, status.LastChange = f.changed.Changed, &f.changed.names, now
		}
		state := Polling
		switch {
		case f.loss != nil:
			state = Held
		case w.session != nil && w.session.Live():
			state = Live
		}
		status = status.withState(state, now)
	case errors.Is(err, source.ErrRefused), errors.Is(err, outbound.ErrAddress):
		status = status.withState(Refused, now)
	case errors.Is(err, source.ErrAuth):
		status = status.withState(AuthNeeded, now)
	case errors.Is(err, ingest.ErrUnavailable): // not a fault of the source
	case now.After(status.StaleAt): // never seen, too
		status = status.withState(Stale, cmp.Or(status.LastSuccess, now))
	default:
		status = status.withState(Polling, now)
	}
	if err != nil {
		status.LastError = explain(err)
	}
	w.fails = err != nil
	status.Next = now.Add(wait)
	w.setStatus(ctx, status)
	return status.Next
}

// withState returns the status in a state, since a time unless it is in that state already.
func (s Status) withState(to State, since time.Time) Status {
	if s.State != to {
		s.State, s.Since = to, since
	}
	return s
}

// pause is how long to wait after a failed look.
func (w *worker) pause(err error) time.Duration {
	if err == nil {
		return 0
	}
	if errors.Is(err, source.ErrRefused) || errors.Is(err, outbound.ErrAddress) || errors.Is(err, source.ErrAuth) {
		return jitter(lastRetry)
	}
	wait := w.pace.NextBackOff()
	var retry *source.RetryError
	if errors.As(err, &retry) {
		wait = max(wait, jitter(min(retry.After, mostFresh)))
	}
	return wait
}

// jitter spreads a time by a tenth.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// maxError bounds the text of an error, in bytes: a source may say anything.
const maxError = 500

func explain(err error) string {
	says := err.Error()
	if errors.Is(err, outbound.ErrAddress) {
		says += " (a source with allow_private reaches the addresses in the setting crawl.private)"
	}
	return shorten(says, maxError)
}

// setStatus sets the status, and stores it if others should know: if more than its times have
// changed, or if half of the time until it is stale has gone.
func (w *worker) setStatus(ctx context.Context, status Status) {
	w.mu.Lock()
	w.now = status
	w.mu.Unlock()
	timeless := func(s Status) string {
		s.LastLook, s.LastSuccess, s.Next, s.StaleAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		text, _ := json.Marshal(s) // texts, numbers and times always encode
		return string(text)
	}
	now := time.Now()
	due := now.Add(status.StaleAt.Sub(now) / 2)
	if timeless(status) == timeless(w.saved) && !w.saved.StaleAt.Before(due) {
		return
	}
	if timeless(status) == timeless(w.saved) && status.LastError != "" {
		return
	}
	text, _ := json.Marshal(status)
	if _, err := w.dir.store.Put(ctx, stateKey(w.id), text); err != nil {
		w.log.Debug("sources: the status is not stored", "error", err)
		return
	}
	if status.State != w.saved.State {
		w.log.Info("sources: a source is "+string(status.State), "tools", status.Tools, "error", status.LastError)
	}
	w.saved = status
	w.dir.setStatus(w.id, status)
}

// removeSource deletes the tools of a source, and then the source. The sources that it names
// remove themselves.
func (w *worker) removeSource(ctx context.Context, rec *record) bool {
	w.endSession()
	w.applier.finds = w.finds(rec)
	err := w.applier.deleteAll(ctx, rec)
	if again, _ := w.declaration(); !again.Removed { // the settings name it again
		return false
	}
	if err == nil {
		err = w.dir.store.Delete(ctx, stateKey(w.id))
	}
	if err == nil {
		err = w.dir.store.Delete(ctx, specKey(w.id))
	}
	if err != nil {
		w.log.Warn("sources: a source is not removed yet, trying again", "error", err)
		return false
	}
	w.log.Info("sources: a source is removed")
	return true
}
