package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// ErrLeaseLost is in the error of work that ended because another process has taken over.
var ErrLeaseLost = errors.New("another process has taken over")

// errNotHeld refuses work that only the holder may do.
var errNotHeld = errors.New("another process does this work at the moment")

// LeaseTTL is how long a holder may be silent unless a lease sets another TTL.
const LeaseTTL = 15 * time.Second

// LeaseStore is the store of the key. Create fails with ErrConflict if the key exists, Update
// if it has another revision, and Get with ErrNotFound if it is missing.
type LeaseStore interface {
	Get(ctx context.Context, key string) (Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
}

// Lease is the candidacy of one process for a piece of work; if the holder dies, another process
// takes over. Its methods except Run may be called concurrently.
//
// The holder renews the key every third of its TTL. A waiting process takes the key over if it has
// not changed for a TTL by its own clock: clocks are never compared. A holder that was paused or
// cut off may work on until it reaches the store again. The writes of the work must be fenced:
// each names the revision that it replaces (Gray and Cheriton 1989).
type Lease struct {
	TTL time.Duration // how long a holder may be silent, the same for all: set before Run

	key, holder string
	name        string // of the holder and the process
	store       LeaseStore
	log         *slog.Logger

	mu    sync.Mutex // guards held and other
	held  bool
	other bool // another process holds it
}

// NewLease returns a lease that is not held. The holder's name has no slash, and is the same
// after a restart: a holder need not wait for itself.
func NewLease(key, holder string, store LeaseStore, log *slog.Logger) *Lease {
	return &Lease{TTL: LeaseTTL, key: key, holder: holder, name: holder + "/" + rand.Text(), store: store, log: log.With("lease", key)}
}

// Run waits until the lease is held, works, and gives it up once work has returned. It returns
// work's error, nil if ctx ends while it waits, or ErrLeaseLost.
func (l *Lease) Run(ctx context.Context, work func(context.Context) error) error {
	if !l.acquire(ctx) {
		return nil
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	tick := time.NewTicker(l.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			l.release(context.WithoutCancel(ctx))
			return err
		case <-tick.C:
			if err := l.renew(context.WithoutCancel(ctx)); errors.Is(err, ErrLeaseLost) {
				stop()
				return errors.Join(fmt.Errorf("lease %s: %w", l.key, err), <-done)
			}
		}
	}
}

// Check returns an error unless this process may do the guarded work now.
func (l *Lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return nil
	}
	return errNotHeld
}

// StandsBy returns an error if another process holds the lease.
func (l *Lease) StandsBy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.other {
		return errNotHeld
	}
	return nil
}

func (l *Lease) set(held, other bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other && !l.other {
		l.log.Info("another process does this work; this one waits")
	}
	l.held, l.other = held, other
}

// acquire waits for the lease; it returns false if ctx ended first.
func (l *Lease) acquire(ctx context.Context) bool {
	var seen uint64
	var since time.Time
	for {
		asked := time.Now()
		e, err := l.get(ctx)
		holder, _, _ := strings.Cut(string(e.Value), "/")
		switch free := holder == "" || holder == l.holder; {
		case err != nil:
		case free || e.Revision == seen && asked.Sub(since) >= l.TTL:
			err = l.write(ctx, []byte(l.name), e.Revision)
		case e.Revision != seen:
			seen, since = e.Revision, asked
			l.set(false, true)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrConflict) {
			l.log.Debug("the lease cannot be asked for", "error", err)
		}
		if l.Check() == nil {
			l.log.Info("the lease is held")
			return true
		}
		select {
		case <-time.After(l.TTL / 5):
		case <-ctx.Done():
			return false
		}
	}
}

// get returns an empty entry if the key is missing.
func (l *Lease) get(ctx context.Context) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, l.TTL/3)
	defer cancel()
	e, err := l.store.Get(ctx, l.key)
	if errors.Is(err, ErrNotFound) {
		return Entry{}, nil
	}
	return e, err
}

// write sets the key to the holder's name, or to nothing, if it has the revision, 0 for
// no key.
func (l *Lease) write(ctx context.Context, name []byte, revision uint64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, l.TTL/3)
	defer cancel()
	if revision == 0 {
		_, err = l.store.Create(ctx, l.key, name)
	} else {
		_, err = l.store.Update(ctx, l.key, name, revision)
	}
	if err == nil {
		l.set(name != nil, false)
	}
	return err
}

// renew writes the key again, even if the store has lost it. If the store is unreachable, the
// next renewal tries again.
func (l *Lease) renew(ctx context.Context) error {
	e, err := l.get(ctx)
	if err != nil {
		return err
	}
	if len(e.Value) > 0 && string(e.Value) != l.name { // of the same holder, too: another process on a copy of its folder
		l.set(false, true)
		return ErrLeaseLost
	}
	return l.write(ctx, []byte(l.name), e.Revision)
}

// release frees the lease, so that another process can begin at once.
func (l *Lease) release(ctx context.Context) {
	e, err := l.get(ctx)
	if err == nil && string(e.Value) == l.name {
		err = l.write(ctx, nil, e.Revision)
	}
	if err != nil {
		l.log.Info("the lease was not given up, it ends by itself", "error", err)
	}
	l.set(false, false)
}
