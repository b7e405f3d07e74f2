package generations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
)

// The plan's place in the store.
const (
	keyPrefix = "generations."
	planKey   = keyPrefix + "plan"
)

// Store holds the plan for everybody: a bucket of the bus.
type Store interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error
}

// Planner knows the plan as this process heard it last. Its methods may be
// called concurrently.
type Planner struct {
	store Store
	file  string
	log   *slog.Logger

	mu      sync.Mutex // guards what follows
	kept    kept
	known   bool          // the plan is more than what this process is set to
	heard   bool          // from the store, since the start
	at      uint64        // the plan's revision there
	changed chan struct{} // closed with the next change
}

// kept is what a process remembers on disk.
type kept struct {
	Plan    Plan `json:"plan"`
	Serving int  `json:"serving,omitempty"` // the generation that this process searched last
}

// New returns a planner that goes by what file holds, or by the first plan where
// that is nothing. Without a name nothing is kept on disk.
func New(store Store, first Plan, file string, log *slog.Logger) (*Planner, error) {
	if store == nil || log == nil {
		return nil, errors.New("generations: a store and a logger are wanted")
	}
	p := &Planner{store: store, file: file, log: log, kept: kept{Plan: first}, changed: make(chan struct{})}
	if file == "" {
		return p, nil
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err == nil {
		err = k.Plan.validate()
	}
	if err != nil { // the store has it
		log.Warn("generations: the kept plan can not be read", "file", file, "error", err)
		return p, nil
	}
	p.kept, p.known = k, true
	return p, nil
}

// Known reports whether there is more than what this process is set to: a plan
// that was kept or heard.
func (p *Planner) Known() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// Plan returns the plan, and whether the store has said it since the start.
func (p *Planner) Plan() (plan Plan, heard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.Plan, p.heard
}

// Serving returns the generation that this process searched last, 0 if that is
// not known.
func (p *Planner) Serving() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.Serving
}

// Serve remembers the generation that this process searches now.
func (p *Planner) Serve(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept.Serving != number {
		p.kept.Serving = number
		p.keep()
	}
}

// Changed is closed when the plan changes.
func (p *Planner) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Read asks the store for the plan. There may be none.
func (p *Planner) Read(ctx context.Context) error {
	e, err := p.store.Get(ctx, planKey)
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("generations: read the plan: %w", err)
	}
	return p.take(ctx, e)
}

// Begin writes the first plan where the store has none, and else takes over what
// it has.
func (p *Planner) Begin(ctx context.Context, first Plan) error {
	_, err := p.change(ctx, func(_ Plan, there bool) (Plan, bool, error) {
		if own, _ := p.Plan(); p.Known() {
			first = own // the store has lost it
		}
		return first, !there, nil
	})
	return err
}

// Change writes what fn makes of the store's plan, and returns it. fn is called
// again if somebody else was faster.
func (p *Planner) Change(ctx context.Context, fn func(Plan) (Plan, error)) (Plan, error) {
	return p.change(ctx, func(now Plan, _ bool) (Plan, bool, error) {
		next, err := fn(now)
		return next, !reflect.DeepEqual(next, now), err
	})
}

func (p *Planner) change(ctx context.Context, fn func(now Plan, there bool) (next Plan, write bool, err error)) (Plan, error) {
	for {
		now, _ := p.Plan()
		e, err := p.store.Get(ctx, planKey)
		there := err == nil
		if there {
			now, err = decode(e.Value)
		} else if errors.Is(err, stream.ErrNotFound) {
			err = nil
		}
		if err != nil {
			return now, fmt.Errorf("generations: read the plan: %w", err)
		}
		next, write, err := fn(now, there)
		if err != nil || !write {
			if there && err == nil {
				p.adopt(now, e.Revision)
			}
			return now, err
		}
		revision, err := p.write(ctx, next, e.Revision, there)
		if errors.Is(err, stream.ErrConflict) {
			continue
		}
		if err != nil {
			return now, fmt.Errorf("generations: write the plan: %w", err)
		}
		p.adopt(next, revision)
		return next, nil
	}
}

// write returns the revision that the plan has in the store then.
func (p *Planner) write(ctx context.Context, next Plan, revision uint64, there bool) (uint64, error) {
	raw, err := encode(next)
	if err != nil {
		return 0, err
	}
	if there {
		return p.store.Update(ctx, planKey, raw, revision)
	}
	return p.store.Create(ctx, planKey, raw)
}

// take goes by what the store says. A plan that gave fewer numbers than the one
// that is known is that of a store that lost its data: it gets the known one.
func (p *Planner) take(ctx context.Context, e stream.Entry) error {
	if e.Key != planKey || e.Value == nil {
		return nil
	}
	next, err := decode(e.Value)
	if err != nil {
		p.log.Error("generations: the plan is refused, the one before stays", "error", err)
		return nil
	}
	own, _ := p.Plan()
	if p.Known() && next.Last < own.Last {
		p.log.Error("generations: the store went back behind the known plan, which is written again", "last", own.Last)
		if _, err := p.write(ctx, own, e.Revision, true); !errors.Is(err, stream.ErrConflict) {
			return err
		}
		return nil // what was written meanwhile comes next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.follow(next, e.Revision)
	return nil
}

// adopt goes by a plan that this process read or wrote, unless it has heard of a later
// one meanwhile. What the store says by itself always holds: one that lost its data
// counts from the beginning.
func (p *Planner) adopt(next Plan, revision uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if revision >= p.at {
		p.follow(next, revision)
	}
}

// follow goes by a plan from now on, on disk too. The caller holds mu.
func (p *Planner) follow(next Plan, revision uint64) {
	p.at = revision
	if p.heard && reflect.DeepEqual(next, p.kept.Plan) {
		return
	}
	p.kept.Plan, p.known, p.heard = next, true, true
	p.keep()
	close(p.changed)
	p.changed = make(chan struct{})
}

// keep writes to disk. Where that fails the process goes on: only its next start
// would know less. The caller holds mu.
func (p *Planner) keep() {
	if p.file == "" {
		return
	}
	raw, err := json.MarshalIndent(p.kept, "", "\t")
	if err == nil {
		err = wholefile.Write(p.file, raw, 0o600)
	}
	if err != nil {
		p.log.Warn("generations: the plan can not be kept", "error", err)
	}
}

// Run watches the plan until ctx ends. A store that is lost is watched again:
// until then the known plan holds.
func (p *Planner) Run(ctx context.Context) error {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(10*time.Second), backoff.WithMaxElapsedTime(0))
	for {
		err := p.store.Watch(ctx, keyPrefix, func(e stream.Entry) error {
			pace.Reset()
			return p.take(ctx, e)
		})
		if ctx.Err() != nil {
			return nil
		}
		p.log.Warn("generations: lost sight of the plan, the last one holds", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace.NextBackOff()):
		}
	}
}
