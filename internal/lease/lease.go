// Package lease lets one of several processes do a piece of work, and another
// take over once the first one is gone, by a key in a store that compares before
// it writes.
//
// The holder writes the key anew every third of its time to live. Who waits takes
// it over once nobody has for the whole of it, by the waiting one's own clock:
// clocks are never compared. The holder stops writing what the lease guards when
// two thirds have passed since it last asked for more, so it stops before anybody
// else begins (Gray and Cheriton 1989).
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
)

// ErrLost is in the error of work that ended because somebody else has the lease:
// the store was out of reach for longer than the lease lives, and theirs not.
var ErrLost = errors.New("somebody else has taken over")

// errNotHeld is the error of what may be done by the holder alone.
var errNotHeld = errors.New("another process does this work at the moment")

// DefaultTTL is how long a holder may be silent.
const DefaultTTL = 15 * time.Second

// Store is where the key lies. Create fails with stream.ErrConflict where there is
// one, Update where it has another revision; Get with stream.ErrNotFound where
// there is none.
type Store interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
}

// Config says what is held by whom.
type Config struct {
	Key    string
	Holder string        // without a slash; the same after a restart: it need not wait for itself
	TTL    time.Duration // DefaultTTL when 0
}

// Lease is one process's part in it. Its methods may be called concurrently, Run
// once.
type Lease struct {
	cfg   Config
	name  string // the holder's, and the process's
	store Store
	log   *slog.Logger

	mu       sync.Mutex // guards what follows
	revision uint64     // of the key as this process has written it
	until    time.Time  // what is guarded may be done; zero: not held
	other    bool       // somebody else holds it
}

// New returns a lease that is not held.
func New(cfg Config, store Store, log *slog.Logger) (*Lease, error) {
	if cfg.Key == "" || cfg.Holder == "" || strings.Contains(cfg.Holder, "/") || cfg.TTL < 0 || store == nil || log == nil {
		return nil, fmt.Errorf("lease: a key, a holder, a store and a logger are wanted, have %+v", cfg)
	}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	return &Lease{cfg: cfg, name: cfg.Holder + "/" + rand.Text(), store: store, log: log.With("lease", cfg.Key)}, nil
}

// Run waits until the lease is held, works, and gives it up again. It returns what
// work does, or nil if ctx ends while it waits, or ErrLost.
func (l *Lease) Run(ctx context.Context, work func(context.Context) error) error {
	if !l.acquire(ctx) {
		return nil
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	tick := time.NewTicker(l.cfg.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			l.release(context.WithoutCancel(ctx))
			return err
		case <-tick.C:
			if err := l.renew(working); errors.Is(err, ErrLost) {
				stop()
				return errors.Join(fmt.Errorf("lease %s: %w", l.cfg.Key, err), <-done)
			}
		}
	}
}

// Check says why what is guarded may not be done now, or nil.
func (l *Lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return nil
	}
	return errNotHeld
}

// StandsBy says that somebody else holds the lease, or nil.
func (l *Lease) StandsBy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.other {
		return errNotHeld
	}
	return nil
}

// acquire waits for the lease; it returns false if ctx ended first.
func (l *Lease) acquire(ctx context.Context) bool {
	var seen uint64
	var since time.Time
	for {
		asked := time.Now()
		e, err := l.get(ctx)
		forgotten := e.Revision == 0 && seen != 0 // the store has lost the key, and the holder may not know
		switch {
		case err == nil && e.Revision != seen && !l.free(e):
			seen, since = e.Revision, asked
			l.standBy()
		case err == nil && (l.free(e) && !forgotten || asked.Sub(since) >= l.cfg.TTL):
			err = l.write(ctx, e.Revision)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, stream.ErrConflict) {
			l.log.Debug("the lease can not be asked for", "error", err)
		}
		if l.Check() == nil {
			l.log.Info("the lease is held")
			return true
		}
		select {
		case <-time.After(l.cfg.TTL / 5):
		case <-ctx.Done():
			return false
		}
	}
}

// free reports whether nobody holds what was read, or an earlier process of the same
// holder does.
func (l *Lease) free(e stream.Entry) bool {
	holder, _, _ := strings.Cut(string(e.Value), "/")
	return holder == "" || holder == l.cfg.Holder
}

func (l *Lease) standBy() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.other {
		l.log.Info("another process does this work; this one stands by")
	}
	l.other = true
}

// get returns an empty entry where there is no key.
func (l *Lease) get(ctx context.Context) (stream.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.TTL/3)
	defer cancel()
	e, err := l.store.Get(ctx, l.cfg.Key)
	if errors.Is(err, stream.ErrNotFound) {
		return stream.Entry{}, nil
	}
	return e, err
}

// write puts the holder's name into the key if it has the revision, 0 for none.
func (l *Lease) write(ctx context.Context, revision uint64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.TTL/3)
	defer cancel()
	asked := time.Now()
	if revision == 0 {
		revision, err = l.store.Create(ctx, l.cfg.Key, []byte(l.name))
	} else {
		revision, err = l.store.Update(ctx, l.cfg.Key, []byte(l.name), revision)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision, l.until, l.other = revision, asked.Add(l.cfg.TTL*2/3), false
	return nil
}

// renew extends the lease. A store that is out of reach is asked again the next
// time; one that has forgotten, or holds an earlier revision of ours, is told.
func (l *Lease) renew(ctx context.Context) error {
	l.mu.Lock()
	revision := l.revision
	l.mu.Unlock()
	err := l.write(ctx, revision)
	if !errors.Is(err, stream.ErrConflict) {
		return err
	}
	e, err := l.get(ctx)
	if err != nil {
		return err
	}
	if len(e.Value) > 0 && string(e.Value) != l.name { // of the same holder, too: another process on a copy of its folder
		l.mu.Lock()
		defer l.mu.Unlock()
		l.until = time.Time{}
		return ErrLost
	}
	return l.write(ctx, e.Revision)
}

// release lets somebody else begin at once.
func (l *Lease) release(ctx context.Context) {
	l.mu.Lock()
	revision := l.revision
	l.until = time.Time{}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.cfg.TTL/3)
	defer cancel()
	if _, err := l.store.Update(ctx, l.cfg.Key, nil, revision); err != nil {
		l.log.Info("the lease was not given up, it ends by itself", "error", err)
	}
}
