package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/pkg/events"
)

// KeyPrefix begins the keys of fences in the bucket of weights; the tenant follows.
const KeyPrefix = "erased."

// fenceFile holds the fences that a process's data folder obeys.
const fenceFile = "erased.json"

// Fence defines how much of a tenant is erased.
type Fence struct {
	Tenant   string    `json:"tenant"`
	At       time.Time `json:"at"`                 // when it was asked for
	Erasing  bool      `json:"erasing,omitempty"`  // everything is behind the fence
	Revision uint64    `json:"revision,omitempty"` // documents up to this revision do

	// Ends are the offsets of the last records behind the fence, by topic and partition.
	Ends map[events.Topic]map[int]uint64 `json:"ends,omitempty"`

	// Stored is the revision of the fence in its bucket. Values with lower revisions are behind
	// it.
	Stored uint64 `json:"-"`
}

// Forget drops the data of a tenant behind a fence from a part of a process: all data while
// the fence is erasing. It may be called again.
type Forget func(ctx context.Context, f Fence) error

// Fences are the fences that a process knows. The methods may be called concurrently.
type Fences struct {
	file string
	log  *slog.Logger

	taking sync.Mutex // held while a fence is obeyed

	mu      sync.Mutex       // guards what follows
	known   map[string]Fence // replaced, never changed: batches under way read it
	obeyed  map[string]Fence // by tenant, fences that the parts of the process have obeyed
	forgets []Forget
	begun   map[int]batch // under way
	next    int
}

// batch is a batch of records under way.
type batch struct {
	tenant string // whose records alone are used; empty: of all tenants
	ended  chan struct{}
}

// OpenFences returns the fences that a data folder knows.
func OpenFences(folder string, log *slog.Logger) (*Fences, error) {
	f := &Fences{
		file: filepath.Join(folder, fenceFile), log: log,
		known: map[string]Fence{}, obeyed: map[string]Fence{}, begun: map[int]batch{},
	}
	raw, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &f.obeyed)
	}
	if err != nil {
		return nil, fmt.Errorf("tenants: %s: %w", f.file, err)
	}
	f.known = maps.Clone(f.obeyed)
	return f, nil
}

// OnErase adds a part of the process that holds data of tenants. Call it before Run.
func (f *Fences) OnErase(forget Forget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgets = append(f.forgets, forget)
}

// Run follows the fences of a store until ctx ends.
func (f *Fences) Run(ctx context.Context, store stream.Watcher) error {
	stream.WatchAgain(ctx, store, KeyPrefix, func(e stream.Entry) error {
		if fence, ok := parse(e); ok {
			return f.Take(ctx, fence)
		}
		return nil
	}, func(err error) {
		if err != nil {
			f.log.Warn("tenants: a tenant is not erased from this process yet", "error", err)
		}
	})
	return nil
}

// Read reads the fences of a store for the first time: the bus obeys them from then on. The
// parts of the process follow with Run.
func (f *Fences) Read(ctx context.Context, store Values) error {
	keys, err := store.Keys(ctx, KeyPrefix)
	for _, key := range keys {
		e, failed := store.Get(ctx, key)
		fence, ok := parse(e)
		if failed != nil || !ok {
			err = errors.Join(err, failed)
			continue
		}
		f.mu.Lock()
		if !f.known[fence.Tenant].At.After(fence.At) {
			f.learn(fence)
		}
		f.mu.Unlock()
	}
	return err
}

// parse returns the fence in an entry of a store.
func parse(e stream.Entry) (f Fence, ok bool) {
	ok = len(e.Value) > 0 && json.Unmarshal(e.Value, &f) == nil && f.Tenant == strings.TrimPrefix(e.Key, KeyPrefix)
	f.Stored = e.Revision
	return f, ok
}

// Take adopts a fence, and returns once the process obeys it: no batch from before it is under
// way that uses records of the tenant, and the parts of the process have forgotten the tenant.
func (f *Fences) Take(ctx context.Context, fence Fence) error {
	f.taking.Lock()
	defer f.taking.Unlock()
	f.mu.Lock()
	if known, ok := f.known[fence.Tenant]; ok && (known.At.After(fence.At) || known.At.Equal(fence.At) && fence.Erasing && !known.Erasing) {
		f.mu.Unlock()
		return nil // an earlier word
	}
	f.learn(fence)
	var under []batch
	for _, b := range f.begun {
		if b.tenant == "" || b.tenant == fence.Tenant {
			under = append(under, b)
		}
	}
	forgets := slices.Clone(f.forgets)
	done := same(f.obeyed[fence.Tenant], fence)
	f.mu.Unlock()
	if done {
		return nil
	}
	for _, b := range under {
		select {
		case <-b.ended:
		case <-ctx.Done():
			return fmt.Errorf("tenants: wait for what is under way: %w", ctx.Err())
		}
	}
	for _, forget := range forgets {
		if err := forget(ctx, fence); err != nil {
			return fmt.Errorf("tenants: erase %s: %w", fence.Tenant, err)
		}
	}
	return f.setObeyed(fence)
}

// same reports whether two fences are one, at the same step.
func same(a, b Fence) bool {
	return a.Tenant == b.Tenant && a.At.Equal(b.At) && a.Erasing == b.Erasing
}

// setObeyed records that a fence is obeyed, also on disk.
func (f *Fences) setObeyed(fence Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.obeyed[fence.Tenant] = fence
	raw, err := json.Marshal(f.obeyed)
	if err != nil {
		return err
	}
	return files.Write(f.file, raw, 0o600)
}

// Obeys reports whether this process obeys a fence, or a later one.
func (f *Fences) Obeys(fence Fence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.obeyed[fence.Tenant]
	return ok && (o.At.After(fence.At) || o.At.Equal(fence.At) && (fence.Erasing || !o.Erasing))
}

// Erasing reports whether a tenant is being erased at the moment.
func (f *Fences) Erasing(tenant string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[tenant].Erasing
}

// Since reports whether a tenant was erased since a time, or is being erased.
func (f *Fences) Since(tenant string, at time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fence, ok := f.known[tenant]
	return ok && (fence.Erasing || fence.At.After(at))
}

// learn adds a fence. It is called with mu held.
func (f *Fences) learn(fence Fence) {
	f.known = maps.Clone(f.known)
	f.known[fence.Tenant] = fence
}

// Through returns the last revision of a tenant that is erased.
func (f *Fences) Through(tenant string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fence := f.known[tenant]; !fence.Erasing {
		return fence.Revision
	}
	return events.MaxRevision
}

// All returns the fences by tenant, not to be changed.
func (f *Fences) All() map[string]Fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// Unfinished returns an error that names a tenant that this process has yet to erase.
func (f *Fences) Unfinished() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tenant, fence := range f.known {
		if !same(f.obeyed[tenant], fence) {
			return fmt.Errorf("the tenant %s is still to be erased here", tenant)
		}
	}
	return nil
}

// beginBatch registers a batch under way that uses the records of one tenant, or of all if it is
// empty. It returns the fences that the batch obeys, and a function that ends the batch.
func (f *Fences) beginBatch(tenant string) (fences map[string]Fence, end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, b := f.next, batch{tenant, make(chan struct{})}
	f.next++
	f.begun[n] = b
	return f.known, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, ok := f.begun[n]; ok {
			delete(f.begun, n)
			close(b.ended)
		}
	}
}

// behind reports whether a message is behind a fence of its tenant. The offset of a message
// that is being published is unknown.
func behind(fences map[string]Fence, m stream.Message, published bool) bool {
	if m.Headers[events.HeaderErased] != "" {
		return true
	}
	if len(fences) == 0 || !erased(m.Topic) {
		return false
	}
	tenant, revision := subjectOf(m)
	fence, ok := fences[tenant]
	switch {
	case !ok:
		return false
	case fence.Erasing, revision > 0 && revision <= fence.Revision:
		return true
	}
	return !published && m.Offset <= fence.Ends[m.Topic][m.Partition]
}

// erased reports whether the records of a tenant in a topic are erased with it.
func erased(topic events.Topic) bool {
	switch topic {
	case events.ToolsRaw, events.ToolsStandardized, events.Searches, events.FeedbackTopic, events.DLQ:
		return true
	}
	return topic.IndexVersion() > 0
}

// subjectOf returns the tenant of a message, or an empty name, and the revision of its document,
// or 0.
func subjectOf(m stream.Message) (tenant string, revision uint64) {
	key, headers := m.Key, m.Headers
	if m.Topic == events.DLQ {
		letter, err := events.Decode[events.DeadLetter](m.Value)
		if err != nil {
			return "", 0
		}
		key, headers = letter.Key, letter.Headers
	}
	revision, _ = strconv.ParseUint(headers[events.HeaderRevision], 10, 64)
	return events.TenantOf(key), revision
}
