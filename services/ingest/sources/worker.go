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

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
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
	leastFresh     = 30 * time.Second // what a source may say of itself
	mostFresh      = time.Hour
	reconcileEvery = time.Hour // everything is compared anew, whatever the source had before
	leastStale     = 3 * time.Minute
	stalePeriods   = 3
)

// errPrivate is the error of a list that is for one credential alone.
var errPrivate = fmt.Errorf("%w: the list is private to the credential (cacheScope): it is not for every caller of this index", source.ErrRefused)

// private reports whether a list is for one credential alone. What a server answers to
// whoever asks without one is not, whatever it says: some say so of every list.
func private(spec source.Spec, l source.Listing) bool { return l.Private && spec.Auth != nil }

// worker looks at one source. What has no comment is used by its goroutine alone.
type worker struct {
	s      *Service
	id     id
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{} // the declaration has changed, or the source says that it has

	mu   sync.Mutex // guards what follows
	rec  *record
	now  Status
	seen time.Time // when the source first spoke up since the last look; zero: it did not

	form    form // that the session is of
	session source.Session
	pace    *backoff.ExponentialBackOff
	asked   time.Time // of the last look that was asked for
	fails   bool      // the last look did, or may
	saved   Status    // as the store has it
	shelf   shelf     // what the source has
}

func newWorker(s *Service, i id, rec *record, last Status, cancel context.CancelFunc) *worker {
	untried := rec.Parent != "" && last.LastSuccess.IsZero() // whoever names it may name very many that hang
	w := &worker{
		s: s, id: i, log: s.log.With("source", i.String()), cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		rec: rec, now: last, saved: last, asked: rec.Asked, fails: untried || last.LastError != "", shelf: shelf{suspected: last.held()},
		pace: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstRetry), backoff.WithMultiplier(2), backoff.WithMaxInterval(lastRetry), backoff.WithMaxElapsedTime(0)),
	}
	if last.LastLook.IsZero() { // another source may have named it
		w.seen = earlier(rec.Told, time.Now())
	}
	return w
}

// tell hands over another record. An event that it notes may have arrived elsewhere, by
// another clock.
func (w *worker) tell(rec *record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !rec.Told.Equal(w.rec.Told) && w.seen.IsZero() {
		w.seen = earlier(rec.Told, time.Now())
	}
	w.rec = rec
	w.nudge()
}

// changed is called by the session when the source has changed.
func (w *worker) changed() {
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
	defer w.s.ended(w)
	defer w.hangUp()
	due := time.Now()
	if !w.now.LastSuccess.IsZero() {
		due = due.Add(rand.N(startWithin))
	}
	last, resting := time.Time{}, false
	for ctx.Err() == nil {
		rec, seen := w.sight()
		now := time.Now()
		switch {
		case rec.Removed:
			if w.clear(ctx, rec) {
				return
			}
			due = now.Add(w.pace.NextBackOff())
		case rec.Paused:
			w.hangUp()
			due = now
			if resting = w.rest(ctx, true) == nil; !resting {
				due = now.Add(w.pace.NextBackOff())
			}
		case rec.Asked.After(w.asked), w.form.Kind != "" && differ(rec.form(), w.form), !now.Before(due):
			due = w.look(ctx, rec)
			last = time.Now()
		case !seen.IsZero():
			due = earlier(due, later(seen.Add(settleFor), last.Add(leastPause)))
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
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

// sight returns the declaration, and when the source spoke up.
func (w *worker) sight() (*record, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec, w.seen
}

// look looks at the source, notes what came of it, and returns when to look again.
func (w *worker) look(ctx context.Context, rec *record) time.Time {
	if differ(rec.form(), w.form) {
		w.hangUp()
		w.pace.Reset()
		w.form, w.shelf.listed = rec.form(), [sha256.Size]byte{}
	}
	if rec.Asked.After(w.asked) {
		w.asked = rec.Asked
		w.shelf.filled = time.Time{}
	}
	place := w.s.answering
	if w.fails {
		place = w.s.failing
	}
	select {
	case place <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}
	}
	defer func() { <-place }()
	start := time.Now()
	w.mu.Lock()
	seen := w.seen
	w.seen = time.Time{}
	w.mu.Unlock()
	if seen.IsZero() {
		seen = start
	}
	looking, cancel := context.WithTimeoutCause(ctx, w.s.cfg.Timeout, errSlow)
	defer cancel()
	fresh, r, err := w.visit(looking, rec, seen)
	if ctx.Err() != nil {
		return time.Time{}
	}
	if looking.Err() != nil && err != nil {
		err = errors.Join(context.Cause(looking), err)
	}
	w.s.metrics.looked(time.Since(start), err)
	return w.judge(ctx, rec, fresh, r, err)
}

var errSlow = errors.New("the source did not answer in time")

// result is what a look that succeeded came to.
type result struct {
	changed  changes
	problems []string
	loss     *Loss // that is held
	beyond   int   // tools that are over the limit of the tenant
	again    bool  // soon: a loss is doubted, or a source is named anew that is being removed
}

// visit lists the source and publishes what has changed. It returns for how long the
// source takes its list to be true.
func (w *worker) visit(ctx context.Context, rec *record, seen time.Time) (time.Duration, result, error) {
	revision, err := w.s.index.Revision(ctx)
	if err != nil {
		return 0, result{}, err
	}
	if w.names(rec) {
		if err := w.rest(ctx, false); err != nil {
			return 0, result{}, err
		}
	}
	listing, err := w.list(ctx, rec)
	switch {
	case err != nil:
		return 0, result{}, w.s.hide(rec.Spec, err)
	case private(rec.Spec, listing):
		return 0, result{}, errPrivate
	case len(listing.Documents) > w.s.cfg.Limits.Tools, len(listing.Found) > w.s.cfg.Limits.Tools:
		return 0, result{}, errTools
	}
	listing.Owner = about(rec.About, listing.Owner)
	f, err := w.publish(ctx, rec, listing, ingest.Options{Seen: seen, UpTo: revision, Source: w.id.name})
	if err != nil { // what was listed is not the last state that was published
		w.shelf.filled = time.Time{}
	}
	return listing.Fresh, f, err
}

// list lists the source, once more over a new connection if that it had was lost.
func (w *worker) list(ctx context.Context, rec *record) (source.Listing, error) {
	if w.session != nil {
		listing, err := w.session.List(ctx, !w.shelf.current())
		if err == nil {
			return listing, nil
		}
		w.hangUp()
		if ctx.Err() != nil {
			return listing, err
		}
		w.log.Debug("sources: the connection was lost", "error", w.s.hide(rec.Spec, err))
	}
	place, err := w.s.places.Of(w.id.tenant, rec.Spec, rec.Parent != "")
	if err != nil {
		return source.Listing{}, err
	}
	session, err := w.s.connectors[rec.Kind].Connect(ctx, place, w.changed)
	if err != nil {
		return source.Listing{}, err
	}
	w.session = session
	listing, err := session.List(ctx, true)
	if err != nil {
		w.hangUp()
	}
	return listing, err
}

// hangUp ends the session, which may take a while, and forgets what it had listed.
func (w *worker) hangUp() {
	if w.session == nil {
		return
	}
	w.s.hangUp(w.session)
	w.session = nil
}

func (s *Service) hangUp(session source.Session) {
	s.hangups.Go(session.Close)
}

// judge sets the status after a look, and returns when to look again.
func (w *worker) judge(ctx context.Context, rec *record, fresh time.Duration, f result, err error) time.Time {
	now := time.Now().UTC()
	status := w.status()
	status.LastLook = now
	wait := w.pause(err)
	switch {
	case err == nil:
		period := w.period(rec, fresh)
		w.pace.Reset()
		wait = jitter(period)
		if f.again {
			wait = jitter(askAgain)
		}
		status.LastSuccess, status.LastError, status.Problems, status.Held = now, "", f.problems, f.loss
		status.StaleAt = now.Add(max(stalePeriods*period, leastStale))
		status.Tools = len(w.shelf.tools)
		if w.names(rec) {
			there, _ := w.s.children(w.id)
			status.Found = len(there)
		}
		if f.changed.any() {
			status.Changed, status.LastChanges, status.LastChange = f.changed.Changed, &f.changed.names, now
		}
		status = status.turn(w.reached(f), now)
	case errors.Is(err, source.ErrRefused), errors.Is(err, outbound.ErrAddress):
		status = status.turn(Refused, now)
	case errors.Is(err, source.ErrAuth):
		status = status.turn(AuthNeeded, now)
	case errors.Is(err, ingest.ErrUnavailable): // which is no fault of the source
	case now.After(status.StaleAt): // never seen, too
		status = status.turn(Stale, cmp.Or(status.LastSuccess, now))
	default:
		status = status.turn(Polling, now)
	}
	if err != nil {
		status.LastError = explain(err)
	}
	w.fails = err != nil
	status.Next = now.Add(wait)
	w.set(ctx, status)
	return status.Next
}

// reached is the state of a source that was listed.
func (w *worker) reached(f result) State {
	switch {
	case f.loss != nil:
		return Held
	case w.session != nil && w.session.Live():
		return Live
	}
	return Polling
}

// held returns the digest of the loss that is held, "" if none is.
func (s Status) held() string {
	if s.Held == nil {
		return ""
	}
	return s.Held.Digest
}

// turn returns the status in a state, since a time unless it is in it already.
func (s Status) turn(to State, since time.Time) Status {
	if s.State != to {
		s.State, s.Since = to, since
	}
	return s
}

// period is the time between two looks: what the declaration says, else what the source
// takes its list to be true for, within bounds.
func (w *worker) period(rec *record, fresh time.Duration) time.Duration {
	if fresh > 0 {
		fresh = min(max(fresh, leastFresh), mostFresh)
	}
	return cmp.Or(time.Duration(rec.Every), fresh, w.s.cfg.Every)
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
		says += " (a source with allow_private reaches those in the setting crawl.private)"
	}
	return shorten(says, maxError)
}

// set takes a status, and stores it if others should know: that it changed but for its
// times, or that it is not stale by far.
func (w *worker) set(ctx context.Context, status Status) {
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
	if _, err := w.s.store.Put(ctx, stateKey(w.id), text); err != nil {
		w.log.Debug("sources: the status is not stored", "error", err)
		return
	}
	if status.State != w.saved.State {
		w.log.Info("sources: a source is "+string(status.State), "tools", status.Tools, "error", status.LastError)
	}
	w.saved = status
	w.s.keep(w.id, status)
}

// keep remembers the status of a source for when its worker is gone.
func (s *Service) keep(i id, status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(i).status = status
}

// clear deletes the tools of a source that is to go, and then the source. Those that it
// names go by themselves.
func (w *worker) clear(ctx context.Context, rec *record) bool {
	w.hangUp()
	err := w.discard(ctx, rec)
	if again, _ := w.sight(); !again.Removed { // the settings name it anew
		return false
	}
	if err == nil {
		err = w.s.store.Delete(ctx, stateKey(w.id))
	}
	if err == nil {
		err = w.s.store.Delete(ctx, specKey(w.id))
	}
	if err != nil {
		w.log.Warn("sources: a source is not removed yet, trying again", "error", err)
		return false
	}
	w.log.Info("sources: a source is removed")
	return true
}
