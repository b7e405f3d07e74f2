package reindex

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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
)

// The key of the plan in the store.
const (
	KeyPrefix = "index."
	planKey   = KeyPrefix + "plan"
)

// Bucket holds the plan for all processes.
type Bucket interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error
}

// PlanStore holds the plan as this process last read it. Its methods may be called
// concurrently.
type PlanStore struct {
	bucket Bucket
	file   string
	log    *slog.Logger

	mu      sync.Mutex // guards what follows
	saved   saved
	known   bool          // the plan is more than the settings of this process
	read    bool          // from the bucket, since the start
	at      uint64        // the plan's revision there
	changed chan struct{} // closed with the next change
}

// saved is the content of the file.
type saved struct {
	Plan    Plan `json:"plan"`
	Serving int  `json:"serving,omitempty"` // the version that this process searched last
}

// NewPlanStore returns a store with the plan of file, or with first if the file does not
// exist. If file is empty, the store saves nothing.
func NewPlanStore(bucket Bucket, first Plan, file string, log *slog.Logger) *PlanStore {
	p := &PlanStore{bucket: bucket, file: file, log: log, saved: saved{Plan: first}, changed: make(chan struct{})}
	if file == "" {
		return p
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p
	}
	var k saved
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err == nil {
		err = k.Plan.validate()
	}
	if err != nil { // the bucket still has the plan
		log.Warn("the saved plan of index versions cannot be read", "file", file, "error", err)
		return p
	}
	p.saved, p.known = k, true
	return p
}

// Known reports whether the plan was saved or read: otherwise it follows from the settings of this
// process.
func (p *PlanStore) Known() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// Plan returns the plan, and whether it was read from the bucket since the start.
func (p *PlanStore) Plan() (plan Plan, read bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.saved.Plan, p.read
}

// Serving returns the version that this process searched last, 0 if it is not known.
func (p *PlanStore) Serving() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.saved.Serving
}

// Serve saves the version that this process searches now.
func (p *PlanStore) Serve(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.saved.Serving != number {
		p.saved.Serving = number
		p.save()
	}
}

// Changed is closed when the plan changes.
func (p *PlanStore) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Read reads the plan from the bucket. It is not an error if the bucket has no plan.
func (p *PlanStore) Read(ctx context.Context) error {
	e, err := p.bucket.Get(ctx, planKey)
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the plan of index versions: %w", err)
	}
	return p.receive(ctx, e)
}

// Begin writes the first plan if the bucket has no plan, and otherwise adopts the plan there.
func (p *PlanStore) Begin(ctx context.Context, first Plan) error {
	_, err := p.change(ctx, func(_ Plan, there bool) (Plan, bool, error) {
		if own, _ := p.Plan(); p.Known() {
			first = own // the bucket has lost it
		}
		return first, !there, nil
	})
	return err
}

// Change applies fn to the plan in the bucket and returns the result. It calls fn again if
// another process wrote in between.
func (p *PlanStore) Change(ctx context.Context, fn func(Plan) (Plan, error)) (Plan, error) {
	return p.change(ctx, func(now Plan, _ bool) (Plan, bool, error) {
		next, err := fn(now)
		return next, !reflect.DeepEqual(next, now), err
	})
}

func (p *PlanStore) change(ctx context.Context, fn func(now Plan, there bool) (next Plan, write bool, err error)) (Plan, error) {
	for {
		now, _ := p.Plan()
		e, err := p.bucket.Get(ctx, planKey)
		there := err == nil
		if there {
			now, err = decode(e.Value)
		} else if errors.Is(err, stream.ErrNotFound) {
			err = nil
		}
		if err != nil {
			return now, fmt.Errorf("read the plan of index versions: %w", err)
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
			return now, fmt.Errorf("write the plan of index versions: %w", err)
		}
		p.adopt(next, revision)
		return next, nil
	}
}

// write returns the revision of the plan in the bucket.
func (p *PlanStore) write(ctx context.Context, next Plan, revision uint64, there bool) (uint64, error) {
	raw, err := encode(next)
	if err != nil {
		return 0, err
	}
	if there {
		return p.bucket.Update(ctx, planKey, raw, revision)
	}
	return p.bucket.Create(ctx, planKey, raw)
}

// receive adopts an entry of the bucket. If the plan in it has a lower last number than the
// known plan, the bucket lost its data, and receive writes the known plan to it.
func (p *PlanStore) receive(ctx context.Context, e stream.Entry) error {
	if e.Key != planKey || e.Value == nil {
		return nil
	}
	next, err := decode(e.Value)
	if err != nil {
		p.log.Error("the plan of index versions cannot be read, the last known plan holds", "error", err)
		return nil
	}
	own, _ := p.Plan()
	if p.Known() && next.Last < own.Last {
		p.log.Error("the store lost the plan of index versions, which is written again", "last", own.Last)
		if _, err := p.write(ctx, own, e.Revision, true); !errors.Is(err, stream.ErrConflict) {
			return err
		}
		return nil // a plan that was written meanwhile comes next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(next, e.Revision)
	return nil
}

// adopt sets a plan that this process read or wrote, unless it received a later one
// meanwhile. A plan from a watch always holds: a bucket that lost its data counts its
// revisions from the beginning.
func (p *PlanStore) adopt(next Plan, revision uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if revision >= p.at {
		p.set(next, revision)
	}
}

// set replaces the plan, on disk too. The caller holds mu.
func (p *PlanStore) set(next Plan, revision uint64) {
	p.at = revision
	if p.read && reflect.DeepEqual(next, p.saved.Plan) {
		return
	}
	p.saved.Plan, p.known, p.read = next, true, true
	p.save()
	close(p.changed)
	p.changed = make(chan struct{})
}

// save writes to disk. If it fails the process goes on: only its next start would know
// less. The caller holds mu.
func (p *PlanStore) save() {
	if p.file == "" {
		return
	}
	raw, err := json.MarshalIndent(p.saved, "", "\t")
	if err == nil {
		err = files.Write(p.file, raw, 0o600)
	}
	if err != nil {
		p.log.Warn("the plan of index versions cannot be saved", "error", err)
	}
}

// Run watches the plan until ctx ends. While the bucket is away the known plan holds.
func (p *PlanStore) Run(ctx context.Context) error {
	var state lifecycle.Health
	stream.WatchAgain(ctx, p.bucket, KeyPrefix, func(e stream.Entry) error { return p.receive(ctx, e) }, func(err error) {
		state.LogChange(ctx, p.log, err, "the plan of index versions cannot be watched, the last known plan holds", "the plan of index versions is watched again")
	})
	return nil
}
